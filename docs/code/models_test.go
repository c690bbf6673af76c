package code_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

// ask sends a request to a model's provider, and returns what it said.
type ask func(ctx context.Context, tools jsontext.Value, conversation []jsontext.Value) (jsontext.Value, error)

func loop(ctx context.Context, c *client.Client, ask ask, conversation []jsontext.Value) error {
	// convert {
	var tools []mcp.Tool
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		tools = append(tools, *tool)
	}
	model, err := client.ConvertTools(client.OpenAIResponses, tools, &client.ConvertOptions{Strict: true})
	if err != nil {
		fmt.Println("left out:", err) // the others can be used
	}
	// }

	// loop {
	for {
		output, err := ask(ctx, model.Definitions(), conversation) // "tools" and "input" of a request; its "output"
		if err != nil {
			return err
		}
		calls, err := model.Calls(output)
		if err != nil || len(calls) == 0 {
			return err
		}
		var outcomes []client.Outcome
		for _, call := range calls {
			var res *mcp.CallToolResult
			if call.Err == nil { // otherwise the model is told what is wrong
				if res, err = c.CallTool(ctx, &call.Params); err != nil {
					return err
				}
			}
			outcomes = append(outcomes, client.Outcome{Call: call, Result: res})
		}
		answers, err := model.Messages(outcomes...)
		if err != nil {
			fmt.Println("not shown to the model:", err)
		}
		var said []jsontext.Value // what the model said is a part of the conversation
		if err := json.Unmarshal(output, &said); err != nil {
			return err
		}
		conversation = slices.Concat(conversation, said, answers)
	}
	// }
}

func TestModelLoop(t *testing.T) {
	t.Parallel()
	srv := server.New(mcp.Implementation{Name: "t"}, nil)
	server.AddTool(srv, mcp.Tool{Name: "add"}, func(_ context.Context, in Terms) (Sum, error) { return Sum{Sum: in.A + in.B}, nil })
	model := func(_ context.Context, tools jsontext.Value, conversation []jsontext.Value) (jsontext.Value, error) {
		if !strings.Contains(string(tools), `"strict":true`) {
			t.Errorf("tools: %s", tools)
		}
		if len(conversation) == 1 {
			return jsontext.Value(`[{"type":"function_call","call_id":"1","name":"add","arguments":"{\"a\":2,\"b\":3}"}]`), nil
		}
		if got := string(conversation[2]); !strings.Contains(got, `{\"sum\":5}`) {
			t.Errorf("answer: %s", got)
		}
		return jsontext.Value(`[]`), nil
	}
	if err := loop(t.Context(), mcptest.Pair(t, srv, nil), model, []jsontext.Value{jsontext.Value(`{"role":"user","content":"2+3?"}`)}); err != nil {
		t.Error(err)
	}
}
