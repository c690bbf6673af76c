package streamhttp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// A post is one request as the fake server saw it.
type post struct {
	HTTP   string // method
	Method string // of JSON-RPC; "" for a response
	Header http.Header
	Body   string
	At     time.Time
	req    *rpc.Request
	res    *rpc.Response
}

// fake is a server that follows a script and keeps what it was sent.
type fake struct {
	URL    string
	client *http.Client

	mu    sync.Mutex
	posts []post
}

func (f *fake) all() []post {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.posts)
}

func (f *fake) last() post { all := f.all(); return all[len(all)-1] }

func (f *fake) seen(method string) (found []post) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.posts {
		if p.HTTP == method || p.Method == method {
			found = append(found, p)
		}
	}
	return found
}

func newFake(script func(w http.ResponseWriter, r *http.Request, p post)) (*fake, http.Handler) {
	f := new(fake)
	return f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		p := post{HTTP: r.Method, Header: r.Header, Body: string(b), At: time.Now()}
		m, err := rpc.Decode(b, rpc.Limits{})
		if err == nil {
			switch m := m.(type) {
			case *rpc.Request:
				p.Method, p.req = m.Method, m
			case *rpc.Response:
				p.res = m
			}
		}
		f.mu.Lock()
		f.posts = append(f.posts, p)
		f.mu.Unlock()
		script(w, r, p)
	})
}

// serve runs the script on a listener of the loopback interface.
func serve(t *testing.T, script func(w http.ResponseWriter, r *http.Request, p post)) *fake {
	t.Helper()
	f, h := newFake(script)
	return serveHTTP(t, h, f)
}

func serveHTTP(t *testing.T, h http.Handler, f *fake) *fake {
	t.Helper()
	s := httptest.NewServer(h)
	tr := new(http.Transport)
	f.URL, f.client = s.URL+"/mcp", &http.Client{Transport: tr}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	return f
}

// memory runs the script without the network, for tests with a fake clock.
func memory(t *testing.T, script func(w http.ResponseWriter, r *http.Request, p post)) *fake {
	t.Helper()
	f, h := newFake(script)
	l := &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	tr := &http.Transport{DialContext: l.dial}
	f.URL, f.client = "http://memory.test/mcp", &http.Client{Transport: tr}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = s.Close()
	})
	return f
}

type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// heard keeps what the server started.
type heard struct {
	mu      sync.Mutex
	methods []string
	answer  func(ctx context.Context, req *rpc.Request) (any, error)
}

func (h *heard) Handle(ctx context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
	h.mu.Lock()
	h.methods = append(h.methods, req.Method)
	h.mu.Unlock()
	if h.answer != nil && !req.ID.IsZero() {
		return h.answer(ctx, req)
	}
	return nil, nil
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.methods...)
}

func (f *fake) dial(t *testing.T, h rpc.Handler, change ...func(*streamhttp.Dialer)) rpc.Conn {
	t.Helper()
	d := &streamhttp.Dialer{URL: f.URL, Client: f.client}
	for _, c := range change {
		c(d)
	}
	if h == nil {
		h = new(heard)
	}
	c, err := d.Dial(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func request(version, method, params string) *rpc.Request {
	req := &rpc.Request{Method: method}
	if params != "" {
		req.Params = jsontext.Value(params)
	}
	if version != "" {
		req.Header = http.Header{"Mcp-Protocol-Version": {version}}
	}
	return req
}

func call(ctx context.Context, c rpc.Peer, version, method, params string) (string, error) {
	var result jsontext.Value
	err := c.Call(ctx, request(version, method, params), &result)
	return string(result), err
}

// reply writes an answer of one content type.
func reply(w http.ResponseWriter, contentType, body string) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	} else {
		w.Header()["Content-Type"] = nil
	}
	_, _ = io.WriteString(w, body)
}

func result(id rpc.ID, v string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, v)
}

const (
	jsonType = "application/json"
	sseType  = "text/event-stream"
)
