package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// canned is a server that says the same to every call: what is left is the
// client.
type canned struct{ result jsontext.Value }

func (c canned) Dial(context.Context, rpc.Handler) (rpc.Conn, error) { return c, nil }

func (c canned) Call(_ context.Context, req *rpc.Request, result any) error {
	res := c.result
	if req.Method == mcp.MethodDiscover {
		res = jsontext.Value(discovered)
	}
	return rpc.DecodeResult(&rpc.Response{Result: res}, result)
}

func (canned) Notify(context.Context, *rpc.Request) error { return nil }
func (canned) Cancel(rpc.ID, error)                       {}
func (canned) AllowBatch(bool)                            {}
func (canned) Close() error                               { return nil }

// echoCall returns a function that calls a tool which answers with text.
func echoCall(tb testing.TB, text string) func() {
	tb.Helper()
	result := `{"resultType":"complete","content":[{"type":"text","text":"` + text + `"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`
	c, err := client.Connect(tb.Context(), canned{jsontext.Value(result)}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	p := &mcp.CallToolParams{Name: "echo", Arguments: jsontext.Value(`{"text":"` + text + `"}`)}
	return func() {
		res, err := c.CallTool(tb.Context(), p)
		if err != nil {
			tb.Fatal(err)
		}
		if got, ok := res.Content[0].(*mcp.TextContent); !ok || got.Text != text {
			tb.Fatalf("got %.100v", res.Content[0])
		}
	}
}

// echoes are the calls, with what they may allocate: two more than they do now.
// The project's bars are 12 for a call over stdio and 65 over HTTP, with
// everything below the client.
var echoes = []struct {
	name, text string
	most       float64
}{
	{"small", "hello world, this is a tiny echo", 11},
	{"long", strings.Repeat("0123456789abcdef", 640), 12},
}

func BenchmarkCallTool(b *testing.B) {
	for _, tt := range echoes {
		b.Run(tt.name, func(b *testing.B) {
			call := echoCall(b, tt.text)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
