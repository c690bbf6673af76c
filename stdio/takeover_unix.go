//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"fmt"
	"os"
	"syscall"
)

func takeStdin() (*stdFile, error) {
	in, err := duplicate(os.Stdin, !canWait)
	if err != nil {
		return nil, fmt.Errorf("stdio: take over stdin: %w", err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return in, nil // no /dev/null in this jail: children share stdin
	}
	defer null.Close()
	return in, replace(null, syscall.Stdin)
}

func takeStdout() (*stdFile, error) {
	// Where stdout and stderr are one, a non-blocking stdout would break the
	// prints of the program.
	stdout, err1 := os.Stdout.Stat()
	stderr, err2 := os.Stderr.Stat()
	own := err1 == nil && (err2 != nil || !os.SameFile(stdout, stderr))
	out, err := duplicate(os.Stdout, own)
	if err != nil {
		return nil, fmt.Errorf("stdio: take over stdout: %w", err)
	}
	if err2 == nil {
		return out, replace(os.Stderr, syscall.Stdout)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return out, syscall.Close(syscall.Stdout)
	}
	defer null.Close()
	return out, replace(null, syscall.Stdout)
}

// duplicate returns a file of our own for f that children do not inherit. A
// pipe or a socket is made non-blocking where mayPoll says so: then Close
// interrupts a Read or Write that waits.
func duplicate(f *os.File, mayPoll bool) (*stdFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(int(f.Fd())) // Fd makes f blocking
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	dup := &stdFile{}
	if mayPoll && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 && syscall.SetNonblock(fd, true) == nil {
		dup.polled = true
		dup.undo = dup.block
	}
	dup.File = os.NewFile(uintptr(fd), f.Name())
	return dup, nil
}

// block makes the file blocking again for whoever shares it.
func (f *stdFile) block() {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = syscall.SetNonblock(int(fd), false) }) // where it fails, it stays as it is
}

func replace(f *os.File, fd int) error {
	if err := dup2(int(f.Fd()), fd); err != nil {
		return fmt.Errorf("stdio: replace file descriptor %d: %w", fd, err)
	}
	return nil
}
