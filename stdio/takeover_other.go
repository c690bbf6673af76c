//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package stdio

import "os"

// Only prints of the Go program itself can be redirected here.

func takeStdin() (*stdFile, error) { return &stdFile{File: os.Stdin}, nil }

func takeStdout() (*stdFile, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return &stdFile{File: out}, nil
}
