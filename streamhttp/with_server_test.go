package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

type greetIn struct {
	Name string `json:"name"`
}

// realServer is a server of the SDK with a few tools.
func realServer() *server.Server {
	s := server.New(mcp.Implementation{Name: "t", Version: "1"}, &server.Options{StateKeys: [][]byte{[]byte("0123456789abcdef")}})
	server.AddTool(s, mcp.Tool{Name: "greet"}, func(ctx context.Context, in greetIn) (string, error) {
		if err := server.CallFrom(ctx).Progress(ctx, 1, 2, "half"); err != nil {
			return "", err
		}
		return "hello " + in.Name, nil
	})
	server.AddTool(s, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ map[string]string) (string, error) {
		_, err := server.CallFrom(ctx).Roots(ctx, "roots")
		return "", err
	})
	server.AddTool(s, mcp.Tool{Name: "poll"}, func(ctx context.Context, _ struct{}) (string, error) {
		if err := server.CallFrom(ctx).ClosePoll(time.Millisecond); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return "", err
		}
		return "done", nil
	})
	return s
}

func TestRealServerModern(t *testing.T) {
	t.Parallel()
	s := startSite(t, realServer(), nil)
	call := func(name, extra string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `","arguments":{"name":"ann"},` +
			strings.Replace(meta, `{"io`, `{`+extra+`"io`, 1) + `}}`
	}
	r := s.do(http.MethodPost, call("greet", ""), modernHeaders("tools/call", "Mcp-Name", "greet")...)
	if r.status != 200 || r.header.Get("Content-Type") != "application/json" || !strings.Contains(r.body, "hello ann") {
		t.Errorf("plain: %d %s", r.status, r.body)
	}
	r = s.do(http.MethodPost, call("greet", `"progressToken":"p",`), modernHeaders("tools/call", "Mcp-Name", "greet")...)
	if r.header.Get("Content-Type") != "text/event-stream" || !strings.Contains(r.body, `"progressToken":"p"`) || !strings.Contains(r.body, "hello ann") {
		t.Errorf("with progress: %v %s", r.header, r.body)
	}
	r = s.do(http.MethodPost, call("no", ""), modernHeaders("tools/call", "Mcp-Name", "no")...)
	if r.status != 200 || r.json(t).code() != -32602 {
		t.Errorf("unknown tool: %d %s", r.status, r.body)
	}
	r = s.do(http.MethodPost, call("ask", ""), modernHeaders("tools/call", "Mcp-Name", "ask")...)
	if r.status != 400 || r.json(t).code() != mcp.CodeMissingCapability || string(r.json(t).ID) != "7" {
		t.Errorf("missing capability: %d %s", r.status, r.body)
	}
	body := strings.ReplaceAll(modernBody("server/discover"), "2026-07-28", "v999")
	r = s.do(http.MethodPost, body, "Mcp-Protocol-Version", "v999", "Mcp-Method", "server/discover")
	if r.status != 400 || r.json(t).code() != mcp.CodeUnsupportedVersion {
		t.Errorf("unknown version: %d %s", r.status, r.body)
	}
	for _, m := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such"} {
		r := s.do(http.MethodPost, modernBody(m), modernHeaders(m)...)
		if r.status != 404 || r.json(t).code() != rpc.CodeMethodNotFound || string(r.json(t).ID) != "7" {
			t.Errorf("%s: %d %s", m, r.status, r.body)
		}
	}
}

func TestRealServerListenEndsWithTheServer(t *testing.T) {
	t.Parallel()
	srv := realServer()
	s := startSite(t, srv, nil)
	body := `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`
	st := s.open(http.MethodPost, body, modernHeaders("subscriptions/listen")...)
	if m := st.message(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %+v", m)
	}
	server.AddTool(srv, mcp.Tool{Name: "late"}, func(context.Context, struct{}) (string, error) { return "", nil })
	if m := st.message(); m.Method != "notifications/tools/list_changed" {
		t.Errorf("got %+v", m)
	}
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if m := st.message(); string(m.ID) != "7" || m.Error != nil {
		t.Errorf("got %+v", m)
	}
	if err := s.h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRealServerLegacy(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			srv := realServer()
			s := startSite(t, srv, nil)
			id := s.initialize(v)
			header := []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", v}
			if r := s.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...); r.status != 202 {
				t.Fatalf("initialized: %d %s", r.status, r.body)
			}
			st := s.open(http.MethodGet, "", header...)
			server.AddTool(srv, mcp.Tool{Name: "late"}, func(context.Context, struct{}) (string, error) { return "", nil })
			if m := st.message(); m.Method != "notifications/tools/list_changed" {
				t.Errorf("got %+v", m)
			}
			r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"ann"},"_meta":{"progressToken":1}}}`, header...)
			if !strings.Contains(r.body, `"progress":1`) || !strings.Contains(r.body, "hello ann") {
				t.Errorf("greet: %d %s", r.status, r.body)
			}
			r = s.do(http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"poll","arguments":{}}}`, header...)
			if polls := v == "2025-11-25"; strings.Contains(r.body, "done") == polls || strings.Contains(r.body, "retry: 1") != polls {
				t.Errorf("poll: %d %s", r.status, r.body)
			}
			if r := s.do(http.MethodPost, initBody(v), header...); r.json(t).code() != rpc.CodeInvalidRequest || r.header.Get("Mcp-Session-Id") != "" {
				t.Errorf("second initialize: %d %s", r.status, r.body)
			}
			if r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, header...); !strings.Contains(r.body, `"result"`) {
				t.Errorf("ping after it: %d %s", r.status, r.body)
			}
			if r := s.do(http.MethodDelete, "", header...); r.status != 204 {
				t.Errorf("DELETE: %d", r.status)
			}
		})
	}
}

// TestIdleSessionIsSmall holds the promise of limits.go.
func TestIdleSessionIsSmall(t *testing.T) { //nolint:paralleltest // it measures the heap
	const sessions = 2000
	h := streamhttp.NewHandler(realServer(), nil)
	defer h.Close()
	open := func() {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(initBody("2025-11-25")))
		if err != nil {
			t.Fatal(err)
		}
		setHeaders(r, []string{"Content-Type", "application/json"})
		w := &sink{header: http.Header{}}
		if h.ServeHTTP(w, r); w.header.Get("Mcp-Session-Id") == "" {
			t.Fatalf("no session: %d", w.status)
		}
	}
	open()
	before := heap()
	for range sessions {
		open()
	}
	per := (heap() - before) / sessions
	t.Logf("%d bytes a session", per)
	if per > 2<<10 {
		t.Errorf("an idle session has %d bytes", per)
	}
	runtime.KeepAlive(h)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// A client that polls sends its next requests while the server closes the
// connection that it hung up on: none may get lost on that one.
func TestPollingLosesNoRequest(t *testing.T) {
	t.Parallel()
	s := startSite(t, realServer(), nil)
	header := []string{"Mcp-Session-Id", s.initialize("2025-11-25"), "Mcp-Protocol-Version", "2025-11-25"}
	for i := range 200 {
		poll := fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"tools/call","params":{"name":"poll","arguments":{}}}`, i)
		if r := s.do(http.MethodPost, poll, header...); r.status != 200 {
			t.Fatalf("poll: %d %s", r.status, r.body)
		}
		ping := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
		if r := s.do(http.MethodPost, ping, header...); r.status != 200 {
			t.Fatalf("ping: %d %s", r.status, r.body)
		}
	}
}
