package code_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func useServer(ctx context.Context, target string) error {
	// connect {
	c, err := tenon.Connect(ctx, target) // "https://example.com/mcp", or a command line: "npx -y some-server"
	if err != nil {
		return err
	}
	defer c.Close()
	// }

	// list {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		fmt.Println(tool.Name, "-", tool.Description)
	}
	// }

	// call {
	sum, err := client.CallTool[Sum](ctx, c, "add", Terms{A: 2, B: 3})
	if failed, ok := errors.AsType[*client.ToolError](err); ok {
		fmt.Println("the tool says:", failed) // it ran, and failed
	}
	if err != nil {
		return err
	}
	fmt.Println(sum.Sum)
	// }

	// progress {
	res, err := c.CallTool(ctx, &mcp.CallToolParams{
		Name:      "index",
		Arguments: []byte(`{"files": ["a.go", "b.go"]}`),
	}, client.OnProgress(func(p mcp.ProgressParams) {
		fmt.Println(p.Progress, p.Message)
	}))
	if err != nil {
		return err
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// }
	return nil
}

func ExampleConnect() {
	h := streamhttp.NewHandler(newServer(), nil)
	defer h.Close()
	ts := httptest.NewServer(h)
	defer ts.Close()
	if err := useServer(context.Background(), ts.URL); err != nil {
		fmt.Println(err)
	}
	// Output:
	// add - Add two numbers
	// divide - Divide
	// index - Index files
	// 5
	// 1 a.go
	// 2 b.go
	// 2 files
}

// answer {
var options = &client.Options{
	Info: mcp.Implementation{Name: "my-host", Version: "1.0.0"},
	Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		fields, err := mcp.ParseForm(p.RequestedSchema)
		if err != nil {
			return nil, err
		}
		filled, ok := askUser(p.Message, fields)
		if !ok {
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		}
		return mcp.AcceptForm(filled) // a map or a struct
	},
	Roots: func(ctx context.Context) ([]mcp.Root, error) {
		return []mcp.Root{{URI: "file:///home/ada/project"}}, nil
	},
}

// }

func askUser(_ string, fields []mcp.Field) (map[string]any, bool) {
	filled := map[string]any{}
	for _, f := range fields {
		filled[f.Name] = "Ada"
	}
	return filled, true
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	mcptest.EachRevision(t, func(t *testing.T, e mcptest.Env) {
		if e.Version < "2025-06-18" {
			t.Skip("this revision has no elicitation")
		}
		srv := server.New(mcp.Implementation{Name: "guide", Version: "1"}, nil)
		server.AddTool(srv, mcp.Tool{Name: "deploy"}, deploy)
		server.AddTool(srv, mcp.Tool{Name: "greet"}, greetUser)
		c := e.Connect(srv, options)
		got, err := client.CallTool[string](t.Context(), c, "deploy", target{Name: "production"})
		if want := "deployed to production"; got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		got, err = client.CallTool[string](t.Context(), c, "greet", nil)
		if want := "Ada works in 1 directories"; got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	mcptest.EachRevision(t, func(t *testing.T, e mcptest.Env) {
		srv := newServer()
		if err := addFeatures(srv); err != nil {
			t.Fatal(err)
		}
		updated := make(chan string, 1)
		c := e.Connect(srv, &client.Options{OnResourceUpdated: func(_ context.Context, uri string) { updated <- uri }})
		ctx := t.Context()
		watch := func() error {
			// watch {
			sub, err := c.Subscribe(ctx, mcp.Filter{ToolsListChanged: true, ResourceSubscriptions: []string{"notes://today"}})
			if err != nil {
				return err
			}
			defer sub.Close() // OnToolsChanged and OnResourceUpdated of the options are called until then
			// }
			go wait(ctx, c, sub)
			if err := srv.ResourceUpdated(ctx, "notes://today"); err != nil {
				return err
			}
			if uri := <-updated; uri != "notes://today" {
				t.Errorf("updated: %s", uri)
			}
			return nil
		}
		if err := watch(); err != nil {
			t.Fatal(err)
		}
	})
}

func wait(ctx context.Context, c *client.Client, sub *client.Subscription) {
	// ended {
	select {
	case <-sub.Done(): // sub.Err says why; nil: it was closed, or the server ended it in good order
	case <-c.Done(): // c.Err says why; nil: it was closed
	case <-ctx.Done():
	}
	// }
}

func ExampleClient_pinned() {
	h := streamhttp.NewHandler(newServer(), nil)
	defer h.Close()
	ts := httptest.NewServer(h)
	defer ts.Close()
	ctx, target := context.Background(), ts.URL
	// pin {
	c, err := tenon.Connect(ctx, target, tenon.WithClient(&client.Options{Version: "2025-11-25"}))
	if missing, ok := errors.AsType[*client.VersionError](err); ok {
		fmt.Println("the server has", missing.Offered)
	}
	// }
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Version())
	// Output: 2025-11-25
}

var runs atomic.Int64
