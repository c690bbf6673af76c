//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// unwaiting returns f as an [rpc.TryWriter] if it is a pipe or a socket that
// does not block, and f otherwise.
func unwaiting(f *os.File) io.Writer {
	raw, err := f.SyscallConn()
	if err != nil || f.SetWriteDeadline(time.Time{}) != nil { // only those have deadlines
		return f
	}
	t := &tryFile{file: f, raw: raw}
	t.write = t.writeOnce
	return t
}

// tryFile is a file that can be written without waiting.
type tryFile struct {
	file  *os.File
	raw   syscall.RawConn
	write func(fd uintptr) bool // writeOnce, made once
	wide  bool                  // there was more to write than a pipe has room for

	// Of the TryWrite under way.
	b   []byte
	n   int
	err error
}

// TryWrite implements [rpc.TryWriter].
func (t *tryFile) TryWrite(b []byte) (int, error) {
	t.b, t.n, t.err = b, 0, nil
	err := t.raw.Write(t.write)
	t.b = nil
	if err == nil {
		err = t.err
	}
	return t.n, err
}

// Write implements [io.Writer].
func (t *tryFile) Write(b []byte) (int, error) {
	if len(b) > pipeBytes && !t.wide {
		t.wide = true
		_ = t.raw.Control(widen) // where it fails it stays as it is
	}
	return t.file.Write(b)
}

// writeOnce leaves waiting to nobody: it is always done.
func (t *tryFile) writeOnce(fd uintptr) bool {
	t.put(fd)
	if t.n < len(t.b) && t.err == nil && !t.wide {
		t.wide = true
		widen(fd)
		t.put(fd)
	}
	return true
}

// put writes what is left of b and can be written.
func (t *tryFile) put(fd uintptr) {
	n, err := syscall.Write(int(fd), t.b[t.n:])
	t.n += max(n, 0)
	if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
		t.err = err
	}
}

// pipeBytes is what a pipe has room for as a rule.
const pipeBytes = 64 << 10
