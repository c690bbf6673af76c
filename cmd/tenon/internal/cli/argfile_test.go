package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadArgument(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for content, want := range map[string]string{
		strings.Repeat("a", maxArgumentBytes):   "",
		strings.Repeat("a", maxArgumentBytes+1): "has more than 16777216 bytes",
		"\xff":                                  "is not UTF-8 text",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readArgument(path)
		switch {
		case want == "" && (err != nil || got != content):
			t.Errorf("%d bytes read as %d bytes: %v", len(content), len(got), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%d bytes: error %v, want %q", len(content), err, want)
		}
	}
}
