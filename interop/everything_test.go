package interop_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// TestServerEverything has tenon's client use the reference server of npm.
func TestServerEverything(t *testing.T) {
	t.Parallel()
	needNode(t)
	program := npm("server-everything", "dist", "index.js")

	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		useServerEverything(t, &stdio.Command{Path: "node", Args: []string{program, "stdio"}})
	})
	t.Run("streamable http", func(t *testing.T) {
		t.Parallel()
		addr := startNode(t, program, "streamableHttp")
		useServerEverything(t, &streamhttp.Dialer{URL: "http://" + addr + "/mcp"})
	})
	t.Run("http+sse", func(t *testing.T) {
		t.Parallel()
		addr := startNode(t, program, "sse")
		useServerEverything(t, &streamhttp.SSEDialer{URL: "http://" + addr + "/sse"})
	})
}

func useServerEverything(t *testing.T, d rpc.Dialer) {
	t.Helper()
	ctx := t.Context()
	c, err := client.Connect(ctx, d, &client.Options{
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]jsontext.Value{"name": jsontext.Value(`"Ada"`)}}, nil
		},
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "fixed", Content: mcp.OneOrMany{mcp.Text("Paris")}}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///interop", Name: "interop"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if c.Version().Modern() {
		t.Errorf("version %s, want one of the legacy era", c.Version())
	}
	everythingTools(t, c)
	everythingQuestions(t, c)
	everythingReading(t, c)
}

func everythingTools(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	var tools []string
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool.Name)
	}
	for _, want := range []string{"echo", "get-sum", "get-structured-content", "get-tiny-image", "trigger-long-running-operation"} {
		if !slices.Contains(tools, want) {
			t.Errorf("tool %s is not listed: %v", want, tools)
		}
	}
	if got := callText(t, c, "echo", map[string]any{"message": "grüße"}); got != "Echo: grüße" {
		t.Errorf("echo: %q", got)
	}
	if got := callText(t, c, "get-sum", map[string]any{"a": 2, "b": 40}); got != "The sum of 2 and 40 is 42." {
		t.Errorf("get-sum: %q", got)
	}
	type weather struct {
		Temperature int    `json:"temperature"`
		Conditions  string `json:"conditions"`
		Humidity    int    `json:"humidity"`
	}
	got, err := client.CallTool[weather](ctx, c, "get-structured-content", map[string]any{"location": "Chicago"})
	if want := (weather{36, "Light rain / drizzle", 82}); err != nil || got != want {
		t.Errorf("get-structured-content: %v, %v; want %v", got, err, want)
	}
	image, err := client.CallTool[[]mcp.Content](ctx, c, "get-tiny-image", nil)
	if err != nil {
		t.Fatal(err)
	}
	isPNG := func(b mcp.Content) bool {
		i, ok := b.(*mcp.ImageContent)
		return ok && i.MIMEType == "image/png" && strings.HasPrefix(string(i.Data), "\x89PNG")
	}
	if !slices.ContainsFunc(image, isPNG) {
		t.Errorf("get-tiny-image: no PNG in %v", image)
	}
	everythingProgress(t, c)
}

func everythingProgress(t *testing.T, c *client.Client) {
	t.Helper()
	var mu sync.Mutex
	var steps []float64
	watch := client.OnProgress(func(p mcp.ProgressParams) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, p.Progress)
	})
	args := map[string]any{"duration": 0.2, "steps": 4}
	if _, err := client.CallTool[string](t.Context(), c, "trigger-long-running-operation", args, watch); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]float64{1, 2, 3, 4}, steps); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func everythingQuestions(t *testing.T, c *client.Client) {
	t.Helper()
	for tool, want := range map[string]string{
		"trigger-elicitation-request": "- Name: Ada",
		"trigger-sampling-request":    `"text": "Paris"`,
		"get-roots-list":              "file:///interop",
	} {
		if got := callText(t, c, tool, map[string]any{"prompt": "capital of France?"}); !strings.Contains(got, want) {
			t.Errorf("%s: %q does not contain %q", tool, got, want)
		}
	}
}

func everythingReading(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	read, err := c.ReadResource(ctx, "demo://resource/dynamic/text/1")
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Contents) != 1 || !strings.HasPrefix(read.Contents[0].Text, "Resource 1:") {
		t.Errorf("resource: %+v", read.Contents)
	}
	var templates []string
	for tmpl, err := range c.ResourceTemplates(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, tmpl.URITemplate)
	}
	if !slices.Contains(templates, "demo://resource/dynamic/text/{resourceId}") {
		t.Errorf("templates: %v", templates)
	}
	prompt, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "args-prompt", Arguments: map[string]string{"city": "Rome"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(prompt.Messages) != 1 {
		t.Fatalf("prompt: %+v", prompt)
	}
	if got := textOf(mcp.Contents{prompt.Messages[0].Content}); got != "What's weather in Rome?" {
		t.Errorf("prompt: %q", got)
	}
}

// callText calls a tool and returns its text.
func callText(t *testing.T, c *client.Client, tool string, args any) string {
	t.Helper()
	res, err := client.CallTool[*mcp.CallToolResult](t.Context(), c, tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return textOf(res.Content)
}
