package stdio

import (
	"os"
	"syscall"
)

var setStdHandle = kernel32.NewProc("SetStdHandle")

func takeStdin() (*stdFile, error) {
	in := os.Stdin
	if null, err := os.Open(os.DevNull); err == nil {
		setStdHandle.Call(stdHandle(syscall.STD_INPUT_HANDLE), null.Fd())
		os.Stdin = null
	}
	return &stdFile{File: in}, nil
}

// takeStdout redirects what asks for the standard handle from now on. (A C
// runtime that asked before keeps the old one: Windows has no dup2.)
func takeStdout() (*stdFile, error) {
	out := os.Stdout
	setStdHandle.Call(stdHandle(syscall.STD_OUTPUT_HANDLE), os.Stderr.Fd())
	os.Stdout = os.Stderr
	return &stdFile{File: out}, nil
}

func stdHandle(n int) uintptr { return uintptr(uint32(n)) }
