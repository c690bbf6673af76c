package mcptest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// The whole of a conversation in each revision, as testdata/conversation.txtar
// shows it.
//
//nolint:paralleltest // its subtests write one file together
func TestConversation(t *testing.T) {
	srv := server.New(mcp.Implementation{Name: "clerk", Title: "The clerk", Version: "1"}, &server.Options{Instructions: "Ask first."})
	server.AddTool(srv, mcp.Tool{Name: "add", Title: "Add", Description: "Add numbers"}, func(_ context.Context, in numbers) (numbers, error) {
		return numbers{A: in.A + in.B}, nil
	})
	server.AddTool(srv, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ none) (string, error) {
		res, err := server.CallFrom(ctx).Elicit(ctx, "name", form(nameField))
		if err != nil {
			return "", err
		}
		return string(res.Content["name"]), nil
	})
	opts := &client.Options{
		Info: mcp.Implementation{Name: "guest", Version: "1"},
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return accept("name", `"Ada"`), nil
		},
	}
	mcptest.Transcript(t, "conversation", srv, opts, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		must[*mcp.ListToolsResult](t)(c.ListTools(ctx, nil))
		must[*mcp.CallToolResult](t)(c.CallTool(ctx, call("add", `{"a":1,"b":2}`)))
		must[*mcp.CallToolResult](t)(c.CallTool(ctx, call("add", `{"a":"one"}`)))
		if c.Version() >= mcp.V20250618 { // which brought elicitation
			must[*mcp.CallToolResult](t)(c.CallTool(ctx, call("ask", "")))
		}
		_, err := c.CallTool(ctx, call("no such tool", ""))
		isCode(t, "unknown tool", err, rpc.CodeInvalidParams)
	})
}

func TestFakeServer(t *testing.T) {
	t.Parallel()
	d := mcptest.FakeServer(t, func(p *mcptest.Peer) {
		p.Refuse(p.Expect("server/discover"), rpc.CodeMethodNotFound, "what?")
		p.Reply(p.Expect("initialize"), `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"0"}}`)
		p.Expect("notifications/initialized")
		p.Reply(p.Expect("tools/call"), `{"content":[{"type":"text","text":"hi"}]}`)
	})
	c, err := client.Connect(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	equal(t, "version", c.Version(), mcp.V20250618)
	equal(t, "answer", must[string](t)(client.CallTool[string](t.Context(), c, "x", nil)), "hi")
}

func TestFakeClient(t *testing.T) {
	t.Parallel()
	p := mcptest.FakeClient(t, server.New(mcp.Implementation{Name: "s", Version: "1"}, nil))
	p.Send(`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`)
	if res := p.Response(rpc.StringID("a")); res.Error == nil {
		t.Errorf("served without a session: %v", res.Result)
	}
	p.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	p.Result(rpc.IntID(1))
	p.Send(`not json`)
	if res := p.Response(rpc.ID{}); res.Error == nil || res.Error.Code != rpc.CodeParseError {
		t.Errorf("no parse error: %v", res)
	}
}

func ExamplePair() {
	test := func(t *testing.T) {
		srv := server.New(mcp.Implementation{Name: "sample", Version: "1"}, nil)
		server.AddTool(srv, mcp.Tool{Name: "double"}, func(_ context.Context, in numbers) (int64, error) { return 2 * in.A, nil })
		c := mcptest.Pair(t, srv, nil)
		got, err := client.CallTool[int64](t.Context(), c, "double", numbers{A: 21})
		if err != nil || got != 42 {
			t.Errorf("got %d, %v", got, err)
		}
	}
	_ = test // go test runs it as a TestXxx function
}

func ExampleEachRevision() {
	test := func(t *testing.T) {
		mcptest.EachRevision(t, func(t *testing.T, e mcptest.Env) {
			srv := server.New(mcp.Implementation{Name: "sample", Version: "1"}, nil)
			c := e.Connect(srv, nil)
			if c.Version() != e.Version {
				t.Errorf("speaks %s over %s", c.Version(), e.Transport)
			}
		})
	}
	_ = test // go test runs it as a TestXxx function
}

// B026: requests sent behind initialize, without waiting for its answer, are
// served.
func TestPipelinedInitialize(t *testing.T) {
	t.Parallel()
	for range 50 {
		srv := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
		server.AddTool(srv, mcp.Tool{Name: "double"}, func(_ context.Context, in numbers) (int64, error) { return 2 * in.A, nil })
		p := mcptest.FakeClient(t, srv)
		lines := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` +
			"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		const calls = 10
		for i := range calls {
			lines += fmt.Sprintf("\n"+`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"double","arguments":{"a":%d}}}`, i+1, i)
		}
		p.Send("%s", lines)
		for range calls + 1 {
			if res, ok := p.Next().(*rpc.Response); !ok || res.Error != nil {
				t.Fatalf("got %+v", res)
			}
		}
	}
}
