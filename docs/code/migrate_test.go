package code_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// greet {

// Person is who is greeted.
type Person struct {
	Name  string `json:"name" jsonschema:"who to greet,minLength=1"`
	Style string `json:"style" jsonschema:"enum=formal|casual,default=casual"`
}

// Greeting is what is said.
type Greeting struct {
	Text string `json:"text"`
}

func greet(ctx context.Context, in Person) (Greeting, error) {
	if in.Name == "nobody" {
		return Greeting{}, errors.New("there is nobody of that name") // the model reads it
	}
	return Greeting{Text: "Hi " + in.Name}, nil
}

func newGreeter() *server.Server {
	srv := server.New(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	server.AddTool(srv, mcp.Tool{Name: "greet", Description: "Say hi"}, greet)
	return srv
}

// }

// raw {
func addRaw(srv *server.Server) error {
	return srv.AddTool(mcp.Tool{
		Name:        "reverse",
		InputSchema: jsontext.Value(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	}, func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(p.Arguments))}}, nil
	})
}

// }

// confirm {

// Consent is the form that the user sees.
type Consent struct {
	Sure bool `json:"sure" jsonschema:"really?"`
}

func drop(ctx context.Context, in struct {
	Table string `json:"table"`
}) (string, error) {
	form, action, err := server.ElicitForm[Consent](ctx, server.CallFrom(ctx), "sure", "Drop "+in.Table+"?")
	if err != nil {
		return "", err // also how the handler leaves when the client must be asked first
	}
	if action != mcp.ElicitAccept || !form.Sure {
		return "kept " + in.Table, nil
	}
	return "dropped " + in.Table, nil
}

// }

// logged {
func logged(log *slog.Logger) server.Middleware {
	return func(next server.Handler) server.Handler {
		return func(ctx context.Context, c *server.Call) (any, error) {
			res, err := next(ctx, c)
			log.InfoContext(ctx, "handled", "method", c.Method.Name, "error", err)
			return res, err
		}
	}
}

// }

func mount(srv *server.Server, userOf func(*http.Request) string) http.Handler {
	// mount {
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamhttp.NewHandler(srv, &streamhttp.Options{Principal: userOf}))
	// }
	return mux
}

func callGreeter(ctx context.Context, target string) (string, error) {
	// dial {
	c, err := tenon.Connect(ctx, target, tenon.WithClient(&client.Options{
		Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return mcp.AcceptForm(Consent{Sure: true})
		},
	}))
	if err != nil {
		return "", err
	}
	defer c.Close()
	g, err := client.CallTool[Greeting](ctx, c, "greet", Person{Name: "Ada", Style: "casual"})
	if err != nil {
		return "", err // *client.ToolError: the tool failed; *rpc.Error: the server refused
	}
	// }
	return g.Text, nil
}

func TestMigrated(t *testing.T) {
	t.Parallel()
	srv := newGreeter()
	srv.Use(logged(slog.New(slog.DiscardHandler)))
	server.AddTool(srv, mcp.Tool{Name: "drop"}, drop)
	if err := addRaw(srv); err != nil {
		t.Fatal(err)
	}
	c := mcptest.Pair(t, srv, &client.Options{
		Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return mcp.AcceptForm(Consent{Sure: true})
		},
	})
	for name, args := range map[string]any{
		"greet":   Person{Name: "Ada", Style: "casual"},
		"reverse": map[string]string{"text": "x"},
		"drop":    map[string]string{"table": "t"},
	} {
		if _, err := client.CallTool[any](t.Context(), c, name, args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := client.CallTool[Greeting](t.Context(), c, "greet", Person{Name: "nobody", Style: "casual"})
	if _, ok := errors.AsType[*client.ToolError](err); !ok {
		t.Errorf("error %v, want a *client.ToolError", err)
	}
	_, err = client.CallTool[Greeting](t.Context(), c, "none", nil)
	if !errors.Is(err, client.ErrUnknownTool) && !errors.Is(err, &rpc.Error{Code: rpc.CodeInvalidParams}) {
		t.Errorf("error %v, want one of an unknown tool", err)
	}
	web := httptest.NewServer(mount(srv, func(*http.Request) string { return "ada" }))
	defer web.Close()
	if got, err := callGreeter(t.Context(), web.URL+"/mcp"); err != nil || got != "Hi Ada" {
		t.Errorf("got %q, %v, want Hi Ada", got, err)
	}
}
