package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"

	"github.com/tenon-mcp/tenon/mcp"
)

// A ResourceHandler reads a resource. [fs.ErrNotExist] says that it does not
// exist. It may ask the client: see [Call.Elicit].
type ResourceHandler func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error)

// A TemplateHandler reads a resource whose URI fits a template. vars has the
// variables of the template, decoded; one that the URI leaves out is not there.
// The values come from the client: one may hold "..", or "/" where it was
// encoded. Only a file URI never has a ".." between slashes, encoded or not.
// [fs.ErrNotExist] says that the resource does not exist.
type TemplateHandler func(ctx context.Context, p *mcp.ReadResourceParams, vars map[string]string) (*mcp.ReadResourceResult, error)

type resource struct {
	def mcp.Resource
	run ResourceHandler
}

type template struct {
	def     mcp.ResourceTemplate
	matcher *matcher
	run     TemplateHandler
}

// AddResource offers a resource, in place of one with the same URI.
func (s *Server) AddResource(r mcp.Resource, h ResourceHandler) error {
	if h == nil {
		return fmt.Errorf("server: resource %q has no handler", r.URI)
	}
	if u, err := url.Parse(r.URI); err != nil || !u.IsAbs() {
		return fmt.Errorf("server: resource %q: the URI must be absolute, as in file:///a or notes://a", r.URI)
	}
	if r.Name == "" {
		return fmt.Errorf("server: resource %q has no name", r.URI)
	}
	if err := checkDefinition("resource", r.URI, &r); err != nil {
		return err
	}
	s.change(listsResources, func(f *features) bool {
		f.resources = f.resources.with(r.URI, &resource{r, h})
		return true
	})
	return nil
}

// RemoveResources takes resources back. URIs that are not there are ignored.
func (s *Server) RemoveResources(uris ...string) {
	s.change(listsResources, func(f *features) (changed bool) {
		f.resources, changed = f.resources.without(uris...)
		return changed
	})
}

// AddResourceTemplate offers the resources whose URIs fit a template of RFC
// 6570, in place of one with the same template. A URI that fits several is read
// through the one with the most literal text.
func (s *Server) AddResourceTemplate(t mcp.ResourceTemplate, h TemplateHandler) error {
	if h == nil {
		return fmt.Errorf("server: resource template %q has no handler", t.URITemplate)
	}
	if t.Name == "" {
		return fmt.Errorf("server: resource template %q has no name", t.URITemplate)
	}
	if err := checkDefinition("resource template", t.URITemplate, &t); err != nil {
		return err
	}
	m, err := newMatcher(t.URITemplate)
	if err != nil {
		return fmt.Errorf("server: resource template %q: %w", t.URITemplate, err)
	}
	s.change(listsResources, func(f *features) bool {
		f.templates = f.templates.with(t.URITemplate, &template{t, m, h})
		f.sortTemplates()
		return true
	})
	return nil
}

// RemoveResourceTemplates takes templates back. Those that are not there are
// ignored.
func (s *Server) RemoveResourceTemplates(uriTemplates ...string) {
	s.change(listsResources, func(f *features) (changed bool) {
		f.templates, changed = f.templates.without(uriTemplates...)
		f.sortTemplates()
		return changed
	})
}

func (f *features) sortTemplates() {
	f.matching = slices.Clone(f.templates.items)
	slices.SortStableFunc(f.matching, func(a, b *template) int {
		return cmp.Compare(b.matcher.literal, a.matcher.literal)
	})
}

func listResources(_ context.Context, c *Call, p *mcp.ListResourcesParams) (any, error) {
	s := c.session.server
	page, next, err := s.features.Load().resources.page(p.Cursor, s.opts.PageSize)
	if err != nil {
		return nil, err
	}
	list := make([]mcp.Resource, len(page))
	for i, r := range page {
		list[i] = r.def
	}
	return &mcp.ListResourcesResult{Resources: list, NextCursor: next}, nil
}

func listTemplates(_ context.Context, c *Call, p *mcp.ListResourceTemplatesParams) (any, error) {
	s := c.session.server
	page, next, err := s.features.Load().templates.page(p.Cursor, s.opts.PageSize)
	if err != nil {
		return nil, err
	}
	list := make([]mcp.ResourceTemplate, len(page))
	for i, t := range page {
		list[i] = t.def
	}
	return &mcp.ListResourceTemplatesResult{ResourceTemplates: list, NextCursor: next}, nil
}

func readResource(ctx context.Context, c *Call, p *mcp.ReadResourceParams) (any, error) {
	if err := checkURI(p.URI); err != nil {
		return nil, err
	}
	run, err := c.session.server.features.Load().reader(p.URI)
	if err != nil {
		return nil, err
	}
	if run == nil {
		return nil, notFound(c, p.URI)
	}
	res, err := run(ctx, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(c, p.URI)
	case err != nil:
		return nil, err
	case res == nil:
		return nil, notFound(c, p.URI)
	}
	out := *res // the handler may give the same one to several requests
	if out.Contents == nil {
		out.Contents = []mcp.ResourceContents{}
	}
	return &out, nil
}

func notFound(c *Call, uri string) error { return mcp.ResourceNotFound(uri, c.Version) }

// checkURI refuses what cannot be the URI of a resource.
func checkURI(uri string) error {
	switch {
	case uri == "":
		return mcp.InvalidParams("params.uri is required")
	case len(uri) > maxKeyBytes:
		return mcp.InvalidParams("params.uri has more than %d bytes", maxKeyBytes)
	}
	return nil
}

// reader finds what reads a URI; nil where nothing does.
func (f *features) reader(uri string) (ResourceHandler, error) {
	if r, ok := f.resources.find(uri); ok {
		return r.run, nil
	}
	if len(f.matching) == 0 {
		return nil, nil
	}
	normal, err := normalURI(uri)
	if err != nil {
		return nil, mcp.InvalidParams("params.uri: %w", err)
	}
	if climbs(normal) {
		return nil, mcp.InvalidParams(`params.uri: ".." is not allowed in a file URI`)
	}
	for _, t := range f.matching {
		vars, ok := t.matcher.match(normal)
		if !ok {
			continue
		}
		return func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return t.run(ctx, p, vars)
		}, nil
	}
	return nil, nil
}
