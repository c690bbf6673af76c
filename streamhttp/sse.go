package streamhttp

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// eventReader reads server-sent events as the HTML standard defines them
// (section 9.2.6), within bounds. It holds one event at a time.
//
// What MCP needs beside the events is kept on the reader: the ID of the last
// whole event, to resume behind it, and how long the server wants the client
// to wait before that.
type eventReader struct {
	src      io.Reader
	maxEvent int // bytes of a line, and of the data of an event; 0 = no limit

	buf        []byte
	start, end int // what is read and not yet used: buf[start:end]
	err        error
	skipLF     bool // the last line ended with CR: a LF right behind it is part of that end
	begun      bool // the first line, which may have a byte order mark, is read

	data []byte
	name string
	id   string // takes effect with the blank line that ends the event

	lastID string
	retry  time.Duration // negative: the server has not said
	active bool          // anything came at all, were it a comment
}

const (
	sseBufferBytes = 4 << 10 // most events are far smaller; a bigger one grows the buffer
	// sseKeepBytes is what a reader keeps after a big event: a stream that is
	// open for days must not hold the memory of its biggest message.
	sseKeepBytes = 64 << 10
	// maxEventID bounds an ID, since it comes back to the server in a header,
	// where servers stop at about 8 KiB in all.
	maxEventID = 1024
)

func newEventReader(r io.Reader, maxEvent int) *eventReader {
	return &eventReader{src: r, maxEvent: maxEvent, retry: -1}
}

// An sseEvent has data, which belongs to the caller.
type sseEvent struct {
	name string // "message" where the server did not say
	data []byte
}

// next returns the next event that has data. An event without data only moves
// the cursor (2025-11-25 opens its streams with one). The end of the stream is
// io.EOF, and an event that it cuts off is dropped with its ID.
func (r *eventReader) next() (sseEvent, error) {
	r.reset()
	for {
		line, err := r.line()
		if err != nil {
			return sseEvent{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return sseEvent{}, err
			}
			continue
		}
		r.lastID = r.id
		if len(r.data) <= 1 { // none, or one empty line of it
			r.reset()
			continue
		}
		// Every data line ended with a newline, and the last one goes.
		return sseEvent{name: r.name, data: r.data[:len(r.data)-1]}, nil
	}
}

func (r *eventReader) reset() {
	r.data, r.name = nil, "message"
}

// field uses one line of an event. Comments and unknown fields do nothing.
func (r *eventReader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if r.maxEvent > 0 && len(r.data)+len(value) > r.maxEvent {
			return r.tooLarge()
		}
		if r.data == nil {
			r.data = make([]byte, 0, len(value)+1) // as a rule there is only this line
		}
		r.data = append(append(r.data, value...), '\n')
	case "event":
		r.name = eventName(value)
	case "id":
		if validEventID(value) && string(value) != r.id {
			r.id = string(value)
		}
	case "retry":
		if d, ok := parseRetry(value); ok {
			r.retry = d
		}
	}
	return nil
}

// eventName returns one of the names that MCP knows, or "other".
func eventName(value []byte) string {
	switch string(value) {
	case "", "message":
		return "message"
	case "endpoint":
		return "endpoint"
	}
	return "other"
}

// validEventID reports whether an ID can be sent back in Last-Event-ID. One
// that cannot is ignored, and the cursor stays where it was.
func validEventID(id []byte) bool {
	if len(id) > maxEventID {
		return false
	}
	for _, c := range id {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// parseRetry reads milliseconds: digits and nothing else. More than a
// time.Duration holds is the longest one, not none.
func parseRetry(value []byte) (time.Duration, bool) {
	if len(value) == 0 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	ms, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64, true
	}
	return time.Duration(ms) * time.Millisecond, true
}

// line returns the next line without its end: CR, LF or CRLF. A line is
// returned as soon as its first end byte is there. The line is valid until the
// next call.
func (r *eventReader) line() ([]byte, error) {
	scanned := 0 // bytes behind start that have no line end: each is looked at once
	for {
		if r.skipLF && r.start < r.end {
			if r.buf[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
		}
		window := r.buf[r.start:r.end]
		if i := indexLineEnd(window[scanned:]); i >= 0 {
			line := window[:scanned+i]
			r.skipLF = window[scanned+i] == '\r'
			r.start += scanned + i + 1
			if !r.begun {
				r.begun = true
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			return line, nil
		}
		scanned = len(window)
		if r.maxEvent > 0 && scanned > r.maxEvent+len("data: ") {
			return nil, r.tooLarge()
		}
		if r.err != nil {
			return nil, r.err
		}
		r.fill()
	}
}

func indexLineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads once, making room first.
func (r *eventReader) fill() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == 0 && len(r.buf) > sseKeepBytes {
		r.buf = nil
	}
	if r.end == len(r.buf) {
		grown := make([]byte, max(sseBufferBytes, 2*len(r.buf)))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 {
			r.active = true
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

func (r *eventReader) tooLarge() error {
	r.err = fmt.Errorf("streamhttp: server-sent event has over %d bytes: %w", r.maxEvent, rpc.ErrTooLarge)
	r.start, r.end = 0, 0 // where the next event would begin is not known
	return r.err
}
