package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func TestSessionLifecycle(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, nil)
	seen := map[string]bool{}
	for _, v := range mcp.Versions(mcp.Legacy) {
		id := s.initialize(string(v))
		if id == "" || seen[id] || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
			t.Fatalf("session ID %q", id)
		}
		seen[id] = true
		if r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "Mcp-Session-Id", id); r.status != 200 {
			t.Errorf("%s: echo: %d", v, r.status)
		}
		if r := s.do(http.MethodDelete, "", "Mcp-Session-Id", id); r.status != 204 {
			t.Errorf("%s: DELETE: %d", v, r.status)
		}
		for _, m := range []string{"POST", "GET", "DELETE"} {
			if r := s.do(m, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "Mcp-Session-Id", id); r.status != 404 {
				t.Errorf("%s: %s after DELETE: %d", v, m, r.status)
			}
		}
	}
}

func TestFailedInitializeLeavesNoSession(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	s := startSite(t, &backend{bind: func(ctx context.Context, c rpc.Conn) {
		if fmt.Sprintf("%T", c) == "*streamhttp.session" {
			context.AfterFunc(ctx, func() { close(over) })
		}
	}}, nil)
	r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`)
	if r.status != 200 || r.json(t).code() != -32602 || r.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("got %d %s %v", r.status, r.body, r.header)
	}
	waitFor(t, over, "end of the session")
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{Limits: streamhttp.Limits{Sessions: 2}})
	a := s.initialize("2025-11-25")
	s.initialize("2025-11-25")
	if r := s.do(http.MethodPost, initBody("2025-11-25")); r.status != 503 || r.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("third session: %d", r.status)
	}
	s.do(http.MethodDelete, "", "Mcp-Session-Id", a)
	s.initialize("2025-11-25")
}

func TestSessionOfAnotherPrincipal(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{Principal: func(r *http.Request) string { return r.Header.Get("X-User") }})
	r := s.do(http.MethodPost, initBody("2025-11-25"), "X-User", "a")
	id := r.header.Get("Mcp-Session-Id")
	if r := s.do(http.MethodDelete, "", "Mcp-Session-Id", id, "X-User", "b"); r.status != 404 {
		t.Errorf("as b: %d", r.status)
	}
	if r := s.do(http.MethodDelete, "", "Mcp-Session-Id", id, "X-User", "a"); r.status != 204 {
		t.Errorf("as a: %d", r.status)
	}
}

func TestIdleSessionsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{}, 3)
		s := startPipe(t, &backend{bind: func(ctx context.Context, c rpc.Conn) {
			if fmt.Sprintf("%T", c) == "*streamhttp.session" {
				context.AfterFunc(ctx, func() { ended <- struct{}{} })
			}
		}}, nil)
		echo := func(id string) int {
			return s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "Mcp-Session-Id", id).status
		}
		unused, used, listening := s.initialize("2025-11-25"), s.initialize("2025-11-25"), s.initialize("2025-11-25")
		echo(used)
		st := s.open(http.MethodGet, "", "Mcp-Session-Id", listening)
		var comments int
		var reading sync.WaitGroup
		reading.Go(func() {
			for e, ok := st.next(); ok; e, ok = st.next() {
				if e.comment != "" {
					comments++
				}
			}
		})
		sleep(2 * time.Minute) // in the bubble
		if got := []int{echo(unused), echo(used)}; got[0] != 404 || got[1] != 200 {
			t.Errorf("after two minutes: %v, want the session that was never used to be gone", got)
		}
		sleep(29 * time.Minute)
		if got := echo(used); got != 200 {
			t.Errorf("after 29 minutes: %d", got)
		}
		sleep(31 * time.Minute)
		if got := []int{echo(used), echo(listening)}; got[0] != 404 || got[1] != 200 {
			t.Errorf("after 31 minutes: %v", got)
		}
		st.close()
		reading.Wait()
		if want := 62 * 60 / 15; comments < want/2 || comments > want {
			t.Errorf("%d comments kept the stream alive", comments)
		}
		<-ended
		<-ended
	})
}

// startPipe serves over in-memory connections, for tests with backend time.
func startPipe(t *testing.T, b rpc.Binder, opts *streamhttp.Options) *site {
	t.Helper()
	h := streamhttp.NewHandler(b, opts)
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { srv.Serve(l) })
	tr := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		h.Close()
		srv.Close()
		tr.CloseIdleConnections()
		serving.Wait()
	})
	return &site{t: t, h: h, url: "http://pipe.test/mcp", client: &http.Client{Transport: tr}}
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.conns <- a:
		return b, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func TestCancelByNotification(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"2025-06-18", "2025-11-25"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{})
			s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
				"wait": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
					close(begun)
					<-ctx.Done()
					if err := p.Notify(context.WithoutCancel(ctx), &rpc.Request{Method: "late"}); !errors.Is(err, rpc.ErrEnded) {
						t.Errorf("Notify after the cancellation: %v", err)
					}
					return nil, ctx.Err()
				},
			}}, nil)
			id := s.initialize(v)
			var cancel sync.WaitGroup
			cancel.Go(func() {
				<-begun
				s.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, "Mcp-Session-Id", id)
			})
			defer cancel.Wait()
			r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"wait"}`, "Mcp-Session-Id", id)
			if r.status != http.StatusAccepted || r.body != "" {
				t.Errorf("got %d %q", r.status, r.body)
			}
		})
	}
}

func TestDuplicateIDsAreRefused(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"wait": func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			close(begun)
			<-release
			return nil, nil
		},
	}}, nil)
	id := s.initialize("2025-11-25")
	var first sync.WaitGroup
	first.Go(func() {
		if r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"wait"}`, "Mcp-Session-Id", id); r.status != 200 {
			t.Errorf("first: %d", r.status)
		}
	})
	<-begun
	if r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"echo"}`, "Mcp-Session-Id", id); r.status != 409 || r.json(t).code() != -32600 {
		t.Errorf("second: %d %s", r.status, r.body)
	}
	if r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":"5","method":"echo"}`, "Mcp-Session-Id", id); r.status != 200 {
		t.Errorf("the string: %d", r.status)
	}
	close(release)
	first.Wait()
}

func TestReverseCallOnTheStreamOfItsRequest(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"ask": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			var res struct{ Name string }
			if err := p.Call(ctx, &rpc.Request{Method: "elicitation/create"}, &res); err != nil {
				return nil, err
			}
			return map[string]string{"hello": res.Name}, nil
		},
	}}, nil)
	id, other := s.initialize("2025-06-18"), s.initialize("2025-06-18")
	st := s.open(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ask"}`, "Mcp-Session-Id", id)
	q := st.message()
	if q.Method != "elicitation/create" {
		t.Fatalf("got %+v", q)
	}
	answer := func(session, name string) {
		r := s.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"Name":%q}}`, q.ID, name), "Mcp-Session-Id", session)
		if r.status != 202 {
			t.Errorf("answer: %d %s", r.status, r.body)
		}
	}
	answer(other, "thief") // an answer counts only in the session that was asked
	answer(id, "ann")
	if m := st.message(); string(m.Result) != `{"hello":"ann"}` {
		t.Errorf("got %s", m.Result)
	}
}

func TestListeningStream(t *testing.T) {
	t.Parallel()
	conns := make(chan rpc.Conn, 1)
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{}, bind: func(_ context.Context, c rpc.Conn) {
		if fmt.Sprintf("%T", c) == "*streamhttp.session" {
			conns <- c
		}
	}}, nil)
	id := s.initialize("2025-11-25")
	c := <-conns
	tell := func(n string) {
		if err := c.Notify(t.Context(), &rpc.Request{Method: n}); err != nil {
			t.Error(err)
		}
	}
	tell("before") // kept until somebody listens
	a := s.open(http.MethodGet, "", "Mcp-Session-Id", id)
	if m := a.message(); m.Method != "before" {
		t.Fatalf("got %+v", m)
	}
	tell("first")
	if m := a.message(); m.Method != "first" {
		t.Fatalf("got %+v", m)
	}
	b := s.open(http.MethodGet, "", "Mcp-Session-Id", id)
	if e, _ := b.next(); e.id == "" || e.data != "" {
		t.Errorf("no priming event: %+v", e)
	}
	tell("second") // goes to the newest stream, and to no other
	e, _ := b.next()
	if !strings.Contains(e.data, `"second"`) {
		t.Fatalf("got %+v", e)
	}
	b.close()
	tell("third") // to b, if the server has not noticed, or to a
	// Whoever got it: who resumes behind what b has seen gets it.
	d := s.open(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-Id", e.id)
	if m := d.message(); m.Method != "third" {
		t.Errorf("replayed %+v", m)
	}
	tell("fourth")
	if m := d.message(); m.Method != "fourth" {
		t.Errorf("got %+v", m)
	}
	s.do(http.MethodDelete, "", "Mcp-Session-Id", id)
	for e, ok := a.next(); ok; e, ok = a.next() {
		if strings.Contains(e.data, `"second"`) || strings.Contains(e.data, `"fourth"`) {
			t.Errorf("told on two streams: %+v", e)
		}
	}
}

func TestReverseCallOnTheListeningStream(t *testing.T) {
	t.Parallel()
	conns := make(chan rpc.Conn, 1)
	s := startSite(t, &backend{bind: func(_ context.Context, c rpc.Conn) {
		if fmt.Sprintf("%T", c) == "*streamhttp.session" {
			conns <- c
		}
	}}, nil)
	id := s.initialize("2025-06-18")
	c := <-conns
	var calls sync.WaitGroup
	calls.Go(func() {
		var res jsontext.Value
		if err := c.Call(t.Context(), &rpc.Request{Method: "roots/list"}, &res); err != nil || string(res) != `{"roots":[]}` {
			t.Errorf("got %s, %v", res, err)
		}
	})
	st := s.open(http.MethodGet, "", "Mcp-Session-Id", id)
	q := st.message()
	s.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, q.ID), "Mcp-Session-Id", id)
	calls.Wait()
	calls.Go(func() {
		if err := c.Call(t.Context(), &rpc.Request{Method: "roots/list"}, nil); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("call in a session that ends: %v", err)
		}
	})
	st.message()
	s.do(http.MethodDelete, "", "Mcp-Session-Id", id)
	calls.Wait()
	if _, ok := st.next(); ok {
		t.Error("the stream of a session that is over goes on")
	}
}

// TestPolling is the course of the conformance tool test_reconnection.
func TestPolling(t *testing.T) {
	t.Parallel()
	closed, release := make(chan struct{}), make(chan struct{})
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"poll": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			if err := p.(interface{ ClosePoll(time.Duration) error }).ClosePoll(500 * time.Millisecond); err != nil {
				return nil, err
			}
			close(closed)
			<-release
			if err := p.Notify(ctx, &rpc.Request{Method: "progress"}); err != nil {
				t.Error(err)
			}
			return jsontext.Value(`{"done":true}`), nil
		},
	}}, nil)
	id := s.initialize("2025-11-25")
	st := s.open(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"poll"}`, "Mcp-Session-Id", id)
	e, ok := st.next()
	if !ok || e.id == "" || e.data != "" {
		t.Fatalf("first event %+v", e)
	}
	e, ok = st.next()
	if !ok || e.id == "" || e.retry != "500" {
		t.Fatalf("second event %+v", e)
	}
	if e, ok := st.next(); ok {
		t.Fatalf("the stream goes on: %+v", e)
	}
	waitFor(t, closed, "ClosePoll")
	again := s.open(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-Id", e.id, "Mcp-Protocol-Version", "2025-11-25")
	if e, ok := again.next(); !ok || e.id == "" || e.data != "" {
		t.Fatalf("resumed stream begins with %+v", e)
	}
	close(release)
	if m := again.message(); m.Method != "progress" {
		t.Errorf("got %+v", m)
	}
	if m := again.message(); string(m.Result) != `{"done":true}` || string(m.ID) != "1" {
		t.Errorf("got %+v", m)
	}
	if _, ok := again.next(); ok {
		t.Error("the stream goes on after the response")
	}
	// The same once more, now from the store alone.
	replay := s.open(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-Id", e.id)
	if a, b := replay.message(), replay.message(); a.Method != "progress" || string(b.ID) != "1" {
		t.Errorf("replayed %+v, %+v", a, b)
	}
	if r := s.do(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-Id", "zz-1"); r.status != 400 {
		t.Errorf("foreign event ID: %d", r.status)
	}
}

func TestResumeABrokenPost(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
				"work": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
					for i := range 3 {
						p.Notify(ctx, &rpc.Request{Method: fmt.Sprint("n", i)})
						if i == 0 {
							<-release
						}
					}
					return nil, nil
				},
			}}, nil)
			id := s.initialize(v)
			st := s.open(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"work"}`, "Mcp-Session-Id", id)
			var last sse
			for last.data == "" {
				last, _ = st.next()
			}
			st.close()
			again := s.open(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-Id", last.id)
			close(release)
			for _, want := range []string{"n1", "n2", ""} {
				if m := again.message(); m.Method != want {
					t.Errorf("got %+v, want %q", m, want)
				}
			}
			if _, ok := again.next(); ok {
				t.Error("the stream goes on")
			}
		})
	}
}

func TestServerBatch(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"note": func(ctx context.Context, req *rpc.Request, p rpc.Peer) (any, error) {
			return nil, p.Notify(ctx, &rpc.Request{Method: "n"})
		},
	}}, nil)
	const note, echo = `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":1,"method":"echo"}`
	tests := []struct {
		name, body string
		status     int
		want       []string // parts of the body
	}{
		{"requests", "[" + echo + "," + strings.Replace(echo, "1", `"a"`, 1) + "]", 200, []string{`"id":1,"result"`, `"id":"a","result"`}},
		{"notifications", "[" + note + "," + note + "]", 202, nil},
		{"responses", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, 202, nil},
		{"initialize", "[" + initBody("2025-03-26") + "]", 200, []string{"-32600"}},
		{"bad element", "[" + echo + ",1]", 200, []string{`"id":1,"result"`, `"id":null,"error":{"code":-32600`}},
		{"streams", `[{"jsonrpc":"2.0","id":1,"method":"note"},` + strings.Replace(echo, "1", "2", 1) + "]", 200, []string{"data:", `"id":1,"result"`, `"id":2,"result"`, `"method":"n"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := s.do(http.MethodPost, tt.body, "Mcp-Session-Id", s.initialize("2025-03-26"))
			if r.status != tt.status {
				t.Fatalf("%d %s", r.status, r.body)
			}
			for _, w := range tt.want {
				if !strings.Contains(r.body, w) {
					t.Errorf("%s lacks %s", r.body, w)
				}
			}
		})
	}
}

func TestSSE2024(t *testing.T) {
	t.Parallel()
	b := &backend{on: map[string]rpc.HandlerFunc{
		"ask": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			var res jsontext.Value
			return nil, p.Call(ctx, &rpc.Request{Method: "roots/list"}, &res)
		},
	}}
	alone := streamhttp.NewSSEHandler(b, nil)
	srv := httptest.NewServer(http.StripPrefix("/a/b", alone))
	t.Cleanup(func() {
		alone.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	for name, s := range map[string]*site{
		"same URL": startSite(t, b, nil),
		"alone":    {t: t, url: srv.URL + "/a/b/sse?key=1", client: srv.Client()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.t = t
			st := s.open(http.MethodGet, "")
			e, _ := st.next()
			if e.event != "endpoint" || !strings.HasPrefix(e.data, "?") {
				t.Fatalf("first event %+v", e)
			}
			base := *s
			base.url, _, _ = strings.Cut(s.url, "?")
			if strings.Contains(s.url, "key=1") && !strings.Contains(e.data, "key=1") {
				t.Errorf("the query is lost: %s", e.data)
			}
			at := base
			at.url += e.data
			post := func(body string) {
				t.Helper()
				if r := at.do(http.MethodPost, body); r.status != 202 || r.body != "" {
					t.Errorf("POST: %d %s", r.status, r.body)
				}
			}
			post(initBody("2024-11-05"))
			if e, _ := st.next(); e.event != "message" || !strings.Contains(e.data, `"2024-11-05"`) {
				t.Fatalf("initialize: %+v", e)
			}
			post(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
			q := st.message()
			post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, q.ID))
			if m := st.message(); string(m.ID) != "1" {
				t.Errorf("got %+v", m)
			}
			st.close()
			base.url += "?sessionId=gone"
			if r := base.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status != 404 {
				t.Errorf("unknown session: %d", r.status)
			}
		})
	}
}

// sleep lets time pass in a bubble of synctest.
func sleep(d time.Duration) { <-time.After(d) }
