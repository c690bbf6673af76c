package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	mcpgoclient "github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// TestMCPGoClient has the client of mcp-go use tenon's server.
func TestMCPGoClient(t *testing.T) {
	t.Parallel()
	for _, version := range []mcp.Version{mcp.V20251125, mcp.V20260728} {
		t.Run("http "+string(version), func(t *testing.T) {
			t.Parallel()
			c, err := mcpgoclient.NewStreamableHttpClient(serveFixture(t))
			noError(t, err)
			mcpGoConverse(t, c, version)
		})
		t.Run("stdio "+string(version), func(t *testing.T) {
			t.Parallel()
			name, env := fixtureCommand(t)
			c, err := mcpgoclient.NewStdioMCPClient(name, env)
			noError(t, err)
			mcpGoConverse(t, c, version)
		})
	}
}

// mcpGoHost answers what the server asks.
type mcpGoHost struct{}

func (mcpGoHost) Elicit(context.Context, mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	response := mcpgo.ElicitationResponse{Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada"}}
	return &mcpgo.ElicitationResult{ElicitationResponse: response}, nil
}

func (mcpGoHost) CreateMessage(context.Context, mcpgo.CreateMessageRequest) (*mcpgo.CreateMessageResult, error) {
	message := mcpgo.SamplingMessage{Role: mcpgo.RoleAssistant, Content: mcpgo.NewTextContent("Paris")}
	return &mcpgo.CreateMessageResult{SamplingMessage: message, Model: "fixed"}, nil
}

func (mcpGoHost) ListRoots(context.Context, mcpgo.ListRootsRequest) (*mcpgo.ListRootsResult, error) {
	return &mcpgo.ListRootsResult{Roots: []mcpgo.Root{{URI: "file:///interop", Name: "interop"}}}, nil
}

func mcpGoConverse(t *testing.T, c *mcpgoclient.Client, version mcp.Version) {
	t.Helper()
	for _, option := range []mcpgoclient.ClientOption{
		mcpgoclient.WithElicitationHandler(mcpGoHost{}), mcpgoclient.WithSamplingHandler(mcpGoHost{}), mcpgoclient.WithRootsHandler(mcpGoHost{}),
	} {
		option(c)
	}
	if !version.Modern() {
		mcpgoclient.WithLegacyProtocolOnly()(c)
	}
	var mu sync.Mutex
	var progress []float64
	c.OnNotification(func(n mcpgo.JSONRPCNotification) {
		if p, ok := n.Params.AdditionalFields["progress"].(float64); ok && n.Method == mcp.NotificationProgress {
			mu.Lock()
			defer mu.Unlock()
			progress = append(progress, p)
		}
	})
	ctx := t.Context()
	noError(t, c.Start(ctx))
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	params := mcpgo.InitializeParams{ProtocolVersion: string(version), ClientInfo: mcpgo.Implementation{Name: "mcp-go", Version: "1.2.1"}}
	init, err := c.Initialize(ctx, mcpgo.InitializeRequest{Params: params})
	noError(t, err)

	got := mcpGoSeen(t, c)
	got.Version, got.Server = c.ProtocolVersion(), init.ServerInfo.Name
	want := wantSeen(version)
	// mcp-go hands notifications over when it gets to it, and drops some when
	// they come fast: what there is must be right.
	want.Progress = nil
	mu.Lock()
	defer mu.Unlock()
	for _, p := range progress {
		if !slices.Contains([]float64{1, 2, 3}, p) {
			t.Errorf("progress %v", progress)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mcp-go saw (-want +got):\n%s", diff)
	}
}

func mcpGoSeen(t *testing.T, c *mcpgoclient.Client) seen {
	t.Helper()
	ctx := t.Context()
	call := func(name string, args map[string]any) *mcpgo.CallToolResult {
		t.Helper()
		params := mcpgo.CallToolParams{Name: name, Arguments: args, Meta: &mcpgo.Meta{ProgressToken: "token-" + name}}
		res, err := c.CallTool(ctx, mcpgo.CallToolRequest{Params: params})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res
	}
	text := func(name string, args map[string]any) string {
		t.Helper()
		if b, ok := call(name, args).Content[0].(mcpgo.TextContent); ok {
			return b.Text
		}
		return ""
	}
	s := seen{
		Echo: text("echo", map[string]any{"message": "grüße"}), Count: text("count", map[string]any{"steps": 3}),
		Ask: text("ask", nil), Sample: text("sample", nil), Roots: text("roots", nil),
		Failed: text("fail", nil), Invalid: call("add", map[string]any{"a": "two", "b": 1}).IsError,
	}
	s.Add, _ = call("add", map[string]any{"a": 2, "b": 40}).StructuredContent.(map[string]any)
	tools, err := c.ListTools(ctx, mcpgo.ListToolsRequest{})
	noError(t, err)
	for _, tool := range tools.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	slices.Sort(s.Tools)
	prompts, err := c.ListPrompts(ctx, mcpgo.ListPromptsRequest{})
	noError(t, err)
	for _, p := range prompts.Prompts {
		s.Prompts = append(s.Prompts, p.Name)
	}
	mcpGoRead(t, c, &s)
	return s
}

func mcpGoRead(t *testing.T, c *mcpgoclient.Client, s *seen) {
	t.Helper()
	ctx := t.Context()
	read := func(uri string) (text, blob string, err error) {
		res, err := c.ReadResource(ctx, mcpgo.ReadResourceRequest{Params: mcpgo.ReadResourceParams{URI: uri}})
		if err != nil {
			return "", "", err
		}
		switch r := res.Contents[0].(type) {
		case mcpgo.TextResourceContents:
			return r.Text, "", nil
		case mcpgo.BlobResourceContents:
			return "", r.Blob, nil
		}
		return "", "", errors.New("contents of an unknown type")
	}
	resources, err := c.ListResources(ctx, mcpgo.ListResourcesRequest{})
	noError(t, err)
	for _, r := range resources.Resources {
		s.Resources = append(s.Resources, r.URI)
	}
	templates, err := c.ListResourceTemplates(ctx, mcpgo.ListResourceTemplatesRequest{})
	noError(t, err)
	for _, r := range templates.ResourceTemplates {
		s.Templates = append(s.Templates, r.URITemplate.Raw())
	}
	s.Resource, _, err = read("test://greeting")
	noError(t, err)
	_, s.Bytes, err = read("test://bytes")
	noError(t, err)
	s.Templated, _, err = read("test://item/7")
	noError(t, err)
	// mcp-go has an error for each code, and keeps the code to itself.
	_, _, err = read("test://nothing")
	switch {
	case errors.Is(err, mcpgo.ErrResourceNotFound):
		s.Missing = mcp.CodeResourceNotFound
	case errors.Is(err, mcpgo.ErrInvalidParams):
		s.Missing = rpc.CodeInvalidParams
	}
	prompt, err := c.GetPrompt(ctx, mcpgo.GetPromptRequest{Params: mcpgo.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}}})
	noError(t, err)
	if b, ok := prompt.Messages[0].Content.(mcpgo.TextContent); ok {
		s.Prompt = b.Text
	}
	done, err := c.Complete(ctx, mcpgo.CompleteRequest{Params: mcpgo.CompleteParams{
		Ref:      mcpgo.PromptReference{Type: "ref/prompt", Name: "greet"},
		Argument: mcpgo.CompleteArgument{Name: "name", Value: "A"},
	}})
	noError(t, err)
	s.Completion = done.Completion.Values
}

// TestMCPGoServer has tenon's client use a server of mcp-go.
func TestMCPGoServer(t *testing.T) {
	t.Parallel()
	h := mcpgoserver.NewStreamableHTTPServer(mcpGoServer())
	useGoServer(t, &streamhttp.Dialer{URL: serveHTTP(t, h) + "/mcp"}, true)
}

func mcpGoServer() *mcpgoserver.MCPServer {
	srv := mcpgoserver.NewMCPServer("peer", "1", mcpgoserver.WithElicitation())
	add := func(name, schema string, h mcpgoserver.ToolHandlerFunc) {
		srv.AddTool(mcpgo.NewToolWithRawSchema(name, name, json.RawMessage(schema)), h)
	}
	add("echo", `{"type":"object","properties":{"message":{"type":"string"}}}`,
		func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultText(r.GetString("message", "")), nil
		})
	add("add", `{"type":"object","properties":{"A":{"type":"integer"},"B":{"type":"integer"}}}`,
		func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			sum := map[string]int{"sum": r.GetInt("A", 0) + r.GetInt("B", 0)}
			return mcpgo.NewToolResultStructured(sum, "the sum"), nil
		})
	add("ask", `{"type":"object"}`, func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if answer := mcpgoserver.ElicitationResponse(r.Params.InputResponses, "name"); answer != nil {
			content, _ := answer.Content.(map[string]any)
			name, _ := content["name"].(string)
			return mcpgo.NewToolResultText("Hello, " + name), nil
		}
		schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}
		return mcpgoserver.NewInputRequestBuilder("asked").Elicit("name", mcpgo.ElicitationParams{Message: "Your name?", RequestedSchema: schema}).ToolResult(), nil
	})
	srv.AddResource(mcpgo.NewResource("test://greeting", "greeting"),
		func(_ context.Context, r mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: r.Params.URI, Text: "hello"}}, nil
		})
	srv.AddPrompt(mcpgo.NewPrompt("greet", mcpgo.WithArgument("name")),
		func(_ context.Context, r mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
			message := mcpgo.NewPromptMessage(mcpgo.RoleUser, mcpgo.NewTextContent("Greet "+r.Params.Arguments["name"]))
			return mcpgo.NewGetPromptResult("", []mcpgo.PromptMessage{message}), nil
		})
	return srv
}
