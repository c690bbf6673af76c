package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInvocation(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "tenon")
	for _, path := range []string{program, filepath.Join(dir, "a b", "tenon"), filepath.Join(dir, "bin", "tenon")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	const main = "github.com/tenon-mcp/tenon/cmd/tenon"
	for name, want := range map[string]string{
		"tenon":                             "tenon",
		filepath.Join(dir, "bin", "tenon"):  "tenon",
		program:                             program,
		filepath.Join(dir, "a b", "tenon"):  `"` + filepath.Join(dir, "a b", "tenon") + `"`,
		"/tmp/go-build12/b001/exe/tenon":    "go run " + main,
		"/cache/go-build/ab/abcdef-d/tenon": "go run " + main,
		"/tmp/go-build12/b001/cli.test":     "/tmp/go-build12/b001/cli.test",
	} {
		if got := invocationOf(name, main); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
