package streamhttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`
	tests := []struct {
		name, kind string
		status     int
		body       string // ID stands for the request's ID
		want       string
		notes      int
		wantErr    string
		is         error
	}{
		{name: "json", kind: jsonType, body: `{"jsonrpc":"2.0","id":ID,"result":{"a":1}}`, want: `{"a":1}`},
		{name: "json with charset", kind: "Application/JSON; charset=utf-8", body: `{"jsonrpc":"2.0","id":ID,"result":{}}`, want: `{}`},
		{name: "json error", kind: jsonType, body: `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}`, wantErr: "no (-32602)", is: &rpc.Error{Code: -32602}},
		{name: "error without id", kind: jsonType, body: `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, is: &rpc.Error{Code: -32700}},
		{name: "error with null id", kind: jsonType, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, is: &rpc.Error{Code: -32700}},
		{name: "sse", kind: sseType, body: "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n", want: `{}`},
		{name: "sse crlf", kind: sseType, body: "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\r\n\r\n", want: `{}`},
		{name: "sse cr", kind: sseType, body: "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\r\r", want: `{}`},
		{name: "sse several lines", kind: sseType, body: "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\ndata: \"result\":{}}\n\n", want: `{}`},
		{name: "sse comments, pings, priming", kind: sseType, body: ": hi\n\nevent: ping\ndata: {}\n\nid: 1\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n", want: `{}`},
		{name: "sse notifications first", kind: sseType, body: "data: " + note + "\n\ndata: " + note + "\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n", want: `{}`, notes: 2},
		{name: "sse nothing after the response", kind: sseType, body: "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\ndata: " + note + "\n\n", want: `{}`},
		{name: "sse response to another first", kind: sseType, body: "data: {\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"mine\":1}}\n\n", want: `{"mine":1}`},
		{name: "sse the same digits as a string", kind: sseType, body: "data: {\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{}}\n\n", is: streamhttp.ErrOutcomeUnknown},
		{name: "sse nonsense before", kind: sseType, body: "data: nonsense\n\ndata: 7\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n", want: `{}`},
		{name: "sse broken response", kind: sseType, body: "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{},\"error\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n", wantErr: "cannot be read"},
		{name: "sse ends early", kind: sseType, body: "data: " + note + "\n\n", notes: 1, is: streamhttp.ErrOutcomeUnknown},
		{name: "sse ends inside", kind: sseType, body: "data: {\"jsonrpc\"", is: streamhttp.ErrOutcomeUnknown},
		{name: "sse ends, why", kind: sseType, body: "data: nonsense\n\n", wantErr: "could not be read", is: streamhttp.ErrOutcomeUnknown},
		{name: "array", kind: jsonType, body: `[]`, wantErr: "is not a JSON-RPC message"},
		{name: "array with response", kind: jsonType, body: `[{"jsonrpc":"2.0","id":ID,"result":{}}]`, wantErr: "is not a JSON-RPC message", is: rpc.ErrBatch},
		{name: "string", kind: jsonType, body: `"x"`, wantErr: "is not a JSON-RPC message"},
		{name: "empty", kind: jsonType, body: ``, wantErr: "is not a JSON-RPC message"},
		{name: "another id", kind: jsonType, body: `{"jsonrpc":"2.0","id":"other","result":{}}`, wantErr: "no response to request"},
		{name: "a request", kind: jsonType, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, wantErr: "no response to request"},
		{name: "web site", kind: "text/html", body: "<html>\x1b[31m</html>", wantErr: `status 200 and content type "text/html": is this the URL of an MCP server? It says: "<html>\x1b[31m</html>"`},
		{name: "no type", kind: "", body: "hello", wantErr: "no content type"},
		{name: "accepted", status: 202, wantErr: "gave no response"},
		{name: "no content", status: 204, wantErr: "gave no response"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
				if tt.status != 0 {
					w.WriteHeader(tt.status)
					return
				}
				reply(w, tt.kind, strings.ReplaceAll(tt.body, "ID", p.req.ID.String()))
			})
			h := new(heard)
			got, err := call(t.Context(), f.dial(t, h), modern, "tools/call", `{"name":"t"}`)
			if tt.want != got {
				t.Errorf("result %s, want %s", got, tt.want)
			}
			if (tt.wantErr == "" && tt.is == nil) != (err == nil) {
				t.Errorf("error %v", err)
			}
			if tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error %v, want %s", err, tt.wantErr)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is not %v", err, tt.is)
			}
			if got := len(h.all()); got != tt.notes {
				t.Errorf("%d notifications, want %d", got, tt.notes)
			}
			if n := len(f.seen("GET")); n != 0 {
				t.Errorf("%d GETs", n)
			}
		})
	}
}

func TestBatchWhereAllowed(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
		reply(w, jsonType, `[{"jsonrpc":"2.0","method":"notifications/message"},`+result(p.req.ID, `{"a":1}`)+`]`)
	})
	c := f.dial(t, nil)
	c.AllowBatch(true)
	if got, err := call(t.Context(), c, "", "tools/list", ""); err != nil || got != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestModernHeaders(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
		w.Header().Set("Mcp-Session-Id", "nobody-wants-it")
		reply(w, jsonType, result(p.req.ID, `{}`))
	})
	c := f.dial(t, nil, func(d *streamhttp.Dialer) {
		d.Header = http.Header{"authorization": {"Bearer x"}, "Accept": {"text/html"}, "Mcp-Method": {"wrong"}}
	})
	tests := []struct{ method, params, name string }{
		{"tools/call", `{"name":"get_weather"}`, "get_weather"},
		{"tools/call", `{"name":"ünder wegs"}`, "=?base64?w7xuZGVyIHdlZ3M=?="},
		{"tools/call", `{"n\u0061me":"a"}`, "a"},
		{"resources/read", `{"uri":"file:///a b"}`, "file:///a b"},
		{"prompts/get", `{"name":" x"}`, "=?base64?IHg=?="},
		{"tools/list", `{"name":"no"}`, ""},
		{"tools/call", `{"name":7}`, ""},
		{"own/method", ``, ""},
	}
	for _, tt := range tests {
		req := request(modern, tt.method, tt.params)
		req.Header.Set("Mcp-Param-Region", "eu")
		if err := c.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		h := f.last().Header
		for name, want := range map[string]string{
			"Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Authorization": "Bearer x",
			"Mcp-Protocol-Version": modern, "Mcp-Method": tt.method, "Mcp-Name": tt.name, "Mcp-Param-Region": "eu", "Mcp-Session-Id": "",
		} {
			if got := h.Get(name); got != want || len(h.Values(name)) > 1 {
				t.Errorf("%s %s: %s is %q, want %q", tt.method, tt.params, name, h.Values(name), want)
			}
		}
	}
	if err := c.Notify(t.Context(), request(modern, "notifications/cancelled", `{"requestId":1}`)); err != nil {
		t.Error(err)
	}
	if got := f.seen("notifications/cancelled"); len(got) != 0 {
		t.Error("notifications/cancelled was sent")
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) { reply(w, jsonType, result(p.req.ID, `{}`)) })
	c := f.dial(t, nil)
	a, b, own := request(modern, "a", ""), request(modern, "b", ""), request(modern, "c", "")
	own.ID = rpc.StringID("mine")
	for _, req := range []*rpc.Request{a, b, own} {
		if err := c.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if a.ID.IsZero() || a.ID == b.ID {
		t.Errorf("IDs %s, %s", a.ID, b.ID)
	}
	if got := f.seen("c")[0].req.ID; got != rpc.StringID("mine") {
		t.Errorf("sent with ID %s", got)
	}
}

func TestNotificationIsAccepted(t *testing.T) {
	t.Parallel()
	var conns sync.Map
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(202) },
		func(w http.ResponseWriter) { w.WriteHeader(204) },
		func(w http.ResponseWriter) { reply(w, jsonType, "") },
		func(w http.ResponseWriter) { reply(w, jsonType, "null") },
		func(w http.ResponseWriter) { reply(w, jsonType, "{}") },
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(202)
			_, _ = w.Write([]byte("Accepted"))
		},
	}
	i := 0
	f := serve(t, func(w http.ResponseWriter, r *http.Request, _ post) {
		conns.Store(r.RemoteAddr, true)
		answers[i](w)
	})
	c := f.dial(t, nil)
	for i = range answers {
		if err := c.Notify(t.Context(), request(modern, "notifications/x", "")); err != nil {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	n := 0
	conns.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d connections, want 1: bodies must be drained", n)
	}
}

func TestStreamsReuseTheirConnection(t *testing.T) {
	t.Parallel()
	var conns sync.Map
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		conns.Store(r.RemoteAddr, true)
		reply(w, sseType, "data: "+result(p.req.ID, `{}`)+"\n\n")
	})
	c := f.dial(t, nil)
	for range 10 {
		if _, err := call(t.Context(), c, modern, "tools/list", ""); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	conns.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestStatusError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, kind, body string
		code             int
		text             string
		wire             int
		fallback         bool
	}{
		{"plain", "text/plain", "go\x1b away\n", 400, `streamhttp: POST answered with status 400 Bad Request: "go\x1b away"`, 0, true},
		{"modern error", jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"v"}}`, 400, "(-32022)", -32022, false},
		{"unknown method", jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"v"}}`, 404, "(-32601)", -32601, false},
		{"legacy error", jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"v"}}`, 400, "(-32000)", -32000, true},
		{"error though not said to be JSON", "text/plain", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"v"}}`, 405, "(-32000)", -32000, true},
		{"no such page", "text/html", "<p>", 404, "404", 0, true},
		{"authorization", "", "", 401, "401", 0, false},
		{"broken", "", "", 503, "503", 0, false},
		{"long", "text/plain", strings.Repeat("x", 100_000), 500, "xxx\"…", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, _ *http.Request, _ post) {
				w.Header().Set("Content-Type", tt.kind)
				w.Header().Set("Www-Authenticate", "Bearer")
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := call(t.Context(), f.dial(t, nil), modern, "tools/list", "")
			e, ok := errors.AsType[*streamhttp.StatusError](err)
			if !ok {
				t.Fatalf("%T %v", err, err)
			}
			if e.Code != tt.code || e.HTTPStatus() != tt.code || e.Header.Get("Www-Authenticate") != "Bearer" {
				t.Errorf("%+v", e)
			}
			if !strings.Contains(e.Error(), tt.text) || len(e.Error()) > 1000 || len(e.Body) > 16<<10 {
				t.Errorf("text of %d bytes: %s", len(e.Error()), e)
			}
			if wire, ok := errors.AsType[*rpc.Error](err); ok != (tt.wire != 0) || ok && wire.Code != tt.wire {
				t.Errorf("wire error %v", wire)
			}
			if got := streamhttp.FallbackToSSE(err); got != tt.fallback {
				t.Errorf("FallbackToSSE is %t", got)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) { reply(w, jsonType, result(p.req.ID, `{}`)) })
	big := `{"text":"` + strings.Repeat("x", 2<<20) + `"}`
	tests := []struct {
		name, target string
		code, hops   int
		wantErr      string
	}{
		{"307", "/mcp/", 307, 1, ""},
		{"308 absolute", "SELF/mcp/", 308, 1, ""},
		{"three", "/mcp/", 307, 3, ""},
		{"loop", "/mcp/", 307, 1000, "more than 3 redirects"},
		{"301", "/mcp/", 301, 1, "POST would become a GET"},
		{"302", "/mcp/", 302, 1, "POST would become a GET"},
		{"303", "/mcp/", 303, 1, "POST would become a GET"},
		{"another host", other.URL, 307, 1, "endpoint moved to \"" + other.URL + `" (status 307)`},
		{"another host by GET", other.URL, 302, 1, "endpoint moved to \"" + other.URL},
		{"another scheme", "https://HOST/mcp", 301, 1, `endpoint moved to "https://HOST/mcp"`},
		{"secrets stay out", "https://user:pw@h.test/%07?token=s3cret", 307, 1, "h.test/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f *fake
			var host string
			hops := 0
			f = serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
				if hops++; hops <= tt.hops {
					host = r.Host
					target := strings.NewReplacer("SELF", "http://"+r.Host, "HOST", r.Host).Replace(tt.target)
					w.Header().Set("Location", target)
					w.WriteHeader(tt.code)
					return
				}
				reply(w, sseType, "data: "+result(p.req.ID, `{}`)+"\n\n")
			})
			c := f.dial(t, nil, func(d *streamhttp.Dialer) { d.Header = http.Header{"Authorization": {"Bearer x"}} })
			_, err := call(t.Context(), c, modern, "tools/call", big)
			if tt.wantErr == "" {
				last := f.last()
				if err != nil || last.HTTP != "POST" || last.Body != f.all()[0].Body || last.Header.Get("Authorization") != "Bearer x" || last.Header.Get("Mcp-Method") != "tools/call" {
					t.Errorf("%v, %s with %d bytes, %v", err, last.HTTP, len(last.Body), last.Header)
				}
				return
			}
			_, ok := errors.AsType[*streamhttp.RedirectError](err)
			want := strings.ReplaceAll(tt.wantErr, "HOST", host)
			if !ok || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "pw") {
				t.Errorf("error %v, want %s", err, want)
			}
			if errors.Is(err, streamhttp.ErrOutcomeUnknown) {
				t.Error("the server redirected, so it did not act")
			}
			if n := len(f.all()); n > min(tt.hops, 4) {
				t.Errorf("%d requests: what was refused was sent again", n)
			}
		})
	}
	if len(other.all()) != 0 {
		t.Errorf("the other origin got %d requests", len(other.all()))
	}
}

func TestUsersClientIsNotChanged(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/x", http.StatusTemporaryRedirect)
			return
		}
		reply(w, jsonType, result(p.req.ID, `{}`))
	})
	asked := 0
	f.client.CheckRedirect = func(*http.Request, []*http.Request) error { asked++; return errors.New("not me") }
	f.client.Timeout = time.Hour
	_, err := call(t.Context(), f.dial(t, nil), modern, "tools/list", "")
	if err == nil || !strings.Contains(err.Error(), "not me") || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	if f.client.Timeout != time.Hour || f.client.CheckRedirect(nil, nil) == nil {
		t.Error("the user's client was changed")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	small := func(d *streamhttp.Dialer) { d.Limits.MessageBytes = 1000 }
	long := `"` + strings.Repeat("x", 2000) + `"`
	tests := map[string]func(w http.ResponseWriter, p post){
		"json": func(w http.ResponseWriter, p post) { reply(w, jsonType, result(p.req.ID, long)) },
		"sse":  func(w http.ResponseWriter, p post) { reply(w, sseType, "data: "+result(p.req.ID, long)+"\n\n") },
		"gzip": func(w http.ResponseWriter, p post) {
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = io.WriteString(z, result(p.req.ID, `"`+strings.Repeat("x", 1<<20)+`"`))
			_ = z.Close()
			reply(w, jsonType, b.String())
		},
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) { script(w, p) })
			_, err := call(t.Context(), f.dial(t, nil, small), modern, "tools/list", "")
			if !errors.Is(err, rpc.ErrTooLarge) || !strings.Contains(err.Error(), "1000 bytes") {
				t.Errorf("%v", err)
			}
			if n := len(f.all()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
	for _, kind := range []string{jsonType, sseType} {
		for _, n := range []int{64 << 10, 1<<20 + 1, 15 << 20} {
			f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
				body := result(p.req.ID, `"`+strings.Repeat("x", n)+`"`)
				if kind == sseType {
					body = "data: " + body + "\n\n"
				}
				reply(w, kind, body)
			})
			if got, err := call(t.Context(), f.dial(t, nil), modern, "tools/list", ""); err != nil || len(got) != n+2 {
				t.Errorf("%s, %d bytes: %d, %v", kind, n, len(got), err)
			}
		}
	}
}

func TestCancelClosesTheStream(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{jsonType, sseType} {
		gone := make(chan struct{})
		begun := make(chan struct{})
		f := serve(t, func(w http.ResponseWriter, r *http.Request, _ post) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			close(begun)
			<-r.Context().Done()
			close(gone)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if _, err := call(ctx, f.dial(t, nil), modern, "tools/call", ""); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
		<-gone
	}
}

func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
		if p.Method == "half" {
			w.Header().Set("Content-Length", "1000")
			reply(w, jsonType, `{"jsonrpc"`)
		}
		panic(http.ErrAbortHandler)
	})
	c := f.dial(t, nil)
	for _, method := range []string{"none", "half"} {
		if _, err := call(t.Context(), c, modern, method, ""); !errors.Is(err, streamhttp.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", method, err)
		}
		if n := len(f.seen(method)); n != 1 {
			t.Errorf("%s was sent %d times", method, n)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	plain := f.URL
	f.URL = "http://" + l.Addr().String() + "/secret?key=s3cret"
	urls := []string{f.URL, "https://" + strings.TrimPrefix(plain, "http://")}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the handshake that fails
	s.StartTLS()
	defer s.Close()
	for _, f.URL = range append(urls, s.URL) {
		_, err = call(t.Context(), f.dial(t, nil), modern, "x", "")
		if err == nil || errors.Is(err, streamhttp.ErrOutcomeUnknown) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s never got the request: %v", f.URL, err)
		}
	}
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", jsonType, sseType} {
		begun := make(chan struct{})
		f := serve(t, func(w http.ResponseWriter, r *http.Request, _ post) {
			if kind != "" {
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(200)
				_ = http.NewResponseController(w).Flush()
			}
			close(begun)
			<-r.Context().Done()
		})
		c := f.dial(t, nil)
		go func() { <-begun; _ = c.Close() }()
		if _, err := call(t.Context(), c, modern, "tools/call", ""); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("%q: %v", kind, err)
		}
		if _, err := call(t.Context(), c, modern, "tools/call", ""); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := c.Notify(t.Context(), request(legacy, "notifications/x", "")); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if n := len(f.all()); n != 1 {
			t.Errorf("%d requests, want 1: without a session there is nothing to delete", n)
		}
	}
}

func TestClientTimeoutIsForTheHeader(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := serve(t, func(w http.ResponseWriter, r *http.Request, p post) {
		if p.Method == "slow" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", sseType)
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-release
		_, _ = io.WriteString(w, "data: "+result(p.req.ID, `{}`)+"\n\n")
	})
	const timeout = time.Second // a busy machine may take its time to begin
	f.client.Timeout = timeout
	c := f.dial(t, nil)
	if _, err := call(t.Context(), c, modern, "slow", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	time.AfterFunc(timeout+timeout/4, func() { close(release) })
	if _, err := call(t.Context(), c, modern, "stream", ""); err != nil {
		t.Errorf("stream: %v", err)
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"", "h.test", "ftp://h/", "file:///x", "javascript:x", "//h/mcp", "http://", "http:///path", "http://[bad", "http://h /", "http://h\r\n/", "https://h:bad/?k=s3cret"} {
		_, err := (&streamhttp.Dialer{URL: u}).Dial(t.Context(), new(heard))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", u, err)
		}
	}
}

// A connection without a client of the user closes what it opened: the leak
// check of the package watches.
func TestOwnClient(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) { reply(w, jsonType, result(p.req.ID, `{}`)) })
	c := f.dial(t, nil, func(d *streamhttp.Dialer) { d.Client = nil })
	if _, err := call(t.Context(), c, modern, "x", ""); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestTap(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, p post) {
		reply(w, sseType, "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\ndata: "+result(p.req.ID, `{}`)+"\n\n")
	})
	var seen []string
	c := f.dial(t, nil, func(d *streamhttp.Dialer) {
		d.Tap = func(_ context.Context, dir rpc.Direction, m rpc.Message) {
			b, _ := rpc.AppendMessage(nil, m)
			seen = append(seen, fmt.Sprintf("%d %s", dir, b))
		}
	})
	if _, err := call(t.Context(), c, modern, "x", ""); err != nil {
		t.Fatal(err)
	}
	want := []string{`1 {"jsonrpc":"2.0","id":1,"method":"x"}`, `0 {"jsonrpc":"2.0","method":"n"}`, `0 {"jsonrpc":"2.0","id":1,"result":{}}`}
	if d := cmp.Diff(want, seen); d != "" {
		t.Error(d)
	}
}
