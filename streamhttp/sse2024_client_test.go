package streamhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// old is a server of HTTP+SSE for one client at a time.
type old struct {
	endpoint string
	events   chan string
	reply    func(p post) string // the event that answers, if any
	post     func(w http.ResponseWriter)
	urls     sync.Map
}

func newOld() *old { return &old{endpoint: "messages?sid=1", events: make(chan string, 10)} }

func (s *old) script(w http.ResponseWriter, r *http.Request, p post) {
	if p.HTTP == "POST" {
		s.urls.Store(r.URL.String(), true)
		if s.post != nil {
			s.post(w)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Accepted")
		if s.reply != nil {
			s.events <- s.reply(p)
		} else if p.req != nil && !p.req.ID.IsZero() {
			s.events <- "event: message\ndata: " + result(p.req.ID, `{"a":1}`) + "\n\n"
		}
		return
	}
	w.Header().Set("Content-Type", sseType)
	_, _ = io.WriteString(w, "event: endpoint\ndata: "+s.endpoint+"\n\n")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fake) dialSSE(t *testing.T, path string, h rpc.Handler, change ...func(*streamhttp.SSEDialer)) (rpc.Conn, error) {
	t.Helper()
	d := &streamhttp.SSEDialer{URL: strings.TrimSuffix(f.URL, "/mcp") + path, Client: f.client}
	for _, c := range change {
		c(d)
	}
	if h == nil {
		h = new(heard)
	}
	c, err := d.Dial(t.Context(), h)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func TestSSEConversation(t *testing.T) {
	t.Parallel()
	s := newOld()
	answered := make(chan post, 1)
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		s.script(w, r, p)
		if p.res != nil {
			answered <- p
		}
	})
	h := &heard{answer: func(_ context.Context, req *rpc.Request) (any, error) {
		if req.Method == "bad" {
			return make(chan int), nil
		}
		return map[string]any{"roots": []any{}}, nil
	}}
	c, err := f.dialSSE(t, "/sse", h, func(d *streamhttp.SSEDialer) { d.Header = http.Header{"Authorization": {"Bearer x"}} })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := call(t.Context(), c, "", "initialize", "{}"); err != nil || got != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
	if err := c.Notify(t.Context(), request("", "notifications/initialized", "")); err != nil {
		t.Error(err)
	}
	s.events <- ": comment\n\nevent: ping\ndata: {}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\n"
	if p := <-answered; p.Body != `{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}` {
		t.Errorf("answer %s", p.Body)
	}
	s.events <- "data: {\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"bad\"}\n\n"
	if p := <-answered; p.Body != `{"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"internal error"}}` {
		t.Errorf("answer %s", p.Body)
	}
	for _, p := range f.all() {
		want := "application/json, text/event-stream"
		if p.HTTP == "GET" {
			want = sseType
		}
		if p.Header.Get("Authorization") != "Bearer x" || p.Header.Get("Accept") != want {
			t.Errorf("%s with %v", p.HTTP, p.Header)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	n := len(f.all())
	if _, err := call(t.Context(), c, "", "x", ""); !errors.Is(err, rpc.ErrClosed) || len(f.all()) != n {
		t.Errorf("after Close: %v", err)
	}
}

func TestSSEEndpoint(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"messages?sid=1": "/gw/v1/messages?sid=1", "./m?sid=1": "/gw/v1/m?sid=1", "/messages?sid=1": "/messages?sid=1",
		"?sid=1": "/gw/v1/sse?sid=1", "SELF/gw/v1/m?sid=1": "/gw/v1/m?sid=1", "//HOST/m": "/m", "m%2Fx?a=%20b#frag": "/gw/v1/m%2Fx?a=%20b",
		"//other.test/m": "", "http://other.test/m": "", "https://HOST/m": "", "//HOST:1/m": "", "javascript:x": "", "http://[bad": "", "\x01": "",
		"http://user@HOST.evil.test/": "",
	} {
		s := newOld()
		f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
			if p.HTTP == "GET" {
				s.endpoint = strings.NewReplacer("SELF", "http://"+r.Host, "HOST", r.Host).Replace(ref)
			}
			s.script(w, r, p)
		})
		c, err := f.dialSSE(t, "/gw/v1/sse?key=1", nil)
		if want == "" {
			if err == nil || errors.Is(err, streamhttp.ErrNotSSE) || !strings.Contains(err.Error(), "endpoint") {
				t.Errorf("%q: %v", ref, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", ref, err)
			continue
		}
		if err := c.Notify(t.Context(), request("", "n", "")); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
		if _, ok := s.urls.Load(want); !ok {
			var got []any
			s.urls.Range(func(u, _ any) bool { got = append(got, u); return true })
			t.Errorf("%q: posted to %v, want %s", ref, got, want)
		}
		_ = c.Close()
	}
}

func TestSSEDialFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script func(w http.ResponseWriter, r *http.Request)
		is     error
		text   string
	}{
		"405":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, streamhttp.ErrNotSSE, "405"},
		"401":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, nil, "401"},
		"html":        {func(w http.ResponseWriter, _ *http.Request) { reply(w, "text/html", "hi") }, streamhttp.ErrNotSSE, "text/html"},
		"other event": {func(w http.ResponseWriter, _ *http.Request) { reply(w, sseType, "data: {}\n\n") }, streamhttp.ErrNotSSE, "first event"},
		"empty":       {func(w http.ResponseWriter, _ *http.Request) { reply(w, sseType, "") }, streamhttp.ErrNotSSE, "ended"},
		"another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.test/x", http.StatusFound)
		}, nil, "other.test"},
		"silent": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", sseType)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, context.DeadlineExceeded, "30s"},
		"mute": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, context.DeadlineExceeded, "30s"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := memory(t, func(w http.ResponseWriter, r *http.Request, _ post) { tt.script(w, r) })
				_, err := f.dialSSE(t, "/sse", nil)
				if name == "401" && errors.Is(err, streamhttp.ErrNotSSE) {
					t.Error("401 is about authorization")
				}
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%v", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				d := &streamhttp.SSEDialer{URL: f.URL, Client: f.client}
				if _, err := d.Dial(ctx, new(heard)); name == "mute" && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("with a context of 1 s: %v", err)
				}
			})
		})
	}
}

// The context of Dial is for dialing only.
func TestSSEOutlivesTheDialContext(t *testing.T) {
	t.Parallel()
	s := newOld()
	f := serve(t, s.script)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := (&streamhttp.SSEDialer{URL: f.URL, Client: f.client}).Dial(ctx, new(heard))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := call(t.Context(), c, "", "x", ""); err != nil {
		t.Error(err)
	}
	_ = c.Close()
}

func TestSSEFailures(t *testing.T) {
	t.Parallel()
	s := newOld()
	f := serve(t, s.script)
	c, err := f.dialSSE(t, "/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.post = func(w http.ResponseWriter) { http.Error(w, "no such session", 404) }
	_, err = call(t.Context(), c, "", "x", "")
	if e, ok := errors.AsType[*streamhttp.StatusError](err); !ok || e.Code != 404 {
		t.Errorf("%v", err)
	}
	s.post = func(w http.ResponseWriter) { w.WriteHeader(202); close(s.events) }
	if _, err = call(t.Context(), c, "", "x", ""); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("when the stream ends: %v", err)
	}
}

func TestSSETap(t *testing.T) {
	t.Parallel()
	s := newOld()
	f := serve(t, s.script)
	var mu sync.Mutex
	var seen []string
	c, err := f.dialSSE(t, "/sse", nil, func(d *streamhttp.SSEDialer) {
		d.Tap = func(_ context.Context, _ rpc.Direction, m rpc.Message) {
			b, _ := rpc.AppendMessage(nil, m)
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(b))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), c, "", "x", ""); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if d := cmp.Diff([]string{`{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`}, seen); d != "" {
		t.Error(d)
	}
}
