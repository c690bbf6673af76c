package client

import (
	"context"
	"iter"

	"github.com/tenon-mcp/tenon/mcp"
)

// ListPrompts returns one page of the prompts.
func (c *Client) ListPrompts(ctx context.Context, p *mcp.ListPromptsParams, opts ...CallOption) (*mcp.ListPromptsResult, error) {
	res := new(mcp.ListPromptsResult)
	if err := c.do(ctx, mcp.MethodPromptsList, orEmpty(p), res, opts); err != nil {
		return nil, err
	}
	return res, nil
}

// Prompts iterates over all prompts, page after page. It ends with the first
// error.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Prompt, error] {
	return pages(c, mcp.MethodPromptsList, func(cursor *string) ([]mcp.Prompt, *string, error) {
		res, err := c.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor}, opts...)
		if err != nil {
			return nil, nil, err
		}
		return res.Prompts, res.NextCursor, nil
	})
}

// GetPrompt fills in a prompt.
func (c *Client) GetPrompt(ctx context.Context, p *mcp.GetPromptParams, opts ...CallOption) (*mcp.GetPromptResult, error) {
	res := new(mcp.GetPromptResult)
	if err := c.do(ctx, mcp.MethodPromptsGet, p, res, opts); err != nil {
		return nil, err
	}
	return res, nil
}
