package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// form asks for one field of a type.
func form(message, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message:         message,
		RequestedSchema: mcp.FormSchema(mcp.Field{Name: field, Required: true, Schema: mcp.PrimitiveSchema{Type: kind}}),
	}
}

// question asks the model.
func question(text string, maxTokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.OneOrMany{mcp.Text(text)}}},
		MaxTokens: maxTokens,
	}
}

// field returns a text that the user filled in.
func field(res *mcp.ElicitResult, name string) string {
	var s string
	if json.Unmarshal(res.Content[name], &s) != nil {
		return "unknown"
	}
	return s
}

// said returns the text of a model's answer.
func said(res *mcp.CreateMessageResult) string {
	for _, block := range res.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return "no response"
}

// The suite wants a request state in some scenarios, whatever there is to
// remember.
const remembered = "remembered"

// asker elicits one answer and makes the tool's text of it.
func asker(key string, p *mcp.ElicitParams, say func(*mcp.ElicitResult) string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		res, err := server.CallFrom(ctx).Elicit(ctx, key, p)
		if err != nil {
			return "", err
		}
		return say(res), nil
	}
}

// addAskingTools adds what the scenarios of 2026-07-28 call.
func addAskingTools(srv *server.Server) {
	const prefix = "test_input_required_result_"
	add(srv, prefix+"elicitation", "Asks for a name.", asker("user_name", form("What is your name?", "name", "string"),
		func(res *mcp.ElicitResult) string { return "Hello, " + field(res, "name") + "!" }))
	add(srv, prefix+"sampling", "Asks the model.", func(ctx context.Context) (string, error) {
		res, err := server.CallFrom(ctx).Sample(ctx, "capital_question", question("What is the capital of France?", 100))
		if err != nil {
			return "", err
		}
		return "Sampling result: " + said(res), nil
	})
	add(srv, prefix+"list_roots", "Asks for the roots.", func(ctx context.Context) (string, error) {
		res, err := server.CallFrom(ctx).Roots(ctx, "client_roots")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Found %d root(s)", len(res.Roots)), nil
	})
	confirm := form("Please confirm", "ok", "boolean")
	add(srv, prefix+"request_state", "Remembers something while it asks.", rememberWhileAsking(confirm, "state-ok: requestState validated"))
	add(srv, prefix+"tampered_state", "Asks; its state must come back unchanged.", rememberWhileAsking(confirm, "integrity-ok: state verified"))
	add(srv, prefix+"multiple_inputs", "Asks three things at once.", askThree)
	add(srv, prefix+"multi_round", "Asks one thing after another.", askTwice)
	add(srv, prefix+"capabilities", "Asks whatever can be answered.", askWhatCanBeAnswered)
	add(srv, "test_streaming_elicitation", "Reports progress, then asks.", func(ctx context.Context) (string, error) {
		c := server.CallFrom(ctx)
		if err := c.Progress(ctx, 50, 100, "halfway"); err != nil {
			return "", err
		}
		if _, err := c.Elicit(ctx, "confirm", confirm); err != nil {
			return "", err
		}
		return "Streaming complete", nil
	})
	add(srv, "test_missing_capability", "Needs the model of the client.", func(ctx context.Context) (string, error) {
		if _, err := server.CallFrom(ctx).Sample(ctx, "sample", question("Are you there?", 10)); err != nil {
			return "", err
		}
		return "Success", nil
	})
}

func rememberWhileAsking(p *mcp.ElicitParams, done string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		c := server.CallFrom(ctx)
		var state string
		if _, err := c.State(&state); err != nil {
			return "", err
		}
		if err := c.SetState(remembered); err != nil {
			return "", err
		}
		if _, err := c.Elicit(ctx, "confirm", p); err != nil {
			return "", err
		}
		if state != remembered {
			return "", errors.New("the answer came without the state")
		}
		return done, nil
	}
}

func askThree(ctx context.Context) (string, error) {
	var name mcp.ElicitResult
	var greeting mcp.CreateMessageResult
	var roots mcp.ListRootsResult
	c := server.CallFrom(ctx)
	if err := c.SetState(remembered); err != nil {
		return "", err
	}
	err := c.Ask(ctx,
		server.ElicitQuestion("user_name", form("What is your name?", "name", "string"), &name),
		server.SampleQuestion("greeting", question("Generate a greeting", 50), &greeting),
		server.RootsQuestion("client_roots", &roots))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Name: %s; Greeting: %s; Roots: %d", field(&name, "name"), said(&greeting), len(roots.Roots)), nil
}

func askTwice(ctx context.Context) (string, error) {
	c := server.CallFrom(ctx)
	if err := c.SetState(remembered); err != nil {
		return "", err
	}
	name, err := c.Elicit(ctx, "step1", form("Step 1: What is your name?", "name", "string"))
	if err != nil {
		return "", err
	}
	color, err := c.Elicit(ctx, "step2", form("Step 2: What is your favorite color?", "color", "string"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Multi-round complete for %s who likes %s", field(name, "name"), field(color, "color")), nil
}

func askWhatCanBeAnswered(ctx context.Context) (string, error) {
	c := server.CallFrom(ctx)
	var value mcp.ElicitResult
	var sample mcp.CreateMessageResult
	var qs []server.Question
	if c.Capabilities.Elicitation.HasForm() {
		qs = append(qs, server.ElicitQuestion("elicit_input", form("Elicitation input", "value", "string"), &value))
	}
	if c.Capabilities.Sampling != nil {
		qs = append(qs, server.SampleQuestion("sample_input", question("Sample request", 50), &sample))
	}
	if len(qs) == 0 {
		return "No supported capabilities declared", nil
	}
	if err := c.Ask(ctx, qs...); err != nil {
		return "", err
	}
	return fmt.Sprintf("capabilities-ok: %d answered", len(qs)), nil
}
