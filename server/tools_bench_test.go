package server_test

import (
	"context"
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

// BenchmarkTypedCall is one call of a typed tool without the messages around
// it: the arguments are validated and decoded, the result is encoded.
func BenchmarkTypedCall(b *testing.B) {
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "add"}, func(_ context.Context, in addIn) (addOut, error) {
		return addOut{in.A + in.B}, nil
	})
	h := s.Bind(b.Context(), bare{})
	params := jsontext.Value(modern(`"name":"add","arguments":{"a":2,"b":3.5}`))
	b.ReportAllocs()
	for b.Loop() {
		req := &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodToolsCall, Params: params}
		if _, err := h.Handle(b.Context(), req, bare{}); err != nil {
			b.Fatal(err)
		}
	}
}
