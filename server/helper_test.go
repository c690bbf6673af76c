package server_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var info = mcp.Implementation{Name: "test", Version: "1"}

func newServer(opts *server.Options) *server.Server { return server.New(info, opts) }

// wire is a client without opinions: it sends what it is told to.
type wire struct {
	t    *testing.T
	conn rpc.Conn
	ctx  context.Context

	mu    sync.Mutex
	notes []*rpc.Request
	more  chan struct{} // closed and replaced when notes grow
	reply func(ctx context.Context, req *rpc.Request) (any, error)
}

// dial connects to s over a pipe until the test ends.
func dial(t *testing.T, s *server.Server) *wire {
	t.Helper()
	w := &wire{t: t, more: make(chan struct{})}
	w.ctx = t.Context()
	near, far := rpc.Pipe()
	ctx := context.Background()
	srv := rpc.NewDuplex(ctx, far, s, nil)
	w.conn = rpc.NewDuplex(ctx, near, w, nil)
	t.Cleanup(func() {
		w.conn.Close()
		srv.Close()
	})
	return w
}

// Bind implements rpc.Binder.
func (w *wire) Bind(context.Context, rpc.Conn) rpc.Handler { return w }

// Handle implements rpc.Handler.
func (w *wire) Handle(ctx context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
	w.mu.Lock()
	reply := w.reply
	if req.ID.IsZero() {
		w.notes = append(w.notes, req)
		close(w.more)
		w.more = make(chan struct{})
	}
	w.mu.Unlock()
	if req.ID.IsZero() {
		return nil, nil
	}
	if reply == nil {
		return nil, mcp.MethodNotFound(req.Method)
	}
	return reply(ctx, req)
}

func (w *wire) onRequest(f func(ctx context.Context, req *rpc.Request) (any, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reply = f
}

// note waits for the nth notification, counted from 0.
func (w *wire) note(n int) *rpc.Request {
	w.t.Helper()
	for {
		w.mu.Lock()
		if n < len(w.notes) {
			defer w.mu.Unlock()
			return w.notes[n]
		}
		more := w.more
		w.mu.Unlock()
		select {
		case <-more:
		case <-time.After(10 * time.Second):
			w.t.Fatalf("notification %d did not come", n)
		}
	}
}

// want is note for one of which the method and the params are known.
func (w *wire) want(n int, method string, params ...string) {
	w.t.Helper()
	got := w.note(n)
	if got.Method != method {
		w.t.Fatalf("notification %d is %s %s, want %s", n, got.Method, got.Params, method)
	}
	for _, p := range params {
		if !strings.Contains(string(got.Params), p) {
			w.t.Fatalf("%s has %s, want %s in it", method, got.Params, p)
		}
	}
}

// noted is how many notifications came so far.
func (w *wire) noted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.notes)
}

// send makes a request with params as they are.
func (w *wire) send(method, params string) (jsontext.Value, error) {
	w.t.Helper()
	return w.sendCtx(w.ctx, method, params)
}

func (w *wire) sendCtx(ctx context.Context, method, params string) (jsontext.Value, error) {
	req := &rpc.Request{Method: method}
	if params != "" {
		req.Params = jsontext.Value(params)
	}
	var res jsontext.Value
	err := w.conn.Call(ctx, req, &res)
	return res, err
}

func (w *wire) notify(method, params string) {
	w.t.Helper()
	req := &rpc.Request{Method: method}
	if params != "" {
		req.Params = jsontext.Value(params)
	}
	if err := w.conn.Notify(w.ctx, req); err != nil {
		w.t.Fatal(err)
	}
}

// must is send for requests that succeed.
func (w *wire) must(method, params string) string {
	w.t.Helper()
	res, err := w.send(method, params)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, params, err)
	}
	return string(res)
}

// wants is send for requests that fail.
func (w *wire) wants(code int, method, params string) *rpc.Error {
	w.t.Helper()
	res, err := w.send(method, params)
	e, ok := errors.AsType[*rpc.Error](err)
	if !ok || e.Code != code {
		w.t.Fatalf("%s %s: got %s, %v, want error %d", method, params, res, err, code)
	}
	return e
}

// everything is a client that can be asked everything.
const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

// initialize opens a legacy session.
func (w *wire) initialize(v mcp.Version, capabilities string) string {
	w.t.Helper()
	res := w.must("initialize", `{"protocolVersion":"`+string(v)+`","capabilities":`+capabilities+`,"clientInfo":{"name":"c","version":"1"}}`)
	w.notify("notifications/initialized", "")
	return res
}

// meta is the _meta of a modern request, with more members behind a comma.
func meta(capabilities, more string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + more + `}`
}

// modern returns the params of a modern request.
func modern(members string) string {
	if members != "" {
		members += ","
	}
	return "{" + members + meta("{}", "") + "}"
}

func asking(members string) string { return "{" + members + "," + meta(everything, "") + "}" }

func decode[T any](t *testing.T, raw string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// each runs a test with a legacy and with a modern client.
func each(t *testing.T, f func(t *testing.T, params func(members string) string, open func(*wire))) {
	t.Helper()
	t.Run("legacy", func(t *testing.T) {
		t.Parallel()
		f(t, func(m string) string { return "{" + m + "}" }, func(w *wire) { w.initialize(mcp.V20251125, everything) })
	})
	t.Run("modern", func(t *testing.T) {
		t.Parallel()
		f(t, func(m string) string {
			if m == "" {
				return "{" + meta(everything, "") + "}"
			}
			return asking(m)
		}, func(*wire) {})
	})
}

// text is the text of a tool's result.
func text(t *testing.T, raw string) string {
	t.Helper()
	var all string
	for _, c := range decode[mcp.CallToolResult](t, raw).Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			all += tc.Text
		}
	}
	return all
}
