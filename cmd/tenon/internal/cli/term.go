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

// prefixer writes whole lines, each behind a prefix and escaped.
type prefixer struct {
	w      io.Writer
	prefix string

	mu  sync.Mutex
	buf []byte
}

func (p *prefixer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(b)
	for {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		p.buf = append(p.buf, line...)
		if !ok {
			break
		}
		p.flush()
		b = rest
	}
	if len(p.buf) > maxLogLine {
		p.flush()
	}
	return n, nil
}

func (p *prefixer) flush() {
	line := escape(string(bytes.TrimRight(p.buf, "\r")))
	p.buf = p.buf[:0]
	_, _ = io.WriteString(p.w, p.prefix+line+"\n")
}
