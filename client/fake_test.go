package client_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// script answers the requests of a client. A string is the JSON of a result.
type script func(ctx context.Context, s *fakeServer, req *rpc.Request) (any, error)

// fakeServer is an [rpc.Dialer] to a server that does as its script says. It
// keeps what it was sent.
type fakeServer struct {
	script script
	// onNotify hears notifications, on a goroutine that may block.
	onNotify func(ctx context.Context, req *rpc.Request) error

	mu      sync.Mutex
	dialed  int
	log     []*rpc.Request
	batch   bool
	handler rpc.Handler
	conn    *fakeConn
}

func (s *fakeServer) Dial(_ context.Context, h rpc.Handler) (rpc.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(context.Background())
	s.dialed++
	s.handler = h
	s.conn = &fakeConn{server: s, ctx: ctx, cancel: cancel, asked: make(map[rpc.ID]context.CancelCauseFunc)}
	return s.conn, nil
}

// sent returns the requests with this method, or all where it is "".
func (s *fakeServer) sent(method string) []*rpc.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*rpc.Request
	for _, r := range s.log {
		if method == "" || r.Method == method {
			out = append(out, r)
		}
	}
	return out
}

func (s *fakeServer) methods() []string {
	var out []string
	for _, r := range s.sent("") {
		out = append(out, r.Method)
	}
	return out
}

// notify sends a notification; params is JSON.
func (s *fakeServer) notify(method, params string) {
	s.mu.Lock()
	h, conn := s.handler, s.conn
	s.mu.Unlock()
	_, _ = h.Handle(conn.ctx, &rpc.Request{Method: method, Params: jsontext.Value(params)}, conn)
}

// ask sends a request to the client and returns the JSON of the result.
func (s *fakeServer) ask(id rpc.ID, method, params string) (string, error) {
	s.mu.Lock()
	h, conn := s.handler, s.conn
	s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(conn.ctx)
	defer cancel(nil)
	conn.mu.Lock()
	conn.asked[id] = cancel
	conn.mu.Unlock()
	res, err := h.Handle(ctx, &rpc.Request{ID: id, Method: method, Params: jsontext.Value(params)}, conn)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(res, json.Deterministic(true))
	return string(b), err
}

type fakeConn struct {
	server *fakeServer
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	asked     map[rpc.ID]context.CancelCauseFunc
	cancelled []rpc.ID
	closed    bool
}

func (c *fakeConn) record(req *rpc.Request) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	r := *req
	r.Params = req.Params.Clone()
	c.server.log = append(c.server.log, &r)
}

func (c *fakeConn) Call(ctx context.Context, req *rpc.Request, result any) error {
	if c.ctx.Err() != nil {
		return rpc.ErrClosed
	}
	c.record(req)
	type reply struct {
		res any
		err error
	}
	done := make(chan reply, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return rpc.ErrClosed
	}
	c.wg.Go(func() {
		res, err := c.server.script(c.ctx, c.server, req)
		done <- reply{res, err}
	})
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return rpc.ErrClosed
	case r := <-done:
		if r.err != nil {
			return r.err
		}
		raw, ok := r.res.(string)
		if !ok {
			b, err := json.Marshal(r.res)
			if err != nil {
				return err
			}
			raw = string(b)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal([]byte(raw), result)
	}
}

func (c *fakeConn) Notify(ctx context.Context, req *rpc.Request) error {
	if c.ctx.Err() != nil {
		return rpc.ErrClosed
	}
	c.record(req)
	if c.server.onNotify != nil {
		return c.server.onNotify(ctx, req)
	}
	return nil
}

func (c *fakeConn) Cancel(id rpc.ID, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelled = append(c.cancelled, id)
	if cancel := c.asked[id]; cancel != nil {
		cancel(cause)
	}
}

func (c *fakeConn) AllowBatch(ok bool) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.batch = ok
}

func (c *fakeConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(rpc.ErrClosed)
	c.wg.Wait()
	return nil
}

const (
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],
		"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"completions":{},"logging":{}},
		"instructions":"be kind","ttlMs":0,"cacheScope":"private",
		"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}`
	initialized = `{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true},
		"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}},
		"serverInfo":{"name":"fake","version":"1"},"instructions":"be kind"}`
)

var errNoMethod = &rpc.Error{Code: rpc.CodeMethodNotFound, Message: "method not found"}

// answers is a server of one revision that answers with the results in m, by
// method.
func answers(v mcp.Version, m map[string]string) script {
	return func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		if res, ok := m[req.Method]; ok {
			return res, nil
		}
		return greeting(v, req)
	}
}

// greeting answers what opens a session.
func greeting(v mcp.Version, req *rpc.Request) (any, error) {
	switch {
	case req.Method == mcp.MethodDiscover && v.Modern():
		return discovered, nil
	case req.Method == mcp.MethodInitialize && !v.Modern():
		return fmt.Sprintf(initialized, v), nil
	}
	return nil, errNoMethod
}

// connect connects or fails the test; the client is closed with it.
func connect(t *testing.T, s *fakeServer, opts *client.Options) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// eras runs fn for both.
func eras(t *testing.T, fn func(t *testing.T, v mcp.Version)) {
	t.Helper()
	for _, v := range []mcp.Version{mcp.V20251125, mcp.V20260728} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			fn(t, v)
		})
	}
}

// await fails the test where ch brings nothing.
func await[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func member(t *testing.T, v jsontext.Value, path ...string) string {
	t.Helper()
	for _, name := range path {
		var m map[string]jsontext.Value
		if err := json.Unmarshal(v, &m); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		v = m[name]
	}
	return string(v)
}
