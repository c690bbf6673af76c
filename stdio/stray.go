package stdio

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// strayBytes is how much of a line of stdout is kept: enough to see that it is
// a message, or whose text it is.
const strayBytes = 200

// stray keeps the first line of stdout that is no message. It is for a program
// that is no server: when one message has come nothing is looked at any more.
type stray struct {
	spoken atomic.Bool // a message came

	mu    sync.Mutex
	line  []byte // the beginning of the line that is being read
	first []byte
}

// note looks at what was read next.
func (s *stray) note(b []byte) {
	if s.spoken.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		s.line = append(s.line, line[:min(len(line), strayBytes-len(s.line))]...)
		if !whole {
			return
		}
		s.end()
		b = rest
	}
}

// end judges the line that has been read.
func (s *stray) end() {
	line := bytes.TrimSpace(s.line)
	if bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte(`"jsonrpc"`)) || bytes.HasPrefix(line, []byte("[{")) {
		s.spoken.Store(true)
	}
	if len(line) > 0 && s.first == nil {
		s.first = bytes.Clone(line)
	}
	s.line = s.line[:0]
}

// String returns the line, fit to be shown, or "".
func (s *stray) String() string {
	if s.spoken.Load() {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.first
	if line == nil {
		line = bytes.TrimSpace(s.line)
	}
	if len(line) == 0 || line[0] == '{' && s.first == nil { // the latter may become a message
		return ""
	}
	return strconv.Quote(strings.ToValidUTF8(string(line), "\uFFFD"))
}

// strayError is why a program probably did not answer.
type strayError struct {
	command, line string
	err           error
}

func (e *strayError) Error() string {
	return fmt.Sprintf("%v: %q printed %s on stdout, where only messages may be: is it an MCP server?", e.err, e.command, e.line)
}

func (e *strayError) Unwrap() error { return e.err }
