package interop_test

import (
	"context"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// useGoServer has tenon's client use a server with the tools echo, add and
// ask, the resource test://greeting and the prompt greet.
func useGoServer(t *testing.T, d rpc.Dialer, modern bool) {
	t.Helper()
	ctx := t.Context()
	c, err := client.Connect(ctx, d, &client.Options{
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]jsontext.Value{"name": jsontext.Value(`"Ada"`)}}, nil
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
	if c.Version().Modern() != modern {
		t.Errorf("version %s, want modern to be %v", c.Version(), modern)
	}
	var tools []string
	for tool, err := range c.Tools(ctx) {
		noError(t, err)
		tools = append(tools, tool.Name)
	}
	slices.Sort(tools)
	if diff := cmp.Diff([]string{"add", "ask", "echo"}, tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if got := callText(t, c, "echo", map[string]string{"message": "grüße"}); got != "grüße" {
		t.Errorf("echo: %q", got)
	}
	type sum struct {
		Sum int `json:"sum"`
	}
	if got, err := client.CallTool[sum](ctx, c, "add", map[string]int{"A": 2, "B": 40}); err != nil || got.Sum != 42 {
		t.Errorf("add: %+v, %v", got, err)
	}
	if got := callText(t, c, "ask", nil); got != "Hello, Ada" {
		t.Errorf("ask: %q", got)
	}
	read, err := c.ReadResource(ctx, "test://greeting")
	noError(t, err)
	if len(read.Contents) != 1 || read.Contents[0].Text != "hello" {
		t.Errorf("resource: %+v", read.Contents)
	}
	prompt, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
	noError(t, err)
	if len(prompt.Messages) != 1 || textOf(mcp.Contents{prompt.Messages[0].Content}) != "Greet Ada" {
		t.Errorf("prompt: %+v", prompt.Messages)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
