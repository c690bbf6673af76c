package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// invocation is how the user has started this program, for hints that can be
// run as they stand.
func invocation() string {
	var main string
	if info, ok := debug.ReadBuildInfo(); ok {
		main = info.Path
	}
	return invocationOf(os.Args[0], main)
}

func invocationOf(name, main string) string {
	base := strings.TrimSuffix(filepath.Base(name), ".exe")
	// The go command builds what it runs in a directory that is gone, or has
	// another name, the next time.
	if strings.Contains(name, "go-build") && main != "" && !strings.HasSuffix(base, ".test") {
		return "go run " + main
	}
	if !strings.ContainsRune(name, filepath.Separator) || sameFile(base, name) {
		return base
	}
	if strings.ContainsAny(name, " \t'\"\\$`") {
		return strconv.Quote(name)
	}
	return name
}

// sameFile reports whether the PATH leads to this program.
func sameFile(base, name string) bool {
	found, err := exec.LookPath(base)
	if err != nil {
		return false
	}
	a, err1 := os.Stat(found)
	b, err2 := os.Stat(name)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}
