// Package micro_test measures one tools/call inside one process: through the
// pair of client and server in memory, and straight through the HTTP handler
// without sockets. The harness runs its benchmarks beside those of other
// implementations.
package micro_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/bench/internal/sample"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tinyText = "hello world, this is a tiny echo"

// A call is one call of a tool.
type call struct {
	name, tool, arguments string
	want                  string // in the answer
}

func calls() []call {
	long := strings.Repeat("0123456789abcdef", 640)
	return []call{
		{"dynamic", "dynamic", `{"text":"` + tinyText + `"}`, tinyText},
		{"echo", "echo", `{"text":"` + tinyText + `"}`, tinyText},
		{"add", "add", `{"a":2,"b":3.5}`, `5.5`},
		{"echo10k", "echo", `{"text":"` + long + `"}`, long},
	}
}

// newServer returns the sample server with one more tool: echo without Go types.
func newServer(tb testing.TB) *server.Server {
	tb.Helper()
	s := sample.Server(0)
	schema := `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	err := s.AddTool(mcp.Tool{Name: "dynamic", InputSchema: []byte(schema)}, func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		var in struct{ Text string }
		err := json.Unmarshal(p.Arguments, &in, json.MatchCaseInsensitiveNames(true))
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(in.Text)}}, err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// inMemory returns a function that makes a call through the pair.
func inMemory(tb testing.TB, v mcp.Version, k call) func() {
	tb.Helper()
	c := mcptest.Pair(tb, newServer(tb), &client.Options{Version: v})
	return func() {
		res, err := c.CallTool(tb.Context(), &mcp.CallToolParams{Name: k.tool, Arguments: []byte(k.arguments)})
		if err != nil {
			tb.Fatal(err)
		}
		if text, ok := res.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, k.want) {
			tb.Fatalf("got %.100v", res.Content[0])
		}
	}
}

// typed is inMemory with Go types on the client's side, too.
func typed(tb testing.TB) func() {
	tb.Helper()
	type arguments struct {
		Text string `json:"text"`
	}
	c := mcptest.Pair(tb, newServer(tb), nil)
	return func() {
		got, err := client.CallTool[string](tb.Context(), c, "echo", arguments{tinyText})
		if err != nil || got != tinyText {
			tb.Fatal(got, err)
		}
	}
}

// sink is a ResponseWriter that keeps what was written.
type sink struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return s.body.Write(b) }
func (s *sink) Flush()                      {}

// body is the body of a request that is used again.
type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// A poster posts to a handler as net/http would.
type poster struct {
	h       http.Handler
	request http.Request
	payload body
	answer  sink
}

func newPoster(tb testing.TB) *poster {
	tb.Helper()
	h := streamhttp.NewHandler(newServer(tb), nil)
	tb.Cleanup(func() { _ = h.Close() })
	p := &poster{h: h, payload: body{strings.NewReader("")}, answer: sink{header: http.Header{}}}
	p.request = *(&http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/mcp"}, RequestURI: "/mcp", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: "127.0.0.1:1", RemoteAddr: "127.0.0.1:2", Body: p.payload,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}},
	}).WithContext(tb.Context())
	return p
}

// post returns the body of the answer, which is valid until the next call.
func (p *poster) post(tb testing.TB, text string) []byte {
	tb.Helper()
	p.payload.Reset(text)
	clear(p.answer.header)
	p.answer.status = http.StatusOK
	p.answer.body.Reset()
	r := p.request
	r.ContentLength = int64(len(text))
	p.h.ServeHTTP(&p.answer, &r)
	if p.answer.status/100 != 2 {
		tb.Fatalf("%d %s", p.answer.status, p.answer.body.Bytes())
	}
	return p.answer.body.Bytes()
}

const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// handler returns a function that makes a call through the HTTP handler.
func handler(tb testing.TB, v mcp.Version, k call) func() {
	tb.Helper()
	p := newPoster(tb)
	h, meta := p.request.Header, ""
	h["Mcp-Protocol-Version"] = []string{string(v)}
	if v == mcp.V20260728 {
		h["Mcp-Method"], h["Mcp-Name"], meta = []string{"tools/call"}, []string{k.tool}, modernMeta
	} else {
		p.post(tb, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+string(v)+`","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
		h["Mcp-Session-Id"] = []string{p.answer.header.Get("Mcp-Session-Id")}
		p.post(tb, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	text := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + k.tool + `","arguments":` + k.arguments + meta + `}}`
	return func() {
		if got := p.post(tb, text); !bytes.Contains(got, []byte(k.want)) {
			tb.Fatalf("got %.200s", got)
		}
	}
}

// eras are the revisions that the harness speaks, by its names for them.
func eras() []struct {
	name    string
	version mcp.Version
} {
	return []struct {
		name    string
		version mcp.Version
	}{{"Handshake", mcp.V20251125}, {"Modern", mcp.V20260728}}
}

// setUp makes a function that makes one call.
type setUp func(testing.TB, mcp.Version, call) func()

func BenchmarkInMemory(b *testing.B) { each(b, inMemory) }

func BenchmarkHandler(b *testing.B) { each(b, handler) }

func BenchmarkInMemoryTyped(b *testing.B) { measure(b, typed(b)) }

func each(b *testing.B, prepare setUp) {
	b.Helper()
	for _, era := range eras() {
		for _, k := range calls() {
			b.Run(era.name+"_"+k.name, func(b *testing.B) { measure(b, prepare(b, era.version, k)) })
		}
	}
}

func measure(b *testing.B, run func()) {
	b.Helper()
	run()
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}
