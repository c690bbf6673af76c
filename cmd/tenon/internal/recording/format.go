// Package recording is the file of what a client and a server have said to each
// other, .mcprec: lines of JSON, a header first, then one frame a line.
package recording

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is that of the format.
const Version = 1

// MaxLine is how many bytes a line of a file may have.
const MaxLine = 64 << 20

// A Header is the first line.
type Header struct {
	Version int       `json:"mcprec"`
	Start   time.Time `json:"start"`
	// Target names the server, without what may be secret.
	Target string `json:"target,omitzero"`
	// By is the program that wrote the file.
	By string `json:"by,omitzero"`
}

// Dir says which way a frame went.
type Dir string

// The directions.
const (
	FromClient Dir = "c2s"
	FromServer Dir = "s2c"
)

// Kind says what a frame is.
type Kind string

// The kinds. A message is JSON-RPC; noise is what a server wrote where only
// messages belong; stderr is a line of it; http is a request with the status
// that answered it.
const (
	Message Kind = "message"
	Noise   Kind = "noise"
	Stderr  Kind = "stderr"
	HTTP    Kind = "http"
)

// A Frame is one line after the header.
type Frame struct {
	// T is when, in seconds since the start.
	T    float64 `json:"t"`
	Dir  Dir     `json:"dir"`
	Kind Kind    `json:"kind"`
	// Conn tells connections apart. The requests of HTTP that have one session
	// are one connection.
	Conn string `json:"conn,omitzero"`
	// Exchange is the HTTP request that the message belongs to. 0 = none.
	Exchange int64 `json:"x,omitzero"`
	// Msg is a message.
	Msg jsontext.Value `json:"msg,omitzero"`
	// Text is noise or stderr.
	Text string `json:"text,omitzero"`
	HTTP *Trip  `json:"http,omitzero"`
}

// A Trip is an HTTP request and the head of its response.
type Trip struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Status int               `json:"status,omitzero"`
	Took   float64           `json:"took,omitzero"` // seconds until the head of the response
	Sent   map[string]string `json:"sent,omitzero"` // headers
	Got    map[string]string `json:"got,omitzero"`
	Error  string            `json:"error,omitzero"`
}

// A Writer writes a recording. Several goroutines may use it at once; frames
// are redacted, see [Redact].
type Writer struct {
	start time.Time
	raw   bool

	mu  sync.Mutex
	w   *bufio.Writer
	err error
}

// NewWriter writes the header. Raw keeps secrets in the frames.
func NewWriter(w io.Writer, h Header, raw bool) (*Writer, error) {
	h.Version = Version
	if h.Start.IsZero() {
		h.Start = time.Now()
	}
	out := &Writer{start: h.Start, raw: raw, w: bufio.NewWriter(w)}
	h.Start = h.Start.UTC().Round(time.Millisecond)
	out.line(&h)
	return out, out.err
}

// Write adds a frame. Frame.T is set where it is 0. The first error stays: ask
// Err for it.
func (w *Writer) Write(f Frame) {
	if f.T == 0 {
		f.T = float64(time.Since(w.start).Microseconds()) / 1e6
	}
	if !w.raw {
		f = redacted(f)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line(&f)
}

func (w *Writer) line(v any) {
	if w.err != nil {
		return
	}
	if w.err = json.MarshalWrite(w.w, v); w.err != nil {
		return
	}
	// A recording is of use when what it records crashes, so each line is
	// written at once.
	if w.err = w.w.WriteByte('\n'); w.err == nil {
		w.err = w.w.Flush()
	}
}

// Err returns what went wrong with the file.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// A Recording is a file that was read.
type Recording struct {
	Header Header
	Frames []Frame
}

// ErrFormat is matched by errors about files that are no recordings.
var ErrFormat = errors.New("not a recording (.mcprec)")

// Read reads a whole file. A last line that is cut off, as of a program that
// was killed, is left out.
func Read(r io.Reader) (*Recording, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	rec := &Recording{}
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: it is empty", ErrFormat)
	}
	if err := json.Unmarshal(lines.Bytes(), &rec.Header); err != nil || rec.Header.Version == 0 {
		return nil, fmt.Errorf("%w: the first line has no \"mcprec\"", ErrFormat)
	}
	if rec.Header.Version > Version {
		return nil, fmt.Errorf("%w: its format is %d, and this program reads up to %d: use a newer one", ErrFormat, rec.Header.Version, Version)
	}
	var broken error
	for n := 2; lines.Scan(); n++ {
		if broken != nil {
			return nil, broken
		}
		if len(lines.Bytes()) == 0 {
			continue
		}
		var f Frame
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			broken = fmt.Errorf("%w: line %d is no frame", ErrFormat, n)
			continue
		}
		rec.Frames = append(rec.Frames, f)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return rec, nil
}
