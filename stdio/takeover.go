package stdio

import (
	"io"
	"os"
	"time"
)

// takeover gives the real stdin and stdout to the protocol, once, for the
// life of the process. What the program itself, its children or its C code
// print to stdout goes to stderr from now on, and their stdin is empty: a
// stray print cannot get between two messages, and a child cannot eat one.
func takeover() (io.ReadCloser, *stdFile, error) {
	in, err := takeStdin()
	if err != nil {
		return nil, nil, err
	}
	out, err := takeStdout()
	if err != nil {
		_ = in.Close() // err says why
		return nil, nil, err
	}
	return ending(in), out, nil
}

// ending returns f as a reader whose Close ends a Read that is under way.
func ending(f *stdFile) io.ReadCloser {
	if f.polled {
		return f
	}
	if w, err := waiting(f); err == nil {
		return w
	}
	return pump(f)
}

// pump makes a reader that Close interrupts out of one that it does not, such
// as a terminal. The goroutine that reads ends with r, which Serve does not
// wait for: the process usually ends first.
func pump(r io.Reader) io.ReadCloser {
	pr, pw := io.Pipe()
	go func() {
		_, err := io.Copy(pw, r)
		pw.CloseWithError(err)
	}()
	return pr
}

// stdFile is a standard stream of the process that was duplicated; pollable
// ones were made non-blocking, which is undone for those that share them.
type stdFile struct {
	*os.File
	polled bool
	undo   func()
}

func (f *stdFile) Close() error {
	if f.undo != nil {
		_ = f.SetDeadline(time.Unix(1, 0)) // whoever waits wakes, and nobody waits again
		f.undo()
	}
	return f.File.Close()
}
