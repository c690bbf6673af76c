package client

import (
	"context"
	"iter"

	"github.com/tenon-mcp/tenon/mcp"
)

// ListResources returns one page of the resources.
func (c *Client) ListResources(ctx context.Context, p *mcp.ListResourcesParams, opts ...CallOption) (*mcp.ListResourcesResult, error) {
	res := new(mcp.ListResourcesResult)
	if err := c.do(ctx, mcp.MethodResourcesList, orEmpty(p), res, opts); err != nil {
		return nil, err
	}
	return res, nil
}

// Resources iterates over all resources, page after page. It ends with the
// first error.
func (c *Client) Resources(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Resource, error] {
	return pages(c, mcp.MethodResourcesList, func(cursor *string) ([]mcp.Resource, *string, error) {
		res, err := c.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor}, opts...)
		if err != nil {
			return nil, nil, err
		}
		return res.Resources, res.NextCursor, nil
	})
}

// ListResourceTemplates returns one page of the templates of resources.
func (c *Client) ListResourceTemplates(ctx context.Context, p *mcp.ListResourceTemplatesParams, opts ...CallOption) (*mcp.ListResourceTemplatesResult, error) {
	res := new(mcp.ListResourceTemplatesResult)
	if err := c.do(ctx, mcp.MethodResourceTemplatesList, orEmpty(p), res, opts); err != nil {
		return nil, err
	}
	return res, nil
}

// ResourceTemplates iterates over all templates, page after page. It ends with
// the first error.
func (c *Client) ResourceTemplates(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.ResourceTemplate, error] {
	return pages(c, mcp.MethodResourceTemplatesList, func(cursor *string) ([]mcp.ResourceTemplate, *string, error) {
		res, err := c.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor}, opts...)
		if err != nil {
			return nil, nil, err
		}
		return res.ResourceTemplates, res.NextCursor, nil
	})
}

// ReadResource reads a resource. Servers say that there is none with the code
// -32002 (legacy) or -32602 (modern, where it is also the code for params that
// are wrong otherwise).
func (c *Client) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	res := new(mcp.ReadResourceResult)
	if err := c.do(ctx, mcp.MethodResourcesRead, &mcp.ReadResourceParams{URI: uri}, res, opts); err != nil {
		return nil, err
	}
	return res, nil
}
