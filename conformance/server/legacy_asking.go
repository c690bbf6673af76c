package main

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// addLegacyAskingTools adds what the scenarios of 2025-11-25 call. They work
// in either era.
func addLegacyAskingTools(srv *server.Server) {
	type prompt struct {
		Prompt string `json:"prompt" jsonschema:"what to ask the model"`
	}
	server.AddTool(srv, mcp.Tool{Name: "test_sampling", Description: "Asks the model of the client."},
		func(ctx context.Context, in prompt) (string, error) {
			res, err := server.CallFrom(ctx).Sample(ctx, "sample", question(in.Prompt, 100))
			if err != nil {
				return "", err
			}
			return "LLM response: " + said(res), nil
		})
	type message struct {
		Message string `json:"message" jsonschema:"what to show the user"`
	}
	server.AddTool(srv, mcp.Tool{Name: "test_elicitation", Description: "Asks the user of the client."},
		func(ctx context.Context, in message) (string, error) {
			return asker("user", &mcp.ElicitParams{Message: in.Message, RequestedSchema: mcp.FormSchema(
				mcp.Field{Name: "username", Required: true, Schema: text("User's response")},
				mcp.Field{Name: "email", Required: true, Schema: text("User's email address")},
			)}, report("User response"))(ctx)
		})
	add(srv, "test_elicitation_sep1034_defaults", "Asks with defaults.", asker("form", &mcp.ElicitParams{
		Message: "Please review and update the form fields with defaults", RequestedSchema: formWithDefaults(),
	}, report("Elicitation completed")))
	add(srv, "test_elicitation_sep1330_enums", "Asks with choices.", asker("form", &mcp.ElicitParams{
		Message: "Please select options from the enum fields", RequestedSchema: formWithChoices(),
	}, report("Elicitation completed")))
}

func text(description string) mcp.PrimitiveSchema {
	return mcp.PrimitiveSchema{Type: "string", Description: description}
}

// report tells what the user did.
func report(what string) func(*mcp.ElicitResult) string {
	return func(res *mcp.ElicitResult) string {
		content, err := json.Marshal(res.Content)
		if err != nil {
			content = []byte("{}")
		}
		return fmt.Sprintf("%s: action=%s, content=%s", what, res.Action, content)
	}
}

func formWithDefaults() jsontext.Value {
	field := func(name, kind, preset string, choices ...string) mcp.Field {
		return mcp.Field{Name: name, Schema: mcp.PrimitiveSchema{
			Type: kind, Description: "User " + name, Default: jsontext.Value(preset), Enum: choices,
		}}
	}
	return mcp.FormSchema(
		field("name", "string", `"John Doe"`),
		field("age", "integer", `30`),
		field("score", "number", `95.5`),
		field("status", "string", `"active"`, "active", "inactive", "pending"),
		field("verified", "boolean", `true`),
	)
}

func formWithChoices() jsontext.Value {
	titled := func(noun string) []mcp.EnumOption {
		return []mcp.EnumOption{
			{Const: "value1", Title: "First " + noun}, {Const: "value2", Title: "Second " + noun}, {Const: "value3", Title: "Third " + noun},
		}
	}
	plain := []string{"option1", "option2", "option3"}
	one, three := int64(1), int64(3)
	many := func(items *mcp.EnumItems) mcp.PrimitiveSchema {
		return mcp.PrimitiveSchema{Type: "array", Description: "Select several", MinItems: &one, MaxItems: &three, Items: items}
	}
	return mcp.FormSchema(
		mcp.Field{Name: "untitledSingle", Schema: mcp.PrimitiveSchema{Type: "string", Enum: plain}},
		mcp.Field{Name: "titledSingle", Schema: mcp.PrimitiveSchema{Type: "string", OneOf: titled("Option")}},
		mcp.Field{Name: "legacyEnum", Schema: mcp.PrimitiveSchema{
			Type: "string", Enum: []string{"opt1", "opt2", "opt3"}, EnumNames: []string{"Option One", "Option Two", "Option Three"},
		}},
		mcp.Field{Name: "untitledMulti", Schema: many(&mcp.EnumItems{Type: "string", Enum: plain})},
		mcp.Field{Name: "titledMulti", Schema: many(&mcp.EnumItems{AnyOf: titled("Choice")})},
	)
}
