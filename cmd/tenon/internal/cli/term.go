package cli

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// isTerminal reports whether w is one.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// maxLogLine bounds what is kept of a line that has no end.
const maxLogLine = 64 << 10

// lineWriter hands over whole lines, without their ends, and parts of lines that
// are over maxLogLine.
type lineWriter struct {
	emit func(line []byte)

	mu  sync.Mutex
	buf []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(b)
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		w.buf = append(w.buf, line...)
		if !ended {
			break
		}
		w.end()
		b = rest
	}
	if len(w.buf) > maxLogLine {
		w.end()
	}
	return n, nil
}

// flush hands over a last line that has not ended.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf) > 0 {
		w.end()
	}
}

func (w *lineWriter) end() {
	w.emit(bytes.TrimRight(w.buf, "\r"))
	w.buf = w.buf[:0]
}
