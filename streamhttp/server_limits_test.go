package streamhttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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

// TestStuckReader proves that a client that asks and does not read holds its
// handler for a bounded time.
func TestStuckReader(t *testing.T) {
	t.Parallel()
	big := jsontext.Value(`{"a":"` + strings.Repeat("x", 8<<10) + `"}`)
	ended := make(chan error, 1)
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"pour": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			for {
				if err := p.Notify(ctx, &rpc.Request{Method: "n", Params: big}); err != nil {
					ended <- err
					return nil, err
				}
			}
		},
	}}, &streamhttp.Options{Limits: streamhttp.Limits{WriteTime: 100 * time.Millisecond}})
	s.open(http.MethodPost, modernBody("pour"), modernHeaders("pour")...)
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the handler is held")
	}
}

func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{Limits: streamhttp.Limits{BodyTime: 50 * time.Millisecond}})
	for host, want := range map[string]string{"localhost": "408", "evil.example": "403"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", host)
		b, _ := io.ReadAll(c) // the server closes the connection
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("got %q", b)
		}
	}
}

func TestBodySizes(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{Limits: streamhttp.Limits{BodyBytes: 1 << 20}})
	pad := func(n int) io.Reader {
		body := modernBody("echo")
		return strings.NewReader(body + strings.Repeat(" ", n-len(body)))
	}
	for _, n := range []int{511, 512, 513, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 1<<20 + 1} {
		for _, chunked := range []bool{false, true} {
			r := s.request(t.Context(), http.MethodPost, "", modernHeaders("echo")...)
			r.Body, r.ContentLength = io.NopCloser(pad(n)), int64(n)
			if chunked {
				r.ContentLength = -1
			}
			res, err := s.client.Do(r)
			if err != nil {
				t.Fatalf("%d bytes, chunked %v: %v", n, chunked, err)
			}
			res.Body.Close()
			if want := map[bool]int{true: 200, false: 413}[n <= 1<<20]; res.StatusCode != want {
				t.Errorf("%d bytes, chunked %v: %d", n, chunked, res.StatusCode)
			}
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{Limits: streamhttp.Limits{Streams: 1}})
	id := s.initialize("2025-11-25")
	st := s.open(http.MethodGet, "", "Mcp-Session-Id", id)
	if r := s.do(http.MethodGet, "", "Mcp-Session-Id", id); r.status != 503 {
		t.Errorf("GET: %d", r.status)
	}
	if r := s.do(http.MethodPost, modernBody("subscriptions/listen"), modernHeaders("subscriptions/listen")...); r.status != 503 || string(r.json(t).ID) != "7" {
		t.Errorf("listen: %d %s", r.status, r.body)
	}
	if r := s.do(http.MethodGet, ""); r.status != 503 {
		t.Errorf("HTTP+SSE: %d", r.status)
	}
	st.close()
}

func TestTooManyStreamsOfASessionEndTheOldest(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{Limits: streamhttp.Limits{SessionStreams: 2}})
	id := s.initialize("2025-11-25")
	var open []*events
	for range 3 {
		open = append(open, s.open(http.MethodGet, "", "Mcp-Session-Id", id))
	}
	for _, st := range open {
		if e, ok := st.next(); !ok || e.id == "" {
			t.Errorf("no priming event: %+v", e)
		}
	}
	if _, ok := open[0].next(); ok {
		t.Error("the oldest goes on")
	}
}

func TestRequestsOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"wait": func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			close(begun)
			<-release
			return nil, nil
		},
	}}, &streamhttp.Options{Limits: streamhttp.Limits{SessionRequests: 1}})
	id := s.initialize("2025-06-18")
	var first sync.WaitGroup
	first.Go(func() { s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"wait"}`, "Mcp-Session-Id", id) })
	<-begun
	if r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"echo"}`, "Mcp-Session-Id", id); r.status != 429 {
		t.Errorf("got %d", r.status)
	}
	close(release)
	first.Wait()
}

// TestKeepAlive counts comments of one minute on every kind of stream.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startPipe(t, &backend{on: map[string]rpc.HandlerFunc{
			mcp.MethodListen: func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
				p.Notify(ctx, &rpc.Request{Method: "ack"})
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}}, nil)
		streams := []*events{
			s.open(http.MethodGet, "", "Mcp-Session-Id", s.initialize("2025-11-25")),
			s.open(http.MethodGet, ""),
			s.open(http.MethodPost, modernBody(mcp.MethodListen), modernHeaders(mcp.MethodListen)...),
		}
		counts := make([]int, len(streams))
		var reading sync.WaitGroup
		for i, st := range streams {
			reading.Go(func() {
				for e, ok := st.next(); ok; e, ok = st.next() {
					if e.comment != "" {
						counts[i]++
					}
				}
			})
		}
		sleep(time.Minute + time.Second)
		for _, st := range streams {
			st.close()
		}
		reading.Wait()
		for i, n := range counts {
			if n != 3 && n != 4 {
				t.Errorf("stream %d: %d comments in a minute", i, n)
			}
		}
	})
}

// TestFlood has many clients come and go while the server talks to all of them.
func TestFlood(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	conns := map[rpc.Conn]bool{}
	s := startSite(t, &backend{
		bind: func(ctx context.Context, c rpc.Conn) {
			mu.Lock()
			defer mu.Unlock()
			conns[c] = true
		},
		on: map[string]rpc.HandlerFunc{
			"late": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
				go func() { // a leftover that races with the response
					for range 3 {
						p.Notify(context.WithoutCancel(ctx), &rpc.Request{Method: "n"})
					}
				}()
				return nil, nil
			},
		},
	}, nil)
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			mu.Lock()
			for c := range conns {
				c.Notify(t.Context(), &rpc.Request{Method: "broadcast"})
			}
			mu.Unlock()
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	var clients sync.WaitGroup
	for i := range 30 {
		clients.Go(func() {
			id := s.initialize([]string{"2025-03-26", "2025-06-18", "2025-11-25"}[i%3])
			for n := range 5 {
				st := s.open(http.MethodGet, "", "Mcp-Session-Id", id)
				for range rand.IntN(4) {
					st.next()
				}
				r := s.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"late"}`, n), "Mcp-Session-Id", id)
				if !strings.Contains(r.body, `"result"`) {
					t.Errorf("late: %d %s", r.status, r.body)
				}
				st.close()
			}
			s.do(http.MethodDelete, "", "Mcp-Session-Id", id)
		})
	}
	clients.Wait()
	close(stop)
	work.Wait()
}

func TestPanicIsContained(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"boom": func(context.Context, *rpc.Request, rpc.Peer) (any, error) { panic("secret") },
	}}, nil)
	id := s.initialize("2025-11-25")
	for _, r := range []answered{
		s.do(http.MethodPost, modernBody("boom"), modernHeaders("boom")...),
		s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"boom"}`, "Mcp-Session-Id", id),
	} {
		if r.status != 200 || r.json(t).code() != -32603 || strings.Contains(r.body, "secret") {
			t.Errorf("got %d %s", r.status, r.body)
		}
	}
}

func TestResultThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"bad": func(context.Context, *rpc.Request, rpc.Peer) (any, error) { return make(chan int), nil },
	}}, nil)
	r := s.do(http.MethodPost, modernBody("bad"), modernHeaders("bad")...)
	if r.status != 200 || r.json(t).code() != -32603 {
		t.Errorf("got %d %s", r.status, r.body)
	}
	st := s.open(http.MethodGet, "") // HTTP+SSE
	e, _ := st.next()
	at := *s
	at.url += e.data
	at.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"bad"}`)
	if e, _ := st.next(); !strings.Contains(e.data, "-32603") {
		t.Errorf("got %+v", e)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{
		AllowedOrigins: []string{"https://app.example"},
		CORS:           &streamhttp.CORS{Headers: []string{"X-Own"}},
	})
	r := s.do(http.MethodOptions, "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "mcp-param-region, x-evil, content-type")
	h := r.header
	if r.status != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example" || h.Get("Access-Control-Max-Age") != "600" {
		t.Errorf("preflight: %d %v", r.status, h)
	}
	for _, want := range []string{"mcp-param-region", "X-Own", "Mcp-Session-Id", "Content-Type", "Mcp-Method"} {
		if !strings.Contains(h.Get("Access-Control-Allow-Headers"), want) {
			t.Errorf("headers %q lack %s", h.Get("Access-Control-Allow-Headers"), want)
		}
	}
	if strings.Contains(h.Get("Access-Control-Allow-Headers"), "x-evil") {
		t.Error("any header is allowed")
	}
	r = s.do(http.MethodPost, modernBody("echo"), modernHeaders("echo", "Origin", "https://app.example")...)
	if r.status != 200 || !strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") || r.header.Get("Vary") != "Origin" {
		t.Errorf("answer: %d %v", r.status, r.header)
	}
	if r := s.do(http.MethodOptions, "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"); r.status != 403 {
		t.Errorf("foreign origin: %d", r.status)
	}
}

func TestHostLists(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{AllowedHosts: []string{"a.example", "b.example:1234"}})
	for host, want := range map[string]int{
		"a.example": 200, "A.example:99": 200, "b.example:1234": 200, "b.example": 403, "localhost": 200, "c.example": 403,
	} {
		if r := s.do(http.MethodPost, modernBody("echo"), modernHeaders("echo", "Host", host)...); r.status != want {
			t.Errorf("%s: %d, want %d", host, r.status, want)
		}
	}
	open := startSite(t, &backend{}, &streamhttp.Options{InsecureSkipHostAndOriginChecks: true})
	if r := open.do(http.MethodPost, modernBody("echo"), modernHeaders("echo", "Host", "x.example", "Origin", "null")...); r.status != 200 {
		t.Errorf("without checks: %d", r.status)
	}
}

func TestPublicListener(t *testing.T) {
	t.Parallel()
	h := streamhttp.NewHandler(&backend{}, nil)
	defer h.Close()
	for origin, want := range map[string]int{
		"": 200, "https://mcp.example": 200, "https://mcp.example:443": 200, "https://mcp.example:444": 403, "null": 403,
		"https://evil.example": 403, "http://localhost": 403, "file://": 403,
	} {
		r := httptest.NewRequest(http.MethodPost, "https://mcp.example/", strings.NewReader(modernBody("echo")))
		setHeaders(r, modernHeaders("echo", "Content-Type", "application/json"))
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", origin, w.Code, want)
		}
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	h := streamhttp.NewHandler(&backend{on: map[string]rpc.HandlerFunc{
		"poll": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			p.Notify(ctx, &rpc.Request{Method: "n"})
			return nil, p.(interface{ ClosePoll(time.Duration) error }).ClosePoll(time.Millisecond)
		},
		"stream": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			return nil, p.Notify(ctx, &rpc.Request{Method: "n"})
		},
	}}, nil)
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(func() {
		h.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	s := &site{t: t, h: h, url: srv.URL, client: srv.Client()}
	st := s.open(http.MethodPost, modernBody("stream"), modernHeaders("stream")...)
	if st.res.ProtoMajor != 2 {
		t.Fatalf("HTTP/%d", st.res.ProtoMajor)
	}
	if m := st.message(); m.Method != "n" {
		t.Errorf("got %+v", m)
	}
	if m := st.message(); string(m.ID) != "7" {
		t.Errorf("got %+v", m)
	}
	id := s.initialize("2025-11-25")
	p := s.open(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"poll"}`, "Mcp-Session-Id", id)
	var last sse
	for e, ok := p.next(); ok; e, ok = p.next() {
		last = e
	}
	again := s.open(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-Id", last.id)
	if m := again.message(); string(m.ID) != "1" {
		t.Errorf("got %+v", m)
	}
}

// TestCompressingMiddleware wraps the writer so that only Unwrap leads to Flush.
func TestCompressingMiddleware(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	h := streamhttp.NewHandler(&backend{on: map[string]rpc.HandlerFunc{
		"stream": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			err := p.Notify(ctx, &rpc.Request{Method: "n"})
			<-proceed
			return nil, err
		},
	}}, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z := &gzipWriter{ResponseWriter: w, z: gzip.NewWriter(w)}
		w.Header().Set("Content-Encoding", "gzip")
		h.ServeHTTP(z, r)
		z.z.Close()
	}))
	t.Cleanup(func() {
		h.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	s := &site{t: t, h: h, url: srv.URL, client: srv.Client()}
	st := s.open(http.MethodPost, modernBody("stream"), modernHeaders("stream")...)
	if m := st.message(); m.Method != "n" { // before the handler returns
		t.Errorf("got %+v", m)
	}
	close(proceed)
	st.message()
}

type gzipWriter struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (g *gzipWriter) Write(b []byte) (int, error) { return g.z.Write(b) }

func (g *gzipWriter) FlushError() error {
	if err := g.z.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(g.ResponseWriter).Flush()
}
func (g *gzipWriter) Unwrap() http.ResponseWriter { return g.ResponseWriter }

func TestOnlyOneKindAccepted(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"note": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			return nil, p.Notify(ctx, &rpc.Request{Method: "n"})
		},
	}}, nil)
	r := s.do(http.MethodPost, modernBody("note"), modernHeaders("note", "Accept", "application/json")...)
	if r.header.Get("Content-Type") != "application/json" || string(r.json(t).ID) != "7" {
		t.Errorf("JSON: %v %s", r.header, r.body)
	}
	r = s.do(http.MethodPost, modernBody("echo"), modernHeaders("echo", "Accept", "text/event-stream")...)
	if r.header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(r.body, "data: {") {
		t.Errorf("SSE: %v %s", r.header, r.body)
	}
}

// FuzzNameHeader checks that a header passes if and only if it stands for the
// name in the body.
func FuzzNameHeader(f *testing.F) {
	for _, s := range []string{"x", " x\t", "=?base64?eA==?=", "=?base64?eA?=", "=?BASE64?eA==?=", "é", "", "a b", "=?base64??="} {
		f.Add("x", s)
		f.Add(s, mcp.EncodeHeaderValue(s))
	}
	h := streamhttp.NewHandler(&backend{on: map[string]rpc.HandlerFunc{
		"tools/call": func(context.Context, *rpc.Request, rpc.Peer) (any, error) { return nil, nil },
	}}, nil)
	f.Cleanup(func() { h.Close() })
	f.Fuzz(func(t *testing.T, name, header string) {
		quoted, err := jsontext.AppendQuote(nil, name)
		if err != nil {
			return
		}
		body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":` + string(quoted) + `,` + meta + `}}`
		r := httptest.NewRequest(http.MethodPost, "http://x/", strings.NewReader(body))
		setHeaders(r, modernHeaders("tools/call", "Content-Type", "application/json"))
		r.Header["Mcp-Name"] = []string{header}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got, err := mcp.DecodeHeaderValue(header)
		if want := err == nil && got == name; (w.Code == 200) != want || !want && w.Code != 400 {
			t.Errorf("name %q, header %q: %d", name, header, w.Code)
		}
	})
}

// brokenStore keeps nothing.
type brokenStore struct{ streamhttp.EventStore }

func (brokenStore) Append(context.Context, string, uint64, []byte) (uint64, error) {
	return 0, errors.New("disk full")
}
func (brokenStore) Drop(context.Context, string) error { return errors.New("disk full") }

func TestBrokenStoreCostsOnlyResuming(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"note": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			return nil, p.Notify(ctx, &rpc.Request{Method: "n"})
		},
	}}, &streamhttp.Options{Events: brokenStore{}})
	id := s.initialize("2025-11-25")
	r := s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"note"}`, "Mcp-Session-Id", id)
	if !strings.Contains(r.body, `"method":"n"`) || !strings.Contains(r.body, `"id":1,"result"`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
	s.do(http.MethodDelete, "", "Mcp-Session-Id", id)
}

func BenchmarkModernCall(b *testing.B) {
	h := streamhttp.NewHandler(&backend{}, nil)
	defer h.Close()
	body := modernBody("echo")
	w := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		r := &http.Request{
			Method: http.MethodPost, Host: "x", Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
			Header: http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"echo"},
			},
		}
		h.ServeHTTP(w, r)
	}
	if w.status != http.StatusOK {
		b.Fatal(w.status)
	}
}
