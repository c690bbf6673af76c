package streamhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// backend is a server that knows a few methods: initialize as ever, and those in
// the table.
type backend struct {
	on   map[string]rpc.HandlerFunc
	bind func(context.Context, rpc.Conn)
}

func (f *backend) Bind(ctx context.Context, conn rpc.Conn) rpc.Handler {
	if f.bind != nil {
		f.bind(ctx, conn)
	}
	return rpc.HandlerFunc(func(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
		if h := f.on[req.Method]; h != nil {
			return h(ctx, req, peer)
		}
		switch req.Method {
		case mcp.MethodInitialize:
			return f.initialize(conn, req)
		case mcp.NotificationCancelled:
			var p mcp.CancelledParams
			if err := json.Unmarshal(req.Params, &p); err == nil {
				conn.Cancel(p.RequestID, context.Canceled)
			}
			return nil, nil
		case "echo", "tools/list":
			return jsontext.Value(`{"ok":true}`), nil
		}
		return nil, mcp.MethodNotFound(req.Method)
	})
}

func (f *backend) initialize(conn rpc.Conn, req *rpc.Request) (any, error) {
	var p mcp.InitializeParams
	if err := json.Unmarshal(req.Params, &p); err != nil {
		return nil, mcp.InvalidParams("params: %w", err)
	}
	v := mcp.Negotiate(p.ProtocolVersion)
	rev, _ := v.Revision()
	conn.AllowBatch(rev.Batch)
	return &mcp.InitializeResult{ProtocolVersion: v}, nil
}

// start serves b on loopback.
func startSite(t *testing.T, b rpc.Binder, opts *streamhttp.Options) *site {
	t.Helper()
	h := streamhttp.NewHandler(b, opts)
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return &site{t: t, h: h, url: srv.URL, client: srv.Client()}
}

type site struct {
	t      *testing.T
	h      *streamhttp.Handler
	url    string
	client *http.Client
}

// A answered is an HTTP response that was read to the end.
type answered struct {
	status int
	header http.Header
	body   string
}

func (r answered) json(t *testing.T) message {
	t.Helper()
	var w message
	if err := json.Unmarshal([]byte(r.body), &w); err != nil {
		t.Fatalf("body %q: %v", r.body, err)
	}
	return w
}

type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *rpc.Error     `json:"error"`
}

func (w message) code() int {
	if w.Error == nil {
		return 0
	}
	return w.Error.Code
}

func (s *site) request(ctx context.Context, method, body string, header ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	setHeaders(r, header)
	return r
}

// setHeaders sets pairs of name and value. An empty value removes, Host is
// special, and a name with "+" in front is added.
func setHeaders(r *http.Request, pairs []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := pairs[i], pairs[i+1]
		switch {
		case name == "Host":
			r.Host = value
		case name[0] == '+':
			r.Header.Add(name[1:], value)
		case name[0] == '-':
			r.Header.Del(name[1:])
		default:
			r.Header.Set(name, value)
		}
	}
}

func (s *site) do(method, body string, header ...string) answered {
	s.t.Helper()
	res, err := s.client.Do(s.request(s.t.Context(), method, body, header...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answered{res.StatusCode, res.Header, string(b)}
}

// open does a request whose answer is a stream.
func (s *site) open(method, body string, header ...string) *events {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	res, err := s.client.Do(s.request(ctx, method, body, header...))
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	st := &events{t: s.t, res: res, cancel: cancel, lines: bufio.NewReader(res.Body)}
	s.t.Cleanup(st.close)
	return st
}

type events struct {
	t      *testing.T
	res    *http.Response
	cancel context.CancelFunc
	lines  *bufio.Reader
	once   sync.Once
}

func (st *events) close() {
	st.once.Do(func() {
		st.cancel()
		st.res.Body.Close()
	})
}

// sse is one event as it came.
type sse struct{ event, id, retry, data, comment string }

// next returns the next event; ok is false at the end.
func (st *events) next() (e sse, ok bool) {
	st.t.Helper()
	begun := false
	for {
		line, err := st.lines.ReadString('\n')
		if err != nil {
			return e, false
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			if begun {
				return e, true
			}
			continue
		}
		begun = true
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			e.event = value
		case "id":
			e.id = value
		case "retry":
			e.retry = value
		case "data":
			e.data += value
		case "":
			e.comment = line
		}
	}
}

// message returns the next event with data.
func (st *events) message() message {
	st.t.Helper()
	for {
		e, ok := st.next()
		if !ok {
			st.t.Fatal("the stream ended")
		}
		if e.data == "" {
			continue
		}
		var w message
		if err := json.Unmarshal([]byte(e.data), &w); err != nil {
			st.t.Fatalf("event %+v: %v", e, err)
		}
		return w
	}
}

func (s *site) initialize(version string) (session string) {
	s.t.Helper()
	r := s.do(http.MethodPost, initBody(version))
	if r.status != http.StatusOK {
		s.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	return r.header.Get("Mcp-Session-Id")
}

func initBody(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version)
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modern does a modern request with the headers it needs.
func modernHeaders(method string, more ...string) []string {
	return append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}, more...)
}

func modernBody(method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, method, meta)
}

func waitFor(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("did not happen: " + what)
	}
}

func TestModernJSON(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, nil)
	r := s.do(http.MethodPost, modernBody("echo"), modernHeaders("echo", "Mcp-Session-Id", "whatever", "Last-Event-Id", "7")...)
	if r.status != 200 || r.body != `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}` {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if ct, n := r.header.Get("Content-Type"), r.header.Get("Content-Length"); ct != "application/json" || n != strconv.Itoa(len(r.body)) {
		t.Errorf("Content-Type %q, Content-Length %q", ct, n)
	}
	if r.header.Get("Mcp-Session-Id") != "" {
		t.Error("a session ID was given")
	}
}

func TestModernUpgradesWithTheFirstNotification(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"stream": func(ctx context.Context, req *rpc.Request, p rpc.Peer) (any, error) {
			for range 2 {
				if err := p.Notify(ctx, &rpc.Request{Method: "n", Params: jsontext.Value("{\n\"a\":1}")}); err != nil {
					return nil, err
				}
			}
			if err := p.Call(ctx, &rpc.Request{Method: "roots/list"}, nil); !errors.Is(err, rpc.ErrNoReverse) {
				t.Errorf("Call: %v", err)
			}
			return jsontext.Value(`{"end":true}`), nil
		},
	}}, nil)
	st := s.open(http.MethodPost, modernBody("stream"), modernHeaders("stream")...)
	if ct := st.res.Header.Get("Content-Type"); ct != "text/event-stream" || st.res.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("header %v", st.res.Header)
	}
	for i := range 2 {
		if e, _ := st.next(); e.data != `{"jsonrpc":"2.0","method":"n","params":{"a":1}}` || e.id != "" {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if m := st.message(); string(m.Result) != `{"end":true}` || string(m.ID) != "7" {
		t.Errorf("response %+v", m)
	}
	if e, ok := st.next(); ok {
		t.Errorf("after the response: %+v", e)
	}
}

func TestDisconnectCancelsModernAndNotLegacy(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "2025-11-25", "2025-06-18"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			begun, ended, release := make(chan struct{}), make(chan error, 1), make(chan struct{})
			s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
				"wait": func(ctx context.Context, req *rpc.Request, p rpc.Peer) (any, error) {
					close(begun)
					select {
					case <-ctx.Done():
					case <-release:
					}
					ended <- ctx.Err()
					return nil, ctx.Err()
				},
			}}, nil)
			body, header := modernBody("wait"), modernHeaders("wait")
			if era != "modern" {
				body, header = `{"jsonrpc":"2.0","id":1,"method":"wait"}`, []string{"Mcp-Session-Id", s.initialize(era)}
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				cancel()
			}()
			if res, err := s.client.Do(s.request(ctx, http.MethodPost, body, header...)); err == nil {
				res.Body.Close()
				t.Fatal("the request was answered")
			}
			if era != "modern" {
				select {
				case err := <-ended:
					t.Fatalf("the handler ended with %v", err)
				case <-time.After(100 * time.Millisecond):
				}
				close(release)
			}
			if err := <-ended; (err != nil) != (era == "modern") {
				t.Errorf("context: %v", err)
			}
		})
	}
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	h := streamhttp.NewHandler(&backend{}, nil)
	defer h.Close()
	r := httptest.NewRequest(http.MethodPost, "http://mcp.example.com/mcp", strings.NewReader(modernBody("echo")))
	setHeaders(r, append(modernHeaders("echo"), "Content-Type", "application/json"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"ok":true`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestCheckOrder has one row for each step of the order of checks (spec 2.6) and
// for the guard before it.
func TestCheckOrder(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, &streamhttp.Options{Limits: streamhttp.Limits{BodyBytes: 4096}})
	s06 := s.initialize("2025-06-18")
	s03 := s.initialize("2025-03-26")
	const list = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":` + name + `,` + meta + `}}`
	}
	callHeaders := func(more ...string) []string { return modernHeaders("tools/call", more...) }
	withVersion := func(v string) string { return strings.ReplaceAll(modernBody("echo"), "2026-07-28", v) }
	tests := []struct {
		name   string
		method string // POST where empty
		body   string
		header []string
		status int
		code   int
	}{
		{"host", "", "{", []string{"Host", "evil.example"}, 403, -32600},
		{"host with port", "GET", "", []string{"Host", "evil.example:80"}, 403, -32600},
		{"origin", "DELETE", "", []string{"Origin", "http://evil.example"}, 403, -32600},
		{"origin null", "", "", []string{"Origin", "null"}, 403, -32600},
		{"origin with path", "", "", []string{"Origin", "http://localhost/x"}, 403, -32600},
		{"origin local", "", modernBody("echo"), modernHeaders("echo", "Origin", "http://localhost:6274"), 200, 0},
		{"host local name", "", modernBody("echo"), modernHeaders("echo", "Host", "localhost:1234"), 200, 0},
		{"host local v6", "", modernBody("echo"), modernHeaders("echo", "Host", "[::1]:1234"), 200, 0},
		{"method", "PUT", "{", nil, 405, -32600},
		{"options without CORS", "OPTIONS", "", nil, 405, -32600},
		{"accept", "", "{", []string{"Accept", "text/html"}, 406, -32600},
		{"accept refused by weight", "", "{", []string{"Accept", "application/json;q=0"}, 406, -32600},
		{"accept any", "", modernBody("echo"), modernHeaders("echo", "Accept", "text/html, */*;q=0.1"), 200, 0},
		{"accept missing", "", modernBody("echo"), modernHeaders("echo", "-Accept", ""), 200, 0},
		{"content type", "", "{", []string{"Content-Type", "text/plain"}, 415, -32600},
		{"content type missing", "", "{", []string{"-Content-Type", ""}, 415, -32600},
		{"content type latin1", "", "{", []string{"Content-Type", "application/json; charset=latin1"}, 415, -32600},
		{"content type charset", "", modernBody("echo"), modernHeaders("echo", "Content-Type", `Application/JSON;charset="UTF-8"`), 200, 0},
		{"size", "", strings.Repeat(" ", 5000), nil, 413, -32600},
		{"JSON", "", `{"jsonrpc":"2.0",`, nil, 400, -32700},
		{"nesting", "", `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, nil, 400, -32700},
		{"duplicate name", "", `{"jsonrpc":"2.0","id":7,"method":"a","method":"b"}`, nil, 400, -32700},
		{"no message", "", `{"id":7}`, nil, 400, -32600},
		{"array without session", "", "[" + list + "]", nil, 400, -32600},
		{"array in 2025-06-18", "", "[" + list + "]", []string{"Mcp-Session-Id", s06}, 400, -32600},
		{"empty array in 2025-03-26", "", "[]", []string{"Mcp-Session-Id", s03}, 400, -32600},
		{"array in 2025-03-26", "", "[" + list + "]", []string{"Mcp-Session-Id", s03}, 200, 0},
		{"response without session", "", `{"jsonrpc":"2.0","id":7,"result":{}}`, nil, 400, -32600},

		{"legacy without session", "", list, nil, 400, -32600},
		{"legacy unknown session", "", list, []string{"Mcp-Session-Id", "nope"}, 404, -32600},
		{"legacy unknown session GET", "GET", "", []string{"Mcp-Session-Id", "nope"}, 404, -32600},
		{"legacy unknown session DELETE", "DELETE", "", []string{"Mcp-Session-Id", "nope"}, 404, -32600},
		{"legacy no session DELETE", "DELETE", "", nil, 400, -32600},
		{"legacy GET with version", "GET", "", []string{"Mcp-Protocol-Version", "2025-06-18"}, 400, -32600},
		{"modern GET", "GET", "", []string{"Mcp-Protocol-Version", "2026-07-28"}, 405, -32600},
		{"modern DELETE", "DELETE", "", []string{"Mcp-Protocol-Version", "2026-07-28"}, 405, -32600},
		{"browser GET", "GET", "", []string{"Accept", "text/html,*/*"}, 405, -32600},
		{"legacy version old", "", list, []string{"Mcp-Session-Id", s06, "Mcp-Protocol-Version", "1999-01-01"}, 400, -32600},
		{"legacy version word", "", list, []string{"Mcp-Session-Id", s06, "Mcp-Protocol-Version", "banana"}, 400, -32600},
		{"legacy version twice", "", list, []string{"Mcp-Session-Id", s06, "Mcp-Protocol-Version", "2025-06-18", "+Mcp-Protocol-Version", "2025-06-18"}, 400, -32600},
		{"legacy version", "", list, []string{"Mcp-Session-Id", s06, "Mcp-Protocol-Version", "2025-06-18"}, 200, 0},
		{"legacy version missing", "", list, []string{"Mcp-Session-Id", s06}, 200, 0},
		{"legacy unknown method", "", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`, []string{"Mcp-Session-Id", s06}, 200, -32601},
		{"legacy notification", "", `{"jsonrpc":"2.0","method":"notifications/unknown"}`, []string{"Mcp-Session-Id", s06}, 202, 0},
		{"legacy response", "", `{"jsonrpc":"2.0","id":99,"result":{}}`, []string{"Mcp-Session-Id", s06}, 202, 0},
		{"initialize in an unknown session", "", initBody("2025-06-18"), []string{"Mcp-Session-Id", "nope"}, 404, -32600},
		{"initialize of the future", "", initBody("2099-01-01"), []string{"Mcp-Protocol-Version", "2099-01-01"}, 200, 0},

		{"modern header, no meta", "", list, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, 400, -32602},
		{"future header, no meta", "", list, []string{"Mcp-Protocol-Version", "2031-01-01"}, 400, -32602},
		{"meta without version", "", `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`, modernHeaders("echo"), 400, -32602},
		{"meta without capabilities", "", `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, modernHeaders("echo"), 400, -32602},
		{"meta of wrong type", "", `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":[]}}}`, modernHeaders("echo"), 400, -32602},
		{"meta with escapes", "", `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}}`, []string{"Mcp-Session-Id", s06}, 400, -32602},
		{"version header missing", "", modernBody("echo"), []string{"Mcp-Method", "echo"}, 400, -32020},
		{"version header legacy", "", modernBody("echo"), []string{"Mcp-Method", "echo", "Mcp-Protocol-Version", "2025-11-25"}, 400, -32020},
		{"version header differs", "", withVersion("v999"), modernHeaders("echo"), 400, -32020},
		{"method header missing", "", modernBody("echo"), []string{"Mcp-Protocol-Version", "2026-07-28"}, 400, -32020},
		{"method header differs", "", modernBody("echo"), modernHeaders("ECHO"), 400, -32020},
		{"method header twice", "", modernBody("echo"), modernHeaders("echo", "+Mcp-Method", "echo"), 400, -32020},
		{"method header padded", "", modernBody("echo"), modernHeaders(" echo\t"), 200, 0},
		{"name header missing", "", call(`"x"`), callHeaders(), 400, -32020},
		{"name header differs", "", call(`"x"`), callHeaders("Mcp-Name", "X"), 400, -32020},
		{"name header without name", "", call(`1`), callHeaders("Mcp-Name", "x"), 400, -32020},
		{"name header bad Base64", "", call(`"x"`), callHeaders("Mcp-Name", "=?base64?eA?="), 400, -32020},
		{"name header Base64", "", call(`"x"`), callHeaders("Mcp-Name", "=?base64?eA==?="), 404, -32601},
		{"name header plain", "", call(`"x"`), callHeaders("Mcp-Name", "  x "), 404, -32601},
		{"name header Base64 of other", "", call(`"y"`), callHeaders("Mcp-Name", "=?base64?eA==?="), 400, -32020},
		{"modern unknown method", "", modernBody("no/such"), modernHeaders("no/such"), 404, -32601},
		{"modern unknown method in a session", "", modernBody("no/such"), modernHeaders("no/such", "Mcp-Session-Id", s06), 404, -32601},
		{"modern notification", "", `{"jsonrpc":"2.0","method":"n","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28"}, 202, 0},
		{"modern notification, bad params", "", `{"jsonrpc":"2.0","method":"n","params":[]}`, []string{"Mcp-Protocol-Version", "2026-07-28"}, 400, -32600},
		{"legacy notification, unknown session", "", `{"jsonrpc":"2.0","method":"notifications/unknown"}`, []string{"Mcp-Session-Id", "nope"}, 404, -32600},
		{"listen needs SSE", "", modernBody("subscriptions/listen"), modernHeaders("subscriptions/listen", "Accept", "application/json"), 406, -32600},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			method := tt.method
			if method == "" {
				method = http.MethodPost
			}
			r := s.do(method, tt.body, tt.header...)
			if r.status != tt.status {
				t.Fatalf("status %d, want %d; body %s", r.status, tt.status, r.body)
			}
			if r.status == http.StatusMethodNotAllowed && r.header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if r.status == http.StatusAccepted && (r.body != "" || r.header.Get("Content-Type") != "") {
				t.Errorf("202 with a body %q of type %q", r.body, r.header.Get("Content-Type"))
			}
			if tt.code == 0 {
				return
			}
			if got := r.json(t); got.code() != tt.code {
				t.Errorf("code %d, want %d; body %s", got.code(), tt.code, r.body)
			} else if tt.status == 400 && tt.code <= -32020 && tt.code > -32030 && string(got.ID) != "7" {
				t.Errorf("id %s, want 7", got.ID)
			}
		})
	}
}
