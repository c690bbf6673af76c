package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// canWait says that there are waitingFiles.
const canWait = true

// A waitingFile is a file whose Read waits in the system call and which Close
// interrupts all the same. The poller of the runtime, which does that, too, has
// threads go to sleep and wake up for each message: to a client that waits for
// each answer before it asks again, that costs several times what an answer does.
// A thread that waits by itself just goes on.
type waitingFile struct {
	file *stdFile
	raw  syscall.RawConn
	read func(fd uintptr) bool // readOnce, made once

	// What waits watches the first end of a pipe, whose second end Close closes.
	ends [2]int
	last int // the highest file descriptor of those that are watched

	mu      sync.Mutex
	reading bool
	closed  bool

	// Of the Read under way.
	b   []byte
	n   int
	err error
}

// selectable is how many files [syscall.Select] can watch.
const selectable = 1024

// waiting returns f as a file that waits by itself.
func waiting(f *stdFile) (io.ReadCloser, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &waitingFile{file: f, raw: raw}
	if err := syscall.Pipe2(w.ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe", err)
	}
	w.read = w.readOnce
	err = errors.Join(raw.Control(func(fd uintptr) { w.last = max(int(fd), w.ends[0]) }), w.check())
	if err != nil {
		return nil, errors.Join(err, syscall.Close(w.ends[0]), syscall.Close(w.ends[1]))
	}
	return w, nil
}

// check returns an error if the file cannot be waited for.
func (w *waitingFile) check() error {
	if w.last >= selectable {
		return fmt.Errorf("stdio: file descriptor %d is too high to wait for", w.last)
	}
	return nil
}

// Read implements [io.Reader].
func (w *waitingFile) Read(b []byte) (int, error) {
	if !w.turn(true) {
		return 0, os.ErrClosed
	}
	defer w.turn(false)
	w.b, w.n, w.err = b, 0, nil
	err := w.raw.Read(w.read)
	w.b = nil
	switch {
	case err != nil:
		return 0, err
	case w.err != nil:
		return 0, w.err
	case w.n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return w.n, nil
}

// turn says whether there is a Read, and reports whether there may be one.
func (w *waitingFile) turn(reading bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = reading
	if w.closed && !reading {
		_ = syscall.Close(w.ends[0])
	}
	return !w.closed
}

// readOnce leaves waiting to nobody: it is always done.
func (w *waitingFile) readOnce(fd uintptr) bool {
	for {
		if w.err = w.wait(int(fd)); w.err != nil {
			return true
		}
		n, err := syscall.Read(int(fd), w.b)
		if !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.EAGAIN) {
			w.n, w.err = max(n, 0), err
			return true
		}
	}
}

// wait returns when fd can be read, or with an error when the file is closed.
func (w *waitingFile) wait(fd int) error {
	closing := w.ends[0]
	for {
		var set syscall.FdSet
		width := selectable / len(set.Bits)
		set.Bits[fd/width] |= 1 << (fd % width)
		set.Bits[closing/width] |= 1 << (closing % width)
		_, err := syscall.Select(w.last+1, &set, nil, nil, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return os.NewSyscallError("select", err)
		case set.Bits[closing/width]&(1<<(closing%width)) != 0:
			return os.ErrClosed
		default:
			return nil
		}
	}
}

// Close implements [io.Closer].
func (w *waitingFile) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	w.closed = true
	_ = syscall.Close(w.ends[1]) // whoever waits wakes
	if !w.reading {
		_ = syscall.Close(w.ends[0])
	}
	return w.file.Close()
}
