package streamhttp

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// recorder counts writes.
type recorder struct {
	null
	text   bytes.Buffer
	writes int
	during func() // called by each write; may be nil
}

func (r *recorder) Write(b []byte) (int, error) {
	r.writes++
	if r.during != nil {
		r.during()
	}
	return r.text.Write(b)
}

// withEvents is a session whose client has not listened yet.
func withEvents(t *testing.T, n int, data string) *session {
	t.Helper()
	s := &session{h: &Handler{}, id: "s", rev: mcp.Revision{Resumable: true}}
	s.h.opt.Limits.SessionStreams = 2
	s.h.opt.Events = newMemoryEvents(Limits{ReplayEvents: -1, ReplayBytes: -1, ReplayTotalBytes: -1})
	for i := range n {
		if _, err := s.add(t.Context(), listening, []byte(fmt.Sprint(i, data))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (r *recorder) wants(t *testing.T, begin, end int, data string) {
	t.Helper()
	var want strings.Builder
	for i := begin; i < end; i++ {
		fmt.Fprintf(&want, "id: %s\ndata: %d%s\n\n", behind(listening, uint64(i+1)).append(nil), i, data)
	}
	if r.text.String() != want.String() {
		t.Errorf("%d bytes instead of %d", r.text.Len(), want.Len())
	}
}

func TestKeptEventsAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ events, size, writes int }{{1, 10, 1}, {100, 10, 1}, {7, burstBytes / 2, 4}, {3, burstBytes, 3}, {2, 3 * burstBytes, 2}} {
		data := strings.Repeat("x", test.size)
		s := withEvents(t, test.events, data)
		track, rd, _ := s.attach(listening, 0, false)
		r := &recorder{null: null{http.Header{}}}
		out := openSSE(r, time.Minute)
		for range 2 { // the second time there is nothing left
			cursor, _, _ := s.state(track, rd)
			if err := s.copyEvents(t.Context(), track, rd, out, cursor); err != nil {
				t.Fatal(err)
			}
		}
		out.close()
		if r.writes != test.writes {
			t.Errorf("%+v: %d writes", test, r.writes)
		}
		r.wants(t, 0, test.events, data)
	}
}

// TestAnotherReaderTakesOver has one come while the first is writing: what the
// first has begun with is its own, and all behind that is the other's.
func TestAnotherReaderTakesOver(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("x", burstBytes)
	s := withEvents(t, 5, data)
	track, first, _ := s.attach(listening, 0, false)
	var second *reader
	one, two := &recorder{null: null{http.Header{}}}, &recorder{null: null{http.Header{}}}
	one.during = func() { _, second, _ = s.attach(listening, 0, false) }
	copyTo := func(rd *reader, r *recorder, cursor uint64) {
		out := openSSE(r, time.Minute)
		defer out.close()
		if err := s.copyEvents(t.Context(), track, rd, out, cursor); err != nil {
			t.Error(err)
		}
	}
	copyTo(first, one, 0)
	cursor, current, _ := s.state(track, second)
	if cursor != 1 || !current {
		t.Fatalf("the second is at %d, current: %v", cursor, current)
	}
	copyTo(second, two, cursor)
	one.wants(t, 0, 1, data)
	two.wants(t, 1, 5, data)

	s.detach(track, second)
	copyTo(first, one, 1) // it looked before the second had its turn
	one.wants(t, 0, 1, data)
}
