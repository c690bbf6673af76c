package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// scenarios are those that want more than a look at everything there is.
var scenarios = map[string]func(context.Context, *client.Client) error{
	"initialize":                       listTools,
	"json-schema-ref-no-deref":         listTools,
	"tools_call":                       callAll(`{"a":2,"b":3}`),
	"http-invalid-tool-headers":        callAll(`{"region":"us-west1"}`),
	"http-custom-headers":              callAsTold,
	"json-schema-2020-12-preservation": echoSchema,
}

// A host answers what servers ask.
type host struct {
	client atomic.Pointer[client.Client] // set once it is connected
}

// elicit accepts the form as it is: the defaults are filled in by the client.
// Where the server has a tool that is to be called while another one waits for
// this answer, it calls it.
func (h *host) elicit(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	const between = "test_mrtr_unrelated"
	if c := h.client.Load(); c != nil && hasTool(ctx, c, between) {
		if err := call(ctx, c, between, nil); err != nil {
			return nil, err
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]jsontext.Value{}}, nil
}

func sample(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{
		Role: mcp.RoleAssistant, Content: mcp.OneOrMany{mcp.Text("A fixed answer.")}, Model: "fixed", StopReason: "endTurn",
	}, nil
}

func listTools(ctx context.Context, c *client.Client) error {
	for _, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

// callAll calls every tool with the same arguments.
func callAll(args string) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				return err
			}
			if err := call(ctx, c, tool.Name, jsontext.Value(args)); err != nil {
				return err
			}
		}
		return nil
	}
}

// useEverything calls, reads and gets whatever the server has.
func useEverything(ctx context.Context, c *client.Client) error {
	caps := c.ServerCapabilities()
	if caps.Tools != nil {
		if err := callAll(`{}`)(ctx, c); err != nil {
			return err
		}
	}
	if caps.Resources != nil {
		for r, err := range c.Resources(ctx) {
			if err == nil {
				_, err = c.ReadResource(ctx, r.URI)
			}
			if err != nil {
				return err
			}
		}
	}
	if caps.Prompts != nil {
		for p, err := range c.Prompts(ctx) {
			if err == nil {
				_, err = c.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Name})
			}
			if err != nil {
				return err
			}
		}
	}
	if caps.Tools == nil && caps.Resources == nil && caps.Prompts == nil {
		return listTools(ctx, c) // a server that declares nothing is asked all the same
	}
	return nil
}

// callAsTold calls the tools that the scenario names.
func callAsTold(ctx context.Context, c *client.Client) error {
	var told struct {
		ToolCalls []struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &told); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if err := listTools(ctx, c); err != nil {
		return err
	}
	for _, t := range told.ToolCalls {
		if err := call(ctx, c, t.Name, t.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends back the schema of one tool as it came.
func echoSchema(ctx context.Context, c *client.Client) error {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		if tool.Name != "json_schema_2020_12_tool" {
			continue
		}
		args, err := json.Marshal(map[string]jsontext.Value{"schema": tool.InputSchema})
		if err != nil {
			return err
		}
		return call(ctx, c, "json_schema_echo", args)
	}
	return errors.New("the server has no tool json_schema_2020_12_tool")
}

func hasTool(ctx context.Context, c *client.Client, name string) bool {
	for tool, err := range c.Tools(ctx) {
		if err == nil && tool.Name == name {
			return true
		}
	}
	return false
}

func call(ctx context.Context, c *client.Client, name string, args jsontext.Value) error {
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	if !res.IsError {
		return nil
	}
	var text []string
	for _, block := range res.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			text = append(text, t.Text)
		}
	}
	return fmt.Errorf("call %s: %s", name, cmp.Or(strings.Join(text, "\n"), "it failed without a word"))
}
