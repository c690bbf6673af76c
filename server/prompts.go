package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
)

// A PromptHandler makes the messages of a prompt. The required arguments are
// there. It may ask the client: see [Call.Elicit].
type PromptHandler func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error)

type prompt struct {
	def mcp.Prompt
	run PromptHandler
}

// AddPrompt offers a prompt, in place of one with the same name.
func (s *Server) AddPrompt(p mcp.Prompt, h PromptHandler) error {
	if p.Name == "" {
		return errors.New("server: a prompt has no name")
	}
	if h == nil {
		return fmt.Errorf("server: prompt %q has no handler", p.Name)
	}
	seen := map[string]bool{}
	for _, a := range p.Arguments {
		if a.Name == "" || seen[a.Name] {
			return fmt.Errorf("server: prompt %q has two arguments named %q, or one without a name", p.Name, a.Name)
		}
		seen[a.Name] = true
	}
	if err := checkDefinition("prompt", p.Name, &p); err != nil {
		return err
	}
	s.change(listsPrompts, func(f *features) bool {
		f.prompts = f.prompts.with(p.Name, &prompt{p, h})
		return true
	})
	return nil
}

// RemovePrompts takes prompts back. Names that are not there are ignored.
func (s *Server) RemovePrompts(names ...string) {
	s.change(listsPrompts, func(f *features) (changed bool) {
		f.prompts, changed = f.prompts.without(names...)
		return changed
	})
}

func listPrompts(_ context.Context, c *Call, p *mcp.ListPromptsParams) (any, error) {
	s := c.session.server
	page, next, err := s.features.Load().prompts.page(p.Cursor, s.opts.PageSize)
	if err != nil {
		return nil, err
	}
	list := make([]mcp.Prompt, len(page))
	for i, pr := range page {
		list[i] = pr.def
	}
	return &mcp.ListPromptsResult{Prompts: list, NextCursor: next}, nil
}

func getPrompt(ctx context.Context, c *Call, p *mcp.GetPromptParams) (any, error) {
	if p.Name == "" {
		return nil, mcp.InvalidParams("params.name is required")
	}
	pr, ok := c.session.server.features.Load().prompts.find(p.Name)
	if !ok {
		return nil, mcp.InvalidParams("unknown prompt: %s", capped(p.Name))
	}
	for _, a := range pr.def.Arguments {
		if _, given := p.Arguments[a.Name]; a.Required && !given {
			return nil, mcp.InvalidParams("prompt %s: the argument %q is required", pr.def.Name, a.Name)
		}
	}
	res, err := pr.run(ctx, p)
	if err != nil {
		return nil, err
	}
	if res == nil {
		res = &mcp.GetPromptResult{}
	}
	out := *res // the handler may give the same one to several requests
	if out.Messages == nil {
		out.Messages = []mcp.PromptMessage{}
	}
	return &out, nil
}
