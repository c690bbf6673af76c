// Package page writes what was measured into a Markdown page.
package page

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Replace puts text, which ends a line, between the lines <!-- NAME --> and
// <!-- end of NAME --> of a file.
func Replace(file, name, text string) error {
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end of "+name+" -->\n")
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(b, begin)
	_, after, ok2 := bytes.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no %q and %q", file, begin, end)
	}
	return os.WriteFile(file, slices.Concat(before, begin, []byte("\n"+text+"\n"), end, after), 0o644)
}

// Machine says on what was measured, where the system tells.
func Machine() string {
	cpu := "CPU unknown"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			cpu = strings.Trim(line, " \t:")
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s.", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
