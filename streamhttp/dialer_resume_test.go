package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// A part is one stream of a call: the POST's, then those of the GETs.
type part struct {
	status int    // instead of a stream
	body   string // RESULT stands for the response
	abort  bool   // breaks off instead of ending
}

// A try is one GET, as the server saw it.
type try struct {
	After string // Last-Event-ID
	Wait  time.Duration
}

// inParts answers "x" with the first part and each GET with an event ID, or
// each other GET, with the next.
type inParts struct {
	sessions
	parts []part
	id    rpc.ID
	last  time.Time
	tries []try
}

func (s *inParts) play(w http.ResponseWriter) {
	s.mu.Lock()
	p := part{status: 500}
	if len(s.parts) > 0 {
		p, s.parts = s.parts[0], s.parts[1:]
	}
	id := s.id
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.last = time.Now()
		s.mu.Unlock()
	}()
	if p.status != 0 {
		w.WriteHeader(p.status)
		return
	}
	reply(w, sseType, strings.ReplaceAll(p.body, "RESULT", result(id, `{"done":1}`)))
	if p.abort {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func resumable(parts ...part) *inParts {
	s := &inParts{parts: parts}
	s.then = func(w http.ResponseWriter, _ *http.Request, p post) {
		s.mu.Lock()
		s.id = p.req.ID
		s.mu.Unlock()
		s.play(w)
	}
	s.listen = func(w http.ResponseWriter, _ *http.Request, p post) {
		after := p.Header.Get("Last-Event-Id")
		if after == "" {
			w.WriteHeader(405) // the stream for what the server starts
			return
		}
		s.mu.Lock()
		s.tries = append(s.tries, try{after, time.Since(s.last)})
		s.mu.Unlock()
		s.play(w)
	}
	return s
}

func TestResume(t *testing.T) {
	t.Parallel()
	const note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"
	const ms = time.Millisecond
	tests := []struct {
		name    string
		version string
		parts   []part
		tries   []try
		wantErr string
		lost    bool // ErrOutcomeUnknown
		most    time.Duration
	}{
		{
			name: "polling", parts: []part{{body: "id: s1:0\nretry: 500\ndata: \n\n"}, {body: "id: s1:1\ndata: RESULT\n\n"}},
			tries: []try{{"s1:0", 500 * ms}},
		},
		{
			name: "several polls", parts: []part{{body: "id: a\nretry: 2000\ndata\n\n"}, {body: "retry: 300\n\n"}, {body: "id: b\n\n"}, {body: note + "data: RESULT\n\n"}},
			tries: []try{{"a", 2000 * ms}, {"a", 300 * ms}, {"b", 300 * ms}},
		},
		{
			name: "no retry, the first try is soon", parts: []part{{body: "id: p-1\n" + note}, {body: "data: RESULT\n\n"}},
			tries: []try{{"p-1", 100 * ms}},
		},
		{
			name: "broken connection", parts: []part{{body: "id: p-1\n" + note, abort: true}, {body: "data: RESULT\n\n"}},
			tries: []try{{"p-1", 100 * ms}},
		},
		{
			name: "cut event does not count", parts: []part{{body: "id: p-1\n" + note + "id: p-2\ndata: {", abort: true}, {body: "data: RESULT\n\n"}},
			tries: []try{{"p-1", 100 * ms}},
		},
		{
			name: "retry 0 is raised", parts: []part{{body: "id: a\nretry: 0\n\n"}, {body: "data: RESULT\n\n"}},
			tries: []try{{"a", 100 * ms}},
		},
		{
			name: "bad retry is none", parts: []part{{body: "id: a\nretry: -5\nretry: 1e6\nretry: 500ms\n\n"}, {body: "data: RESULT\n\n"}},
			tries: []try{{"a", 100 * ms}},
		},
		{
			name: "server back after a restart", parts: []part{{body: "id: a\nretry: 500\n\n"}, {status: 502}, {status: 503}, {body: "data: RESULT\n\n"}},
			tries: []try{{"a", 500 * ms}, {"a", 500 * ms}, {"a", 500 * ms}},
		},
		{name: "retry of a day", parts: []part{{body: "id: a\nretry: 86400000\n\n"}}, wantErr: "wait for 24h0m0s", lost: true, most: ms},
		{
			name: "nothing new for ever", parts: []part{{body: "id: a\nretry: 500\n\n"}, {}, {}, {}, {}, {}, {}, {}},
			tries: []try{{"a", 500 * ms}, {"a", 500 * ms}, {"a", 500 * ms}, {"a", 500 * ms}, {"a", 500 * ms}}, wantErr: "5 attempts", lost: true,
		},
		{name: "patience in all", parts: []part{{body: "id: a\nretry: 100000\n\n"}, {}, {}, {}, {}}, tries: []try{{"a", 100 * time.Second}, {"a", 100 * time.Second}, {"a", 100 * time.Second}}, wantErr: "more than the 5m0s", lost: true},
		{name: "cannot be resumed", parts: []part{{body: "id: a\nretry: 500\n\n"}, {status: 405}}, tries: []try{{"a", 500 * ms}}, wantErr: "405", lost: true},
		{name: "session gone meanwhile", parts: []part{{body: "id: a\nretry: 500\n\n"}, {status: 404}}, tries: []try{{"a", 500 * ms}}, wantErr: "404", lost: true},
		{name: "no event ids", parts: []part{{body: note}}, lost: true},
		{name: "modern", version: modern, parts: []part{{body: "id: a\nretry: 500\n" + note}}, lost: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := resumable(tt.parts...)
				f := memory(t, s.script)
				c := f.dial(t, nil)
				if tt.version == modern {
					s.alive = map[string]bool{"": true}
				} else if err := handshake(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				version := tt.version
				if version == "" {
					version = legacy
				}
				began := time.Now()
				got, err := call(t.Context(), c, version, "tools/call", `{"name":"t"}`)
				switch failed := tt.wantErr != "" || tt.lost; {
				case !failed && (err != nil || got != `{"done":1}`):
					t.Errorf("%s, %v", got, err)
				case failed && (err == nil || !strings.Contains(err.Error(), tt.wantErr)):
					t.Errorf("error %v, want %s", err, tt.wantErr)
				case failed && errors.Is(err, streamhttp.ErrOutcomeUnknown) != tt.lost:
					t.Errorf("error %v", err)
				}
				synctest.Wait()
				if d := cmp.Diff(tt.tries, s.tries); d != "" {
					t.Errorf("tries (-want +got):\n%s", d)
				}
				if d := time.Since(began); tt.most > 0 && d > tt.most {
					t.Errorf("took %v", d)
				}
				if n := len(f.seen("tools/call")); n != 1 {
					t.Errorf("the call was sent %d times", n)
				}
				for _, p := range f.seen("POST") {
					if p.Header.Get("Last-Event-Id") != "" {
						t.Error("Last-Event-ID on a POST")
					}
				}
				for _, p := range f.seen("GET") {
					if p.Header.Get("Mcp-Session-Id") != "s1" || p.Header.Get("Mcp-Protocol-Version") != legacy {
						t.Errorf("GET with %v", p.Header)
					}
				}
				_ = c.Close()
			})
		})
	}
}

// A stream that may be resumed gives way to the caller's context and to Close.
func TestResumeGivesWay(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"context", "close"} {
		synctest.Test(t, func(t *testing.T) {
			s := resumable(part{body: "id: a\nretry: 60000\n\n"})
			f := memory(t, s.script)
			c := f.dial(t, nil)
			if err := handshake(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			ctx, want := t.Context(), rpc.ErrClosed
			if how == "context" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
				want = context.DeadlineExceeded
			} else {
				time.AfterFunc(time.Second, func() { _ = c.Close() })
			}
			began := time.Now()
			if _, err := call(ctx, c, legacy, "x", ""); !errors.Is(err, want) || time.Since(began) != time.Second {
				t.Errorf("%s: %v after %v", how, err, time.Since(began))
			}
			_ = c.Close()
			n := len(f.all())
			time.Sleep(time.Hour) //nolint:forbidigo // the bubble's time
			if len(f.all()) != n {
				t.Errorf("%s: requests after Close", how)
			}
		})
	}
}

// A server that ends every stream at once is asked less and less often.
func TestListenerBacksOff(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"empty": "", "one event first": "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n", "comments": ": hi\n\n", "broken": "-"} {
		synctest.Test(t, func(t *testing.T) {
			s := &sessions{}
			var n atomic.Int32
			s.listen = func(w http.ResponseWriter, _ *http.Request, _ post) {
				n.Add(1)
				if first == "-" {
					panic(http.ErrAbortHandler)
				}
				body := ""
				if n.Load() == 1 || name == "comments" {
					body = first
				}
				reply(w, sseType, body)
			}
			f := memory(t, s.script)
			c := f.dial(t, nil)
			if err := handshake(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second) //nolint:forbidigo // the bubble's time
			gets := f.seen("GET")
			if n := len(gets); n < 3 || n > 10 {
				t.Errorf("%s: %d GETs in 30 s", name, n)
			}
			for i := 3; i < len(gets); i++ {
				if gets[i].At.Sub(gets[i-1].At) <= gets[i-1].At.Sub(gets[i-2].At) {
					t.Errorf("%s: the pauses do not grow", name)
				}
			}
			if name == "one event first" && gets[1].Header.Get("Last-Event-Id") != "1" {
				t.Errorf("%s: not resumed behind the event", name)
			}
			if _, err := call(t.Context(), c, legacy, "x", ""); err != nil {
				t.Error(err)
			}
			before := len(f.seen("GET"))
			began := time.Now()
			if err := c.Close(); err != nil || time.Since(began) > 2*time.Second {
				t.Errorf("%s: Close: %v after %v", name, err, time.Since(began))
			}
			time.Sleep(time.Hour) //nolint:forbidigo // the bubble's time
			if len(f.seen("GET")) != before {
				t.Errorf("%s: GET after Close", name)
			}
		})
	}
}

// A stream that a proxy cuts now and then is opened again soon, for ever, and
// one that the server ends to be polled as soon as it says.
func TestListenerGoesOn(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"idle": "", "polled": "id: %d\nretry: 2000\ndata:\n\n"} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int32
			s := &sessions{}
			s.listen = func(w http.ResponseWriter, r *http.Request, _ post) {
				n.Add(1)
				w.Header().Set("Content-Type", sseType)
				if body != "" {
					_, _ = fmt.Fprintf(w, body, n.Load())
				}
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(time.Minute):
				case <-r.Context().Done():
				}
			}
			f := memory(t, s.script)
			c := f.dial(t, nil)
			if err := handshake(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) //nolint:forbidigo // the bubble's time
			if n := n.Load(); n < 57 || n > 60 {
				t.Errorf("%s: %d streams in an hour", name, n)
			}
			_ = c.Close()
		})
	}
}

// When the server forgets the session, the stream goes on in the new one,
// whoever notices first.
func TestListenerFollowsTheSession(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"call", "stream"} {
		synctest.Test(t, func(t *testing.T) {
			cut := make(chan struct{})
			s := &sessions{}
			s.listen = func(w http.ResponseWriter, r *http.Request, p post) {
				w.Header().Set("Content-Type", sseType)
				_, _ = io.WriteString(w, "id: "+p.Header.Get("Mcp-Session-Id")+"-1\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-cut:
				case <-r.Context().Done():
				}
			}
			f := memory(t, s.script)
			c := f.dial(t, nil)
			if err := handshake(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			s.forget()
			if first == "call" {
				if _, err := call(t.Context(), c, legacy, "tools/list", ""); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			} else {
				cut <- struct{}{}
				time.Sleep(10 * time.Second) //nolint:forbidigo // the bubble's time
			}
			gets := f.seen("GET")
			last := gets[len(gets)-1]
			if last.Header.Get("Mcp-Session-Id") != "s2" || last.Header.Get("Last-Event-Id") != "" {
				t.Errorf("%s first: last GET with %v", first, last.Header)
			}
			if n := len(f.seen("initialize")); n != 2 {
				t.Errorf("%s first: %d initialize", first, n)
			}
			_ = c.Close()
		})
	}
}
