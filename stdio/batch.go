package stdio

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

var errBatchMetachars = errors.New(`an argument of a batch file may not contain any of "%&|<>^! or a line break: cmd.exe would read it as code`)

// checkBatch refuses arguments that would not reach a batch file of Windows,
// such as npx.cmd, as they are: cmd.exe runs it, and knows no safe way to quote
// these. What is no batch file takes anything.
func checkBatch(path string, args []string) error {
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".bat" && ext != ".cmd" {
		return nil
	}
	for _, a := range args {
		if strings.ContainsAny(a, "\"%&|<>^!\r\n") {
			return fmt.Errorf("start %q: %w", path, errBatchMetachars)
		}
	}
	return nil
}
