package server

import (
	"context"

	"github.com/tenon-mcp/tenon/mcp"
)

func complete(ctx context.Context, c *Call, p *mcp.CompleteParams) (any, error) {
	s := c.session.server
	if p.Argument.Name == "" {
		return nil, mcp.InvalidParams("params.argument.name is required")
	}
	if err := s.features.Load().checkReference(p.Ref); err != nil {
		return nil, err
	}
	res, err := s.opts.Complete(ctx, p)
	if err != nil {
		return nil, err
	}
	if res == nil {
		res = &mcp.CompleteResult{}
	}
	out := *res
	cut(&out.Completion)
	return &out, nil
}

// checkReference refuses what is not offered.
func (f *features) checkReference(ref mcp.CompleteReference) error {
	switch ref.Type {
	case mcp.RefPrompt:
		if _, ok := f.prompts.find(ref.Name); ok {
			return nil
		}
		return mcp.InvalidParams("unknown prompt: %s", capped(ref.Name))
	case mcp.RefResource:
		if _, ok := f.templates.find(ref.URI); ok {
			return nil
		}
		if _, ok := f.resources.find(ref.URI); ok {
			return nil
		}
		return mcp.InvalidParams("unknown resource template: %s", capped(ref.URI)).WithData(mcp.ResourceData{URI: ref.URI})
	}
	return mcp.InvalidParams("params.ref.type must be %s or %s", mcp.RefPrompt, mcp.RefResource)
}

// cut keeps the number of values that the protocol allows.
func cut(c *mcp.Completion) {
	if c.Values == nil {
		c.Values = []string{}
	}
	n := len(c.Values)
	if n <= mcp.MaxCompletions {
		return
	}
	if c.Total == nil {
		total := int64(n)
		c.Total = &total
	}
	c.Values, c.HasMore = c.Values[:mcp.MaxCompletions], true
}
