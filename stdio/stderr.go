package stdio

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode"
)

// tail keeps the last max bytes written to it.
type tail struct {
	max int

	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if t.max >= 0 {
		p = p[max(0, len(p)-t.max):]
		if over := len(t.buf) + len(p) - t.max; over > 0 {
			t.buf = append(t.buf[:0], t.buf[over:]...)
		}
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.buf, []byte("\uFFFD")))
}

// lines cuts what is written to it into lines and hands each to emit. A line
// over max bytes is handed over in pieces.
type lines struct {
	max  int
	emit func(line []byte)
	buf  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, ok := bytes.Cut(p, []byte("\n"))
		l.buf = append(l.buf, line...)
		if !ok {
			break
		}
		l.flush()
		p = rest
	}
	if l.max >= 0 && len(l.buf) > l.max {
		l.flush()
	}
	return n, nil
}

func (l *lines) flush() {
	if line := bytes.TrimRight(l.buf, "\r"); len(line) > 0 {
		l.emit(line)
	}
	l.buf = l.buf[:0]
}

// drain reads r to its end, whatever becomes of the writers: a writer that
// fails is not written to again.
func drain(r io.Reader, ws ...io.Writer) {
	buf := make([]byte, stderrChunk)
	for {
		n, err := r.Read(buf)
		for i, w := range ws {
			if w == nil || n == 0 {
				continue
			}
			if _, werr := w.Write(buf[:n]); werr != nil {
				ws[i] = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// isCrash reports whether a line is one with which the runtime of Go begins to
// say why it ends the program. Behind it come the stacks.
func isCrash(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// lastLines returns the last lines of text that carry something, for an error
// message: at most three of them and 400 bytes, on one line, without control
// characters.
func lastLines(text string) string {
	var keep []string
	all := strings.Split(text, "\n")
	for i := len(all) - 1; i >= 0 && len(keep) < 3; i-- {
		if line := strings.TrimSpace(strings.Map(printable, all[i])); line != "" {
			keep = append([]string{line}, keep...)
		}
	}
	s := strings.Join(keep, " | ")
	if len(s) > 400 {
		s = "…" + strings.ToValidUTF8(s[len(s)-400:], "")
	}
	return s
}

func printable(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if !unicode.IsPrint(r) {
		return -1
	}
	return r
}
