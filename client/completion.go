package client

import (
	"context"

	"github.com/tenon-mcp/tenon/mcp"
)

// Complete asks for values of an argument of a prompt or a resource template.
// Typing is faster than a network: the caller waits a little before it asks.
func (c *Client) Complete(ctx context.Context, p *mcp.CompleteParams, opts ...CallOption) (*mcp.CompleteResult, error) {
	res := new(mcp.CompleteResult)
	if err := c.do(ctx, mcp.MethodComplete, p, res, opts); err != nil {
		return nil, err
	}
	return res, nil
}
