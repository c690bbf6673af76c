package interop_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// TestGoSDKClient has the client of go-sdk use tenon's server.
func TestGoSDKClient(t *testing.T) {
	t.Parallel()
	for _, version := range []mcp.Version{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		t.Run("http "+string(version), func(t *testing.T) {
			t.Parallel()
			goSDKConverse(t, &gosdk.StreamableClientTransport{Endpoint: serveFixture(t)}, version)
		})
		t.Run("stdio "+string(version), func(t *testing.T) {
			t.Parallel()
			name, env := fixtureCommand(t)
			cmd := exec.Command(name) // ends with the session, in a cleanup: the context of the test is over by then
			cmd.Env = env
			goSDKConverse(t, &gosdk.CommandTransport{Command: cmd}, version)
		})
	}
}

func goSDKConverse(t *testing.T, transport gosdk.Transport, version mcp.Version) {
	t.Helper()
	var mu sync.Mutex
	var progress []float64
	c := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1.8.0"}, &gosdk.ClientOptions{
		ElicitationHandler: func(context.Context, *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
			return &gosdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(context.Context, *gosdk.CreateMessageRequest) (*gosdk.CreateMessageResult, error) {
			return &gosdk.CreateMessageResult{Role: "assistant", Model: "fixed", Content: &gosdk.TextContent{Text: "Paris"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *gosdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			progress = append(progress, r.Params.Progress)
		},
	})
	c.AddRoots(&gosdk.Root{URI: "file:///interop", Name: "interop"})
	cs, err := c.Connect(t.Context(), transport, &gosdk.ClientSessionOptions{ProtocolVersion: string(version)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	got := goSDKSeen(t, cs)
	got.Version = cs.InitializeResult().ProtocolVersion
	mu.Lock()
	defer mu.Unlock()
	got.Progress = slices.Clone(progress)
	want := wantSeen(version)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("go-sdk saw (-want +got):\n%s", diff)
	}
}

func goSDKSeen(t *testing.T, cs *gosdk.ClientSession) seen {
	t.Helper()
	ctx := t.Context()
	call := func(name string, args any) *gosdk.CallToolResult {
		t.Helper()
		params := &gosdk.CallToolParams{Name: name, Arguments: args}
		params.SetProgressToken("token-" + name)
		res, err := cs.CallTool(ctx, params)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res
	}
	text := func(name string, args any) string {
		t.Helper()
		if b, ok := call(name, args).Content[0].(*gosdk.TextContent); ok {
			return b.Text
		}
		return ""
	}
	s := seen{
		Server: cs.InitializeResult().ServerInfo.Name,
		Echo:   text("echo", map[string]any{"message": "grüße"}),
		Count:  text("count", map[string]any{"steps": 3}),
		Ask:    text("ask", nil), Sample: text("sample", nil), Roots: text("roots", nil),
		Failed: text("fail", nil), Invalid: call("add", map[string]any{"a": "two", "b": 1}).IsError,
	}
	s.Add, _ = call("add", map[string]any{"a": 2, "b": 40}).StructuredContent.(map[string]any)
	for tool, err := range cs.Tools(ctx, nil) {
		noError(t, err)
		s.Tools = append(s.Tools, tool.Name)
	}
	for r, err := range cs.Resources(ctx, nil) {
		noError(t, err)
		s.Resources = append(s.Resources, r.URI)
	}
	for r, err := range cs.ResourceTemplates(ctx, nil) {
		noError(t, err)
		s.Templates = append(s.Templates, r.URITemplate)
	}
	for p, err := range cs.Prompts(ctx, nil) {
		noError(t, err)
		s.Prompts = append(s.Prompts, p.Name)
	}
	goSDKRead(t, cs, &s)
	slices.Sort(s.Tools)
	return s
}

func goSDKRead(t *testing.T, cs *gosdk.ClientSession, s *seen) {
	t.Helper()
	ctx := t.Context()
	read := func(uri string) *gosdk.ResourceContents {
		t.Helper()
		res, err := cs.ReadResource(ctx, &gosdk.ReadResourceParams{URI: uri})
		noError(t, err)
		return res.Contents[0]
	}
	s.Resource, s.Templated = read("test://greeting").Text, read("test://item/7").Text
	s.Bytes = base64.StdEncoding.EncodeToString(read("test://bytes").Blob)
	prompt, err := cs.GetPrompt(ctx, &gosdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
	noError(t, err)
	if b, ok := prompt.Messages[0].Content.(*gosdk.TextContent); ok {
		s.Prompt = b.Text
	}
	done, err := cs.Complete(ctx, &gosdk.CompleteParams{
		Ref:      &gosdk.CompleteReference{Type: "ref/prompt", Name: "greet"},
		Argument: gosdk.CompleteParamsArgument{Name: "name", Value: "A"},
	})
	noError(t, err)
	s.Completion = done.Completion.Values
	_, err = cs.ReadResource(ctx, &gosdk.ReadResourceParams{URI: "test://nothing"})
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		s.Missing = int(wire.Code)
	}
}

// TestGoSDKServer has tenon's client use servers of go-sdk. It has an endpoint
// for each era.
func TestGoSDKServer(t *testing.T) {
	t.Parallel()
	for name, stateless := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := goSDKServer()
			h := gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return srv }, &gosdk.StreamableHTTPOptions{Stateless: stateless})
			useGoServer(t, &streamhttp.Dialer{URL: serveHTTP(t, h)}, stateless)
		})
	}
}

func goSDKServer() *gosdk.Server {
	type text = gosdk.TextContent
	says := func(s string) *gosdk.CallToolResult {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&text{Text: s}}}
	}
	srv := gosdk.NewServer(&gosdk.Implementation{Name: "peer", Version: "1"}, nil)
	type echo struct {
		Message string `json:"message"`
	}
	gosdk.AddTool(srv, &gosdk.Tool{Name: "echo"}, func(_ context.Context, _ *gosdk.CallToolRequest, in echo) (*gosdk.CallToolResult, any, error) {
		return says(in.Message), nil, nil
	})
	type add struct{ A, B int }
	type sum struct {
		Sum int `json:"sum"`
	}
	gosdk.AddTool(srv, &gosdk.Tool{Name: "add"}, func(_ context.Context, _ *gosdk.CallToolRequest, in add) (*gosdk.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	gosdk.AddTool(srv, &gosdk.Tool{Name: "ask"}, func(_ context.Context, r *gosdk.CallToolRequest, _ any) (*gosdk.CallToolResult, any, error) {
		if answer, ok := r.Params.InputResponses["name"].(*gosdk.ElicitResult); ok {
			name, _ := answer.Content["name"].(string)
			return says("Hello, " + name), nil, nil
		}
		schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}
		return &gosdk.CallToolResult{
			InputRequests: gosdk.InputRequestMap{"name": &gosdk.ElicitParams{Message: "Your name?", RequestedSchema: schema}},
			RequestState:  "asked",
		}, nil, nil
	})
	srv.AddResource(&gosdk.Resource{Name: "greeting", URI: "test://greeting"},
		func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
			return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{{URI: r.Params.URI, Text: "hello"}}}, nil
		})
	srv.AddPrompt(&gosdk.Prompt{Name: "greet", Arguments: []*gosdk.PromptArgument{{Name: "name"}}},
		func(_ context.Context, r *gosdk.GetPromptRequest) (*gosdk.GetPromptResult, error) {
			message := &gosdk.PromptMessage{Role: "user", Content: &text{Text: "Greet " + r.Params.Arguments["name"]}}
			return &gosdk.GetPromptResult{Messages: []*gosdk.PromptMessage{message}}, nil
		})
	return srv
}
