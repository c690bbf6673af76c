package streamhttp

import (
	"io"
	"net/http"
	"testing"
	"time"
)

const sseMessage = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":1000}}`

// null is a client that takes everything at once.
type null struct{ header http.Header }

func (n null) Header() http.Header            { return n.header }
func (null) WriteHeader(int)                  {}
func (null) Write(b []byte) (int, error)      { return len(b), nil }
func (null) Flush()                           {}
func (null) SetWriteDeadline(time.Time) error { return nil }

// sseWrite returns a function that writes one event, in a burst with the others.
func sseWrite(tb testing.TB) func() {
	tb.Helper()
	s := openSSE(null{http.Header{}}, time.Minute)
	tb.Cleanup(s.close)
	e := event{id: behind(1, 12345), data: []byte(sseMessage)}
	return func() {
		if err := s.write(e); err != nil {
			tb.Fatal(err)
		}
	}
}

// sseRead returns a function that reads one event.
func sseRead(tb testing.TB) func() {
	tb.Helper()
	e := event{data: []byte(sseMessage)}
	r := newEventReader(&endless{text: e.append(nil)}, 1<<20)
	return func() {
		if ev, err := r.next(); err != nil || len(ev.data) != len(sseMessage) {
			tb.Fatalf("%q, %v", ev.data, err)
		}
	}
}

// endless is a stream of one text again and again.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	if n == 0 {
		return 0, io.ErrNoProgress
	}
	return n, nil
}

func BenchmarkSSEWrite(b *testing.B) { measure(b, sseWrite(b)) }

func BenchmarkSSERead(b *testing.B) { measure(b, sseRead(b)) }

func measure(b *testing.B, run func()) {
	b.Helper()
	b.SetBytes(int64(len(sseMessage)))
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}
