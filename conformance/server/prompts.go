package main

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// user makes a prompt of blocks that the user says.
func user(blocks ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{}
	for _, b := range blocks {
		res.Messages = append(res.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: b})
	}
	return res
}

// addPrompt adds a prompt of one fixed text.
func addPrompt(srv *server.Server, p mcp.Prompt, text string) error {
	return srv.AddPrompt(p, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
		return user(mcp.Text(text)), nil
	})
}

func addPrompts(srv *server.Server) error {
	if err := addPrompt(srv, mcp.Prompt{Name: "test_simple_prompt", Description: "Has no arguments."}, "This is a simple prompt for testing."); err != nil {
		return err
	}
	prompts := []struct {
		prompt mcp.Prompt
		run    server.PromptHandler
	}{
		{
			prompt: mcp.Prompt{
				Name: "test_prompt_with_arguments", Description: "Has two arguments.",
				Arguments: []mcp.PromptArgument{
					{Name: "arg1", Description: "First test argument", Required: true},
					{Name: "arg2", Description: "Second test argument", Required: true},
				},
			},
			run: func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				return user(mcp.Textf("Prompt with arguments: arg1='%s', arg2='%s'", p.Arguments["arg1"], p.Arguments["arg2"])), nil
			},
		},
		{
			prompt: mcp.Prompt{
				Name: "test_prompt_with_embedded_resource", Description: "Embeds a resource.",
				Arguments: []mcp.PromptArgument{{Name: "resourceUri", Description: "URI of the resource to embed", Required: true}},
			},
			run: func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				embedded := mcp.ResourceContents{URI: p.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}
				return user(&mcp.EmbeddedResource{Resource: embedded}, mcp.Text("Please process the embedded resource above.")), nil
			},
		},
		{
			prompt: mcp.Prompt{Name: "test_prompt_with_image", Description: "Has an image."},
			run: func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				return user(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, mcp.Text("Please analyze the image above.")), nil
			},
		},
		{
			prompt: mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks before it answers."},
			run: func(ctx context.Context, _ *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				res, err := server.CallFrom(ctx).Elicit(ctx, "user_context", form("What context should the prompt use?", "context", "string"))
				if err != nil {
					return nil, err
				}
				return user(mcp.Text("Prompt with context: " + field(res, "context"))), nil
			},
		},
	}
	for _, p := range prompts {
		if err := srv.AddPrompt(p.prompt, p.run); err != nil {
			return fmt.Errorf("prompt %s: %w", p.prompt.Name, err)
		}
	}
	return nil
}

// complete proposes values for the first argument of the prompt that has two.
func complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	res := &mcp.CompleteResult{}
	if p.Ref.Name == "test_prompt_with_arguments" && p.Argument.Name == "arg1" {
		res.Completion.Values = []string{p.Argument.Value + "1", p.Argument.Value + "2"}
	}
	return res, nil
}
