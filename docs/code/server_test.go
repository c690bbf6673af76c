package code_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// typed {

// Terms is what the tool takes.
type Terms struct {
	A int `json:"a" jsonschema:"the first term"`
	B int `json:"b" jsonschema:"the second term"`
}

// Sum is what it returns.
type Sum struct {
	Sum int `json:"sum"`
}

func add(ctx context.Context, in Terms) (Sum, error) {
	return Sum{in.A + in.B}, nil
}

// }

// errors {
func divide(ctx context.Context, in Terms) (int, error) {
	if in.B == 0 {
		return 0, errors.New("b must not be 0: choose another divisor") // the model reads this, and can try again
	}
	if in.B < 0 {
		return 0, rpc.Errorf(rpc.CodeInvalidParams, "negative divisors are not served") // an error of the protocol
	}
	return in.A / in.B, nil
}

// }

// call {
func index(ctx context.Context, in struct {
	Files []string `json:"files"`
}) (string, error) {
	call := server.CallFrom(ctx) // never nil; outside a request it does nothing
	for i, file := range in.Files {
		call.Logger().Info("indexing", "file", file)
		if err := call.Progress(ctx, float64(i+1), float64(len(in.Files)), file); err != nil {
			return "", err // the client has gone, or cancelled
		}
	}
	return fmt.Sprintf("%d files", len(in.Files)), nil
}

// }

func newServer() *server.Server {
	// new {
	srv := server.New(mcp.Implementation{Name: "guide", Version: "1.0.0"}, &server.Options{
		Instructions: "Use add for sums.",
		Complete:     complete,
	})
	server.AddTool(srv, mcp.Tool{Name: "add", Description: "Add two numbers"}, add)
	// }
	server.AddTool(srv, mcp.Tool{Name: "divide", Description: "Divide"}, divide)
	server.AddTool(srv, mcp.Tool{Name: "index", Description: "Index files"}, index)
	return srv
}

// complete {
func complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	res := &mcp.CompleteResult{}
	if p.Ref.Name == "review" && p.Argument.Name == "code" {
		for _, word := range []string{"func", "for", "return"} {
			if strings.HasPrefix(word, p.Argument.Value) {
				res.Completion.Values = append(res.Completion.Values, word)
			}
		}
	}
	return res, nil
}

// }

func addFeatures(srv *server.Server) error {
	// resource {
	err := srv.AddResource(mcp.Resource{URI: "notes://today", Name: "today", MIMEType: "text/plain"},
		func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
				{URI: p.URI, MIMEType: "text/plain", Text: "buy oak"},
			}}, nil
		})
	if err != nil {
		return err
	}
	err = srv.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "notes://{day}", Name: "a day"},
		func(ctx context.Context, p *mcp.ReadResourceParams, vars map[string]string) (*mcp.ReadResourceResult, error) {
			if vars["day"] == "sunday" {
				return nil, mcp.ResourceNotFound(p.URI, server.CallFrom(ctx).Version)
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
				{URI: p.URI, Text: "notes of " + vars["day"]},
			}}, nil
		})
	if err != nil {
		return err
	}
	// }
	// prompt {
	return srv.AddPrompt(
		mcp.Prompt{Name: "review", Arguments: []mcp.PromptArgument{{Name: "code", Required: true}}},
		func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: mcp.Text("Review this code:\n" + p.Arguments["code"])},
			}}, nil
		})
	// }
}

func serveHTTP(srv *server.Server) {
	// http {
	http.Handle("/mcp", streamhttp.NewHandler(srv, nil))
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
	// }
}

// The guide shows it; a test would never come back from it.
var _ = serveHTTP

// shutdown {
func shutdown(ctx context.Context, srv *server.Server, h *streamhttp.Handler, hs *http.Server) error {
	return errors.Join(
		srv.Shutdown(ctx), // new requests are refused, listeners get their last message, calls finish
		h.Shutdown(ctx),   // streams end; what still runs when ctx ends is cancelled
		hs.Shutdown(ctx),  // no more connections
	)
}

// }

func TestShutdown(t *testing.T) {
	t.Parallel()
	srv := newServer()
	h := streamhttp.NewHandler(srv, nil)
	if err := shutdown(t.Context(), srv, h, &http.Server{Handler: h}); err != nil {
		t.Error(err)
	}
}

// pin {
func TestAddIsOld(t *testing.T) {
	c := mcptest.Pair(t, newServer(), &client.Options{Version: mcp.V20250618})
	sum, err := client.CallTool[Sum](t.Context(), c, "add", Terms{A: 2, B: 3})
	if err != nil || sum.Sum != 5 {
		t.Errorf("2 + 3 = %d, %v", sum.Sum, err)
	}
}

// }

// each {
func TestAddInEachRevision(t *testing.T) {
	mcptest.EachRevision(t, func(t *testing.T, e mcptest.Env) {
		c := e.Connect(newServer(), nil)
		sum, err := client.CallTool[Sum](t.Context(), c, "add", Terms{A: 2, B: 3})
		if err != nil || sum.Sum != 5 {
			t.Errorf("2 + 3 = %d, %v", sum.Sum, err)
		}
	})
}

// }

func TestComplete(t *testing.T) {
	t.Parallel()
	srv := newServer()
	if err := addFeatures(srv); err != nil {
		t.Fatal(err)
	}
	c := mcptest.Pair(t, srv, nil)
	res, err := c.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      mcp.CompleteReference{Type: mcp.RefPrompt, Name: "review"},
		Argument: mcp.CompleteArgument{Name: "code", Value: "f"},
	})
	if err != nil || len(res.Completion.Values) != 2 {
		t.Errorf("got %v, %v", res, err)
	}
}

// enum {
func paint(srv *server.Server) {
	server.AddTool(srv, mcp.Tool{
		Name:        "paint",
		InputSchema: jsontext.Value(`{"type":"object","properties":{"color":{"enum":["red","blue"]}},"required":["color"]}`),
	}, func(ctx context.Context, in struct {
		Color string `json:"color"`
	},
	) (string, error) {
		return "painted " + in.Color, nil
	})
}

// }

func TestPaint(t *testing.T) {
	t.Parallel()
	srv := newServer()
	paint(srv)
	c := mcptest.Pair(t, srv, nil)
	for color, ok := range map[string]bool{"red": true, "green": false} {
		if _, err := client.CallTool[string](t.Context(), c, "paint", map[string]string{"color": color}); (err == nil) != ok {
			t.Errorf("%s: %v", color, err)
		}
	}
}

// test {
func TestAdd(t *testing.T) {
	c := mcptest.Pair(t, newServer(), nil)
	got, err := client.CallTool[Sum](t.Context(), c, "add", Terms{A: 2, B: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got.Sum != 5 {
		t.Errorf("2 + 3 = %d", got.Sum)
	}
}

// }

func TestFeatures(t *testing.T) {
	t.Parallel()
	srv := newServer()
	if err := addFeatures(srv); err != nil {
		t.Fatal(err)
	}
	c := mcptest.Pair(t, srv, nil)
	for uri, want := range map[string]string{"notes://today": "buy oak", "notes://monday": "notes of monday"} {
		res, err := c.ReadResource(t.Context(), uri)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Contents[0].Text; got != want {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
	}
	if _, err := c.ReadResource(t.Context(), "notes://sunday"); !mcp.IsNotFound(err, "notes://sunday") {
		t.Errorf("notes://sunday: %v", err)
	}
	p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review", Arguments: map[string]string{"code": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := p.Messages[0].Content.(*mcp.TextContent); !ok || !strings.HasSuffix(text.Text, "\nx") {
		t.Errorf("prompt: %#v", p.Messages[0].Content)
	}
	_, err = client.CallTool[int](t.Context(), c, "divide", Terms{A: 1})
	if tool, ok := errors.AsType[*client.ToolError](err); !ok || !strings.Contains(tool.Error(), "another divisor") {
		t.Errorf("divide by 0: %v", err)
	}
	_, err = client.CallTool[int](t.Context(), c, "divide", Terms{A: 1, B: -1})
	if !errors.Is(err, &rpc.Error{Code: rpc.CodeInvalidParams}) {
		t.Errorf("divide by -1: %v", err)
	}
}

// plain {
func TestIndexWithoutServer(t *testing.T) {
	got, err := index(t.Context(), struct {
		Files []string `json:"files"`
	}{[]string{"a", "b"}})
	if got != "2 files" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// }
