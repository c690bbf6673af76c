// Package micro_test measures one tools/call inside one process: through the
// pair of client and server in memory, and straight through the HTTP handler
// without sockets. The harness runs its benchmarks beside those of other
// implementations.
package micro_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/bench/internal/direct"
	"github.com/tenon-mcp/tenon/bench/internal/sample"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func TestMain(m *testing.M) {
	if os.Getenv(parrotEnv) != "" {
		parrotLines(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

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

// handler returns a function that makes a call through the HTTP handler.
func handler(tb testing.TB, v mcp.Version, k call) func() {
	tb.Helper()
	h := streamhttp.NewHandler(newServer(tb), nil)
	tb.Cleanup(func() { _ = h.Close() })
	p, err := direct.New(h, v)
	if err != nil {
		tb.Fatal(err)
	}
	text := p.Call(k.tool, k.arguments)
	return func() {
		if got, err := p.Post(text); err != nil || !bytes.Contains(got, []byte(k.want)) {
			tb.Fatalf("got %.200s, %v", got, err)
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
