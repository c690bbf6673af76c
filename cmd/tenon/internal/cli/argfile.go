package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/rpc"
)

// maxArgumentBytes is how much of a file an argument may take: no message has
// more, as other peers refuse it.
const maxArgumentBytes = rpc.DefaultMessageBytes

// argumentText is the text of a value: what follows @ is a file with it.
func argumentText(key, text string) (string, error) {
	path, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	content, err := readArgument(path)
	if err != nil {
		return "", usagef("argument %q: %w; for text that begins with @ write %s:='\"@…\"'", key, err, key)
	}
	return content, nil
}

func readArgument(path string) (content string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxArgumentBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxArgumentBytes:
		return "", fmt.Errorf("%s has more than %d bytes", path, maxArgumentBytes)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s is not UTF-8 text", path)
	}
	return string(b), nil
}
