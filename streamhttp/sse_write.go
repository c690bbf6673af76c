package streamhttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// An event is one server-sent event.
type event struct {
	id    eventID       // zero: none
	name  string        // empty: message
	retry time.Duration // zero: not said
	data  []byte
}

// append writes the event as it goes over the wire. JSON has line breaks only
// between tokens, where a break between two data lines means the same.
func (e *event) append(b []byte) []byte {
	if e.name != "" {
		b = append(append(append(b, "event: "...), e.name...), '\n')
	}
	if e.id.given {
		b = append(e.id.append(append(b, "id: "...)), '\n')
	}
	if e.retry > 0 {
		b = append(strconv.AppendInt(append(b, "retry: "...), e.retry.Milliseconds(), 10), '\n')
	}
	rest := e.data
	for {
		i := lineBreak(rest)
		if i < 0 {
			break
		}
		b = append(append(append(b, "data: "...), rest[:i]...), '\n')
		rest = rest[i+1:]
	}
	return append(append(append(b, "data: "...), rest...), '\n', '\n')
}

// lineBreak returns the offset of the first line break in b, or -1.
func lineBreak(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if k := bytes.IndexByte(b[:i], '\r'); k >= 0 {
		return k
	}
	return i
}

// sseWriter writes events to one HTTP response. An event is on its way when
// write returns: by itself, or, in a burst, with those that come while the one
// before it is being written. Each write has a deadline, so that a client that
// does not read cannot hold the writer for ever. Its methods may be called from
// several goroutines.
type sseWriter struct {
	out   output
	limit time.Duration // of one write
	fail  func()        // called once when a write fails; may be nil

	mu      sync.Mutex
	err     error     // why nothing more is written
	quiet   bool      // nothing was written since the last tick of the wheel
	last    time.Time // when the last event came, or a burst ended
	pending []byte    // events of a burst that wait
	burst   bool      // a goroutine writes what is pending; until then w is its own
	turn    sync.Cond // the goroutine took pending, or has ended
}

// output is what a stream is written to.
type output interface {
	io.Writer
	Flush() error
	SetWriteDeadline(at time.Time) error
}

// response is the output that net/http gives.
type response struct {
	io.Writer
	*http.ResponseController
}

// openSSE sends the header of a stream.
func openSSE(w http.ResponseWriter, limit time.Duration) *sseWriter {
	setStreamHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	return newSSE(response{w, http.NewResponseController(w)}, limit)
}

func setStreamHeaders(h http.Header) {
	h["Content-Type"] = []string{eventsType}
	h["Cache-Control"] = []string{"no-cache, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"}
}

func newSSE(out output, limit time.Duration) *sseWriter {
	s := &sseWriter{out: out, limit: limit}
	s.turn.L = &s.mu
	return s
}

// write sends one event.
func (s *sseWriter) write(e event) error {
	buf := getBuffer()
	defer putBuffer(buf)
	*buf = e.append((*buf)[:0])
	return s.raw(*buf)
}

// raw sends bytes that are ready for the wire, and flushes. Without bytes it
// only flushes, so that the client sees the header.
func (s *sseWriter) raw(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = false
	if !s.burst {
		now := time.Now()
		gap := now.Sub(s.last)
		if s.last = now; gap > burstGap {
			return s.now(b, s.limit)
		}
	}
	if len(b) > burstBytes {
		return s.now(b, s.limit)
	}
	for s.err == nil && s.burst && len(s.pending) > burstBytes {
		s.turn.Wait()
	}
	if s.err != nil {
		return s.err
	}
	if !s.burst {
		s.burst = true
		s.pending = (*getBuffer())[:0]
		go s.writeBurst()
	}
	s.pending = append(s.pending, b...)
	return nil
}

// batch sends events that are ready for the wire at once. It is for who has
// gathered all that there is: nothing is to be won by waiting for more.
func (s *sseWriter) batch(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = false
	return s.now(b, s.limit)
}

// now writes b at once, behind what is pending. The caller holds mu.
func (s *sseWriter) now(b []byte, limit time.Duration) error {
	for s.burst {
		s.turn.Wait()
	}
	if s.err == nil {
		s.failed(s.put(b, limit))
	}
	return s.err
}

// writeBurst writes what is pending until nothing is. Whoever closes the writer
// waits for it.
func (s *sseWriter) writeBurst() {
	spare := *getBuffer()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) > 0 && s.err == nil {
		b := s.pending
		s.pending = spare[:0]
		s.turn.Broadcast()
		s.mu.Unlock()
		err := s.put(b, s.limit)
		s.mu.Lock()
		s.failed(err)
		spare = b
	}
	last := s.pending
	putBuffer(&spare)
	putBuffer(&last)
	s.pending, s.burst, s.last = nil, false, time.Now()
	s.turn.Broadcast()
}

// put writes and flushes b.
func (s *sseWriter) put(b []byte, limit time.Duration) error {
	bounded := limit > 0 && s.out.SetWriteDeadline(time.Now().Add(writeTime(limit, len(b)))) == nil
	if _, err := s.out.Write(b); err != nil {
		return err
	}
	// A writer that cannot flush buffers the whole answer: slow, not wrong.
	if err := s.out.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if bounded {
		// The deadline must not outlive the write: HTTP/2 resets a stream when
		// it passes, and HTTP/1 keeps it for the next request.
		_ = s.out.SetWriteDeadline(time.Time{})
	}
	return nil
}

// writeTime is how long a write of n bytes may take: a slow client that does
// read is not a stuck one.
func writeTime(limit time.Duration, n int) time.Duration {
	return limit + time.Duration(n/slowestClient)*time.Second
}

// failed notes why a write failed, if it did. The caller holds mu.
func (s *sseWriter) failed(err error) {
	if err == nil || s.err != nil {
		return
	}
	s.err = err
	if s.fail != nil {
		s.fail()
	}
}

// close ends the use of the response: what is pending is written, and after it
// nothing touches the ResponseWriter any more, as net/http demands of a handler
// that returned.
func (s *sseWriter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.burst {
		s.turn.Wait()
	}
	if s.err == nil {
		s.err = rpc.ErrClosed
	}
	if c, ok := s.out.(io.Closer); ok {
		_ = c.Close() // there is nobody to tell
	}
}

// keepAlive writes a comment if nothing was written since the last call. A
// writer that is busy needs none.
func (s *sseWriter) keepAlive() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if !s.quiet || s.burst { // the end of a burst is not waited for
		s.quiet = true
		return
	}
	_ = s.now([]byte(":\n\n"), keepAliveWriteTime)
}

// burstGap is how soon after another an event belongs to a burst. It is about
// what a write costs: who sends more slowly loses nothing by waiting for it.
const burstGap = 50 * time.Microsecond

// burstBytes is how much of a burst waits before its sender does.
const burstBytes = 32 << 10

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 1024)) }}

func getBuffer() *[]byte { return buffers.Get().(*[]byte) }

func putBuffer(b *[]byte) {
	if cap(*b) <= pooledBuffer {
		buffers.Put(b)
	}
}
