package stdio //nolint:testpackage // the file is not exported

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// waitingPipe returns a pipe that is read as stdin is.
func waitingPipe(t *testing.T) (io.ReadCloser, *os.File) {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	w := os.NewFile(uintptr(ends[1]), "w")
	t.Cleanup(func() { w.Close() })
	r, err := waiting(&stdFile{File: os.NewFile(uintptr(ends[0]), "r")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, w
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	r, w := waitingPipe(t)
	b := make([]byte, 3)
	for _, want := range []string{"abc", "de"} {
		w.WriteString(want)
		if n, err := r.Read(b); err != nil || string(b[:n]) != want {
			t.Errorf("read %q, %v", b[:n], err)
		}
	}
	w.Close()
	if n, err := r.Read(b); n > 0 || err != io.EOF {
		t.Errorf("read %d, %v at the end", n, err)
	}
}

// Close ends a Read that waits, and those that come later.
func TestWaitingCloses(t *testing.T) {
	t.Parallel()
	r, _ := waitingPipe(t)
	w := r.(*waitingFile)
	ended := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 1))
		ended <- err
	}()
	for reading := false; !reading; {
		w.mu.Lock()
		reading = w.reading
		w.mu.Unlock()
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("the Read ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the Read goes on")
	}
	if _, err := w.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v of a closed file", err)
	}
	if err := w.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v of closing twice", err)
	}
}

func TestWaitingHighDescriptor(t *testing.T) {
	t.Parallel()
	for last, fits := range map[int]bool{selectable - 1: true, selectable: false} {
		if err := (&waitingFile{last: last}).check(); (err == nil) != fits {
			t.Errorf("file descriptor %d: %v", last, err)
		}
	}
}
