package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

const agreed = `{"protocolVersion":"` + legacy + `","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`

// handshake opens a session as client/ does.
func handshake(ctx context.Context, c rpc.Conn) error {
	init := request("", "initialize", `{"protocolVersion":"`+legacy+`"}`)
	if err := c.Call(ctx, init, nil); err != nil {
		return err
	}
	return c.Notify(ctx, request(legacy, "notifications/initialized", ""))
}

// sessions is a legacy server that opens sessions "s1", "s2", … and can forget
// them. What it does not know goes to then.
type sessions struct {
	mu     sync.Mutex
	n      int
	alive  map[string]bool
	listen func(w http.ResponseWriter, r *http.Request, p post)
	then   func(w http.ResponseWriter, r *http.Request, p post)
}

func (s *sessions) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = nil
}

func (s *sessions) script(w http.ResponseWriter, r *http.Request, p post) {
	s.mu.Lock()
	known := s.alive[p.Header.Get("Mcp-Session-Id")]
	if p.Method == "initialize" {
		s.n++
		id := fmt.Sprintf("s%d", s.n)
		if s.alive == nil {
			s.alive = map[string]bool{}
		}
		s.alive[id] = true
		w.Header().Set("Mcp-Session-Id", id)
	}
	s.mu.Unlock()
	switch {
	case p.Method == "initialize":
		reply(w, jsonType, result(p.req.ID, agreed))
	case !known:
		http.Error(w, "no such session", http.StatusNotFound)
	case p.HTTP == "DELETE":
	case p.HTTP == "GET" && s.listen != nil:
		s.listen(w, r, p)
	case p.HTTP == "GET":
		w.WriteHeader(http.StatusMethodNotAllowed)
	case p.res != nil, p.req.ID.IsZero():
		w.WriteHeader(http.StatusAccepted)
	case s.then != nil:
		s.then(w, r, p)
	default:
		reply(w, jsonType, result(p.req.ID, `{}`))
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	gotGET := make(chan struct{})
	s.listen = func(w http.ResponseWriter, _ *http.Request, _ post) {
		w.WriteHeader(http.StatusMethodNotAllowed)
		close(gotGET) // a second GET would panic
	}
	f := serve(t, s.script)
	c := f.dial(t, nil, func(d *streamhttp.Dialer) { d.Header = http.Header{"Authorization": {"Bearer x"}} })
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	<-gotGET
	if _, err := call(t.Context(), c, legacy, "tools/list", ""); err != nil {
		t.Error(err)
	}
	if err := c.Notify(t.Context(), request(legacy, "notifications/cancelled", `{"requestId":1}`)); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	want := map[string][2]string{ // session, version
		"initialize": {"", ""}, "notifications/initialized": {"s1", legacy}, "GET": {"s1", legacy},
		"tools/list": {"s1", legacy}, "notifications/cancelled": {"s1", legacy}, "DELETE": {"s1", legacy},
	}
	for what, w := range want {
		got := f.seen(what)
		if len(got) != 1 {
			t.Errorf("%s: %d requests", what, len(got))
			continue
		}
		h := got[0].Header
		if g := [2]string{h.Get("Mcp-Session-Id"), h.Get("Mcp-Protocol-Version")}; g != w {
			t.Errorf("%s: session and version %q, want %q", what, g, w)
		}
		if h.Get("Mcp-Method") != "" || h.Get("Last-Event-Id") != "" || h.Get("Authorization") != "Bearer x" {
			t.Errorf("%s: %v", what, h)
		}
	}
	for _, p := range f.seen("POST") {
		if got := p.Header.Get("Accept"); got != "application/json, text/event-stream" {
			t.Errorf("%s: POST with Accept %q", p.Method, got)
		}
	}
	if h := f.seen("GET")[0].Header; h.Get("Accept") != sseType || h.Get("Content-Type") != "" {
		t.Errorf("GET with Accept %q, Content-Type %q", h.Get("Accept"), h.Get("Content-Type"))
	}
}

func TestSessionIDs(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"1": true, strings.Repeat("A", 4096): true, "session@id!#$%^&*()": true, "a.b-c_d/+=": true,
		strings.Repeat("A", 4097): false, "session id": false, "a\tb": false, "sessão-1": false,
	} {
		f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
			if p.HTTP != "POST" || p.req.ID.IsZero() {
				w.WriteHeader(202)
				return
			}
			w.Header().Set("Mcp-Session-Id", id)
			reply(w, jsonType, result(p.req.ID, agreed))
		})
		c := f.dial(t, nil)
		if err := c.Call(t.Context(), request("", "initialize", "{}"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := call(t.Context(), c, legacy, "x", ""); err != nil {
			t.Fatal(err)
		}
		if got := f.seen("x")[0].Header.Get("Mcp-Session-Id") == id; got != ok {
			t.Errorf("%.20q sent back: %t", id, got)
		}
		_ = c.Close()
		if got := len(f.seen("DELETE")) == 1; got != ok {
			t.Errorf("%.20q deleted: %t", id, got)
		}
	}
}

func TestClosingASession(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"gone": 404, "not allowed": 405, "broken": 500, "moved": 302, "hangs": 0} {
		s := &sessions{}
		f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
			switch {
			case p.HTTP != "DELETE":
				s.script(w, r, p)
			case status == 0:
				<-r.Context().Done()
			default:
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}
		})
		c := f.dial(t, nil, func(d *streamhttp.Dialer) { d.Limits.CloseTimeout = 30 * time.Millisecond })
		if err := handshake(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := c.Close(); err != nil || c.Close() != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("%s: Close took %v", name, d)
		}
		if n := len(f.seen("DELETE")); n != 1 {
			t.Errorf("%s: %d DELETEs", name, n)
		}
	}
}

func TestForgottenSession(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	f := serve(t, s.script)
	c := f.dial(t, nil)
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.forget()
	const n = 20
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := call(t.Context(), c, legacy, "tools/list", "")
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	init := f.seen("initialize")
	if len(init) != 2 || len(f.seen("notifications/initialized")) != 2 {
		t.Fatalf("%d initialize, %d initialized; want 2 of each", len(init), len(f.seen("notifications/initialized")))
	}
	if h := init[1].Header; h.Get("Mcp-Session-Id") != "" || h.Get("Mcp-Protocol-Version") != "" {
		t.Errorf("second initialize with %v", h)
	}
	if string(init[0].req.Params) != string(init[1].req.Params) {
		t.Errorf("initialize with %s, then with %s", init[0].req.Params, init[1].req.Params)
	}
	done := map[string]int{}
	for _, p := range f.seen("tools/list") {
		if p.Header.Get("Mcp-Session-Id") == "s2" {
			done[p.req.ID.String()]++
		}
	}
	if len(done) != n {
		t.Errorf("%d calls were made in the new session, want %d", len(done), n)
	}
	for id, times := range done {
		if times != 1 {
			t.Errorf("call %s was made %d times", id, times)
		}
	}
	if _, err := call(t.Context(), c, legacy, "prompts/list", ""); err != nil || f.seen("prompts/list")[0].Header.Get("Mcp-Session-Id") != "s2" {
		t.Errorf("prompts/list: %v", err)
	}
	_ = c.Close()
	if d := f.seen("DELETE"); len(d) != 1 || d[0].Header.Get("Mcp-Session-Id") != "s2" {
		t.Errorf("DELETE: %v", d)
	}
}

// A tool may have run before the 404 came, so only its caller can know whether
// it may run again.
func TestForgottenSessionActs(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"tools/call", "acme/pay"} {
		s := &sessions{}
		f := serve(t, s.script)
		c := f.dial(t, nil)
		if err := handshake(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		s.forget()
		_, err := call(t.Context(), c, legacy, method, `{"name":"t"}`)
		status, ok := errors.AsType[*streamhttp.StatusError](err)
		if !errors.Is(err, streamhttp.ErrOutcomeUnknown) || !ok || status.Code != http.StatusNotFound {
			t.Errorf("%s: error %v, want one of unknown outcome that holds the 404", method, err)
		}
		if n := len(f.seen(method)); n != 1 {
			t.Errorf("%s was sent %d times, want once", method, n)
		}
		if _, err := call(t.Context(), c, legacy, method, `{"name":"t"}`); err != nil || len(f.seen("initialize")) != 2 {
			t.Errorf("%s in the new session: %v, %d initialize, want 2", method, err, len(f.seen("initialize")))
		}
	}
}

func TestForgottenForNotifications(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	f := serve(t, s.script)
	c := f.dial(t, nil)
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.forget()
	for _, m := range []string{"notifications/cancelled", "notifications/progress"} {
		if err := c.Notify(t.Context(), request(legacy, m, "")); err != nil || len(f.seen("initialize")) != 1 {
			t.Errorf("%s: %v, %d initialize", m, err, len(f.seen("initialize")))
		}
	}
	if err := c.Notify(t.Context(), request(legacy, "notifications/roots/list_changed", "")); err != nil || len(f.seen("notifications/roots/list_changed")) != 2 {
		t.Errorf("%v", err)
	}
}

// A server that always says 404 must not send the client round in circles.
func TestForgottenAgain(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		switch p.Method {
		case "prompts/list":
			http.Error(w, "gone", http.StatusNotFound)
		case "unknown":
			w.Header().Set("Content-Type", jsonType)
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+p.req.ID.String()+`,"error":{"code":-32601,"message":"no"}}`)
		default:
			s.script(w, r, p)
		}
	})
	c := f.dial(t, nil)
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, err := call(t.Context(), c, legacy, "unknown", "")
	if !errors.Is(err, &rpc.Error{Code: rpc.CodeMethodNotFound}) || len(f.seen("initialize")) != 1 {
		t.Errorf("unknown method: %v, %d initialize", err, len(f.seen("initialize")))
	}
	_, err = call(t.Context(), c, legacy, "prompts/list", "")
	if e, ok := errors.AsType[*streamhttp.StatusError](err); !ok || e.Code != 404 || len(f.seen("prompts/list")) != 2 || len(f.seen("initialize")) != 2 {
		t.Errorf("%v after %d attempts, %d initialize", err, len(f.seen("prompts/list")), len(f.seen("initialize")))
	}
}

func TestRenewalFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer  func(w http.ResponseWriter, p post)
		wantErr string
	}{
		"status": {func(w http.ResponseWriter, _ post) { w.WriteHeader(503) }, "status 503"},
		"error": {func(w http.ResponseWriter, p post) {
			reply(w, jsonType, `{"jsonrpc":"2.0","id":`+p.req.ID.String()+`,"error":{"code":-32603,"message":"no"}}`)
		}, "no (-32603)"},
		"revision": {func(w http.ResponseWriter, p post) {
			reply(w, jsonType, result(p.req.ID, `{"protocolVersion":"2025-03-26"}`))
		}, `revision "2025-03-26"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sessions{}
			var broken atomic.Bool
			f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
				if broken.Load() && p.Method == "initialize" {
					tt.answer(w, p)
					return
				}
				s.script(w, r, p)
			})
			c := f.dial(t, nil)
			if err := handshake(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			s.forget()
			broken.Store(true)
			if _, err := call(t.Context(), c, legacy, "tools/list", ""); err == nil || !strings.Contains(err.Error(), tt.wantErr) || !strings.Contains(err.Error(), "forgot the session") {
				t.Errorf("%v", err)
			}
			broken.Store(false)
			if _, err := call(t.Context(), c, legacy, "tools/list", ""); err != nil {
				t.Errorf("when the server is well again: %v", err)
			}
		})
	}
}

func TestServerAsks(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	answered := make(chan post, 3)
	s.then = func(w http.ResponseWriter, r *http.Request, p post) {
		w.Header().Set("Content-Type", sseType)
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{}}\n\n")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\n")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"bad\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		for range 3 {
			<-answered
		}
		_, _ = io.WriteString(w, "data: "+result(p.req.ID, `{}`)+"\n\n")
	}
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		s.script(w, r, p)
		if p.res != nil {
			answered <- p
		}
	})
	h := &heard{answer: func(_ context.Context, req *rpc.Request) (any, error) {
		switch req.Method {
		case "roots/list":
			panic("secret")
		case "bad":
			return make(chan int), nil
		}
		return map[string]string{"action": "accept"}, nil
	}}
	c := f.dial(t, h)
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), c, legacy, "tools/call", ""); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range f.all() {
		if p.res != nil {
			got[p.res.ID.String()] = p.Body
			if p.Header.Get("Mcp-Session-Id") != "s1" || p.Header.Get("Mcp-Protocol-Version") != legacy {
				t.Errorf("answer with %v", p.Header)
			}
		}
	}
	want := map[string]string{
		`"q"`: `{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}`,
		`7`:   `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}`,
		`8`:   `{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"internal error"}}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestModernServerMustNotAsk(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
		reply(w, sseType, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\ndata: "+result(p.req.ID, `{}`)+"\n\n")
	})
	h := new(heard)
	c := f.dial(t, h)
	if _, err := call(t.Context(), c, modern, "x", ""); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	if len(h.all()) != 0 || len(f.all()) != 1 {
		t.Errorf("handled %v, %d POSTs", h.all(), len(f.all()))
	}
}

func TestCancelledServerRequest(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	cause := errors.New("taken back")
	started, ended := make(chan struct{}), make(chan error, 1)
	s.then = func(w http.ResponseWriter, _ *http.Request, p post) {
		w.Header().Set("Content-Type", sseType)
		ask := "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}\n\n"
		_, _ = io.WriteString(w, ask+ask) // the second one is a replay
		_ = http.NewResponseController(w).Flush()
		<-started
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n\n")
		_, _ = io.WriteString(w, "data: "+result(p.req.ID, `{}`)+"\n\n")
	}
	f := serve(t, s.script)
	var c rpc.Conn
	h := rpc.HandlerFunc(func(ctx context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
		if req.ID.IsZero() {
			c.Cancel(rpc.StringID("other"), cause)
			c.Cancel(rpc.StringID("q"), cause)
			return nil, nil
		}
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, nil
	})
	c = f.dial(t, h)
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), c, legacy, "tools/call", ""); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("cause %v", err)
	}
	_ = c.Close()
	for _, p := range f.all() {
		if p.res != nil {
			t.Errorf("answered with %s", p.Body)
		}
	}
}

func TestTooManyServerRequests(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	refused := make(chan struct{}, 100)
	s.then = func(w http.ResponseWriter, _ *http.Request, p post) {
		w.Header().Set("Content-Type", sseType)
		for i := range 50 {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"elicitation/create\"}\n\n", i)
		}
		_ = http.NewResponseController(w).Flush()
		<-refused
		_, _ = io.WriteString(w, "data: "+result(p.req.ID, `{}`)+"\n\n")
	}
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		s.script(w, r, p)
		if p.res != nil && p.res.Error != nil {
			refused <- struct{}{}
		}
	})
	var most, now atomic.Int32
	h := rpc.HandlerFunc(func(ctx context.Context, _ *rpc.Request, _ rpc.Peer) (any, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-ctx.Done()
		return nil, nil
	})
	c := f.dial(t, h, func(d *streamhttp.Dialer) { d.Limits.ServerRequests = 3 })
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), c, legacy, "tools/call", ""); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if most.Load() > 3 {
		t.Errorf("%d requests at once, limit 3", most.Load())
	}
}

func TestHandlerThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := &sessions{}
	s.then = func(w http.ResponseWriter, _ *http.Request, p post) {
		reply(w, sseType, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\ndata: "+result(p.req.ID, `{}`)+"\n\n")
	}
	f := serve(t, s.script)
	started := make(chan struct{})
	h := rpc.HandlerFunc(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
		close(started)
		<-release
		return nil, nil
	})
	c := f.dial(t, h, func(d *streamhttp.Dialer) { d.Limits.CloseTimeout = 20 * time.Millisecond })
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), c, legacy, "x", ""); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "handlers") {
		t.Errorf("Close: %v", err)
	}
	close(release)
}

// What the server starts comes on the stream of a GET, and a server that has
// none is asked once.
func TestListening(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	s.listen = func(w http.ResponseWriter, r *http.Request, _ post) {
		w.Header().Set("Content-Type", sseType)
		_, _ = io.WriteString(w, ": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	answered := make(chan struct{})
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		s.script(w, r, p)
		if p.res != nil {
			close(answered)
		}
	})
	h := &heard{answer: func(context.Context, *rpc.Request) (any, error) { return struct{}{}, nil }}
	c := f.dial(t, h)
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	<-answered
	if d := cmp.Diff([]string{"notifications/tools/list_changed", "ping"}, h.all()); d != "" {
		t.Error(d)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoStreamOffered(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter){
		"405":     func(w http.ResponseWriter) { w.WriteHeader(405) },
		"404":     func(w http.ResponseWriter) { w.WriteHeader(404) },
		"400":     func(w http.ResponseWriter) { w.WriteHeader(400) },
		"501":     func(w http.ResponseWriter) { w.WriteHeader(501) },
		"json":    func(w http.ResponseWriter) { reply(w, jsonType, "{}") },
		"sse2024": func(w http.ResponseWriter) { reply(w, sseType, "event: endpoint\ndata: /m\n\n") },
		"html":    func(w http.ResponseWriter) { reply(w, "text/html", "hi") },
		"away":    func(w http.ResponseWriter) { w.Header().Set("Location", "https://other.test/"); w.WriteHeader(307) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &sessions{}
				s.listen = func(w http.ResponseWriter, _ *http.Request, _ post) { answer(w) }
				f := memory(t, s.script)
				c := f.dial(t, nil)
				if err := handshake(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour) //nolint:forbidigo // the bubble's time
				if _, err := call(t.Context(), c, legacy, "x", ""); err != nil {
					t.Error(err)
				}
				if n := len(f.seen("GET")); n != 1 {
					t.Errorf("%d GETs", n)
				}
				if n := len(f.seen("initialize")); n != 1 {
					t.Errorf("%d initialize", n)
				}
				_ = c.Close()
			})
		})
	}
}
