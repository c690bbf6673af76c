package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

type addIn struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type addOut struct {
	Sum float64 `json:"sum"`
}

// A toolCall makes one call of a tool without the messages around it: the
// arguments are validated and decoded, the result is encoded as text.
func toolCall(tb testing.TB, tool, arguments string) func() {
	tb.Helper()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "add"}, func(_ context.Context, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil })
	server.AddTool(s, mcp.Tool{Name: "echo"}, echo)
	dynamic := mcp.Tool{Name: "dynamic", InputSchema: jsontext.Value(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}
	if err := s.AddTool(dynamic, func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: p.Arguments}, nil
	}); err != nil {
		tb.Fatal(err)
	}
	h := s.Bind(tb.Context(), bare{})
	params := jsontext.Value(modern(`"name":"` + tool + `","arguments":` + arguments))
	var buf []byte
	return func() {
		req := &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodToolsCall, Params: params}
		res, err := h.Handle(tb.Context(), req, bare{})
		if err != nil {
			tb.Fatal(err)
		}
		if buf, err = rpc.AppendMessage(buf[:0], &rpc.Response{ID: req.ID, Result: res}); err != nil {
			tb.Fatal(err)
		}
	}
}

// calls are the tools of toolCall, with what calls of them may allocate: one
// more than they do now. The project's bar for the whole way through the HTTP
// handler is 12.
var calls = []struct {
	name, tool, arguments string
	most                  float64
}{
	{"dynamic", "dynamic", `{"text":"hello"}`, 12},
	{"typed", "add", `{"a":2,"b":3.5}`, 11},
	{"long", "echo", `{"text":"` + strings.Repeat("0123456789abcdef", 640) + `"}`, 23},
}

func BenchmarkToolCall(b *testing.B) {
	for _, tt := range calls {
		b.Run(tt.name, func(b *testing.B) {
			call := toolCall(b, tt.tool, tt.arguments)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
