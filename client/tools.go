package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// ListTools returns one page of the tools. On a modern connection tools whose
// x-mcp-header annotations break the rules are left out, and named in the log.
func (c *Client) ListTools(ctx context.Context, p *mcp.ListToolsParams, opts ...CallOption) (*mcp.ListToolsResult, error) {
	res := new(mcp.ListToolsResult)
	if err := c.do(ctx, mcp.MethodToolsList, orEmpty(p), res, opts); err != nil {
		return nil, err
	}
	res.Tools = c.learn(res.Tools)
	return res, nil
}

// Tools iterates over all tools, page after page. It ends with the first error.
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Tool, error] {
	return pages(c, mcp.MethodToolsList, func(cursor *string) ([]mcp.Tool, *string, error) {
		res, err := c.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor}, opts...)
		if err != nil {
			return nil, nil, err
		}
		return res.Tools, res.NextCursor, nil
	})
}

// CallTool calls a tool. A tool that failed is a result with IsError set, not
// an error: errors are of the protocol and the connection. What was sent may
// have been carried out where an error says nothing of it, so nothing is sent
// again by itself, except a call that the server refused for its headers.
func (c *Client) CallTool(ctx context.Context, p *mcp.CallToolParams, opts ...CallOption) (*mcp.CallToolResult, error) {
	if c.opts.Tasks && p != nil {
		return c.callOrWait(ctx, new(operation).call(), p, opts)
	}
	return c.callTool(ctx, new(operation).call(), p, opts)
}

// callOrWait calls a tool, and waits where that becomes a task.
func (c *Client) callOrWait(ctx context.Context, call *Call, p *mcp.CallToolParams, opts []CallOption) (*mcp.CallToolResult, error) {
	res, err := c.callTool(ctx, call, p, append(slices.Clip(opts), AcceptResultType(mcp.ResultTask)))
	switch {
	case err == nil && res.ResultType == mcp.ResultTask:
		t, err := c.taskOf(p.Name, res)
		if err != nil {
			return nil, err
		}
		return c.wait(ctx, t, opts)
	case errors.Is(err, mcp.ErrMethodNotFound) && p.Task == nil && c.ServerCapabilities().Tasks.CallsTools():
		// The tool runs as a task only (2025-11-25, tasks, tool-level negotiation).
		t, err := c.StartTool(ctx, p, opts...)
		if err != nil {
			return nil, err
		}
		return c.wait(ctx, t, opts)
	}
	return res, err
}

func (c *Client) callTool(ctx context.Context, call *Call, p *mcp.CallToolParams, opts []CallOption) (*mcp.CallToolResult, error) {
	res := new(mcp.CallToolResult)
	call.Method, call.Params, call.Result = mcp.MethodToolsCall, p, res
	if err := c.run(ctx, call, opts); err != nil {
		return nil, err
	}
	return res, c.checkOutput(ctx, p.Name, res)
}

// CallTool calls a tool with args, which are encoded as JSON, and decodes what
// it returns into Out: the structured content or, where there is none, the
// text. Out may also be *mcp.CallToolResult, []mcp.Content, string, or any,
// where text that is no JSON is a string. A [net/url.URL] in either is a
// string, and Out may have interfaces that [Options.OneOf] lists. A tool that
// failed is a [*ToolError].
func CallTool[Out any](ctx context.Context, c *Client, name string, args any, opts ...CallOption) (Out, error) {
	var x struct {
		operation
		params mcp.CallToolParams
		out    Out
	}
	x.params.Name = name
	if args != nil {
		raw, err := json.Marshal(args, c.codecs.writing(reflect.TypeOf(args))...)
		if err != nil {
			return x.out, fmt.Errorf("client: encode arguments of %s: %w", name, err)
		}
		x.params.Arguments = raw
	}
	call := c.callTool
	if c.opts.Tasks {
		call = c.callOrWait
	}
	res, err := call(ctx, x.call(), &x.params, opts)
	if err != nil {
		return x.out, err
	}
	if res.IsError {
		return x.out, &ToolError{Tool: name, Result: res}
	}
	err = c.decodeOutput(name, res, &x.out)
	return x.out, err
}

func (c *Client) decodeOutput(name string, res *mcp.CallToolResult, out any) error {
	switch out := out.(type) {
	case **mcp.CallToolResult:
		*out = res
		return nil
	case *[]mcp.Content:
		*out = res.Content
		return nil
	case *mcp.Contents:
		*out = res.Content
		return nil
	case *string:
		if res.StructuredContent.Kind() != '"' {
			*out = textOf(res.Content)
			return nil
		}
	case *any:
		if text := textOf(res.Content); len(res.StructuredContent) == 0 && !jsontext.Value(text).IsValid() {
			*out = text
			return nil
		}
	}
	raw := res.StructuredContent
	if len(raw) == 0 { // a server of the time before structured content
		raw = jsontext.Value(textOf(res.Content))
	}
	if err := json.Unmarshal(raw, out, c.codecs.reading(reflect.TypeOf(out).Elem())...); err != nil {
		return fmt.Errorf("client: decode the result of tool %s: %w", name, err)
	}
	return nil
}

// textOf returns the text blocks, one a line.
func textOf(content []mcp.Content) string {
	if len(content) == 1 { // as a rule
		if t, ok := content[0].(*mcp.TextContent); ok {
			return t.Text
		}
	}
	var texts []string
	for _, block := range content {
		if t, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// toolBook remembers what lists said about tools: which arguments to mirror in
// headers, and what the output looks like. It is not the cache: it stays when
// a list is no longer fresh.
type toolBook struct {
	maxTools, maxSchema int

	mu    sync.RWMutex
	tools map[string]*toolEntry
}

type toolEntry struct {
	headers []mcp.ParamHeader
	output  *outputSchema // nil where there is none
}

func newToolBook(l Limits) *toolBook {
	return &toolBook{maxTools: l.Tools, maxSchema: l.SchemaBytes, tools: make(map[string]*toolEntry)}
}

func (b *toolBook) entry(name string) *toolEntry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.tools[name]
}

// learn puts tools in the book and returns those that may be used.
func (c *Client) learn(tools []mcp.Tool) []mcp.Tool {
	s := c.session.Load()
	return slices.DeleteFunc(tools, func(t mcp.Tool) bool {
		headers, err := mcp.ParamHeaders(t.InputSchema)
		if err != nil && s.era.stamps() {
			c.log.Warn("client: tool left out: its x-mcp-header annotations are invalid",
				"tool", excerpt(t.Name, 128), "reason", excerpt(err.Error(), 200))
			return true
		}
		c.tools.put(t, headers)
		return false
	})
}

func (b *toolBook) put(t mcp.Tool, headers []mcp.ParamHeader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(headers) == 0 && len(t.OutputSchema) == 0 {
		delete(b.tools, t.Name)
		return
	}
	old := b.tools[t.Name]
	if old == nil && over(len(b.tools)+1, b.maxTools) {
		return
	}
	e := &toolEntry{headers: headers}
	switch {
	case len(t.OutputSchema) == 0:
	case old != nil && old.output != nil && old.output.is(t.OutputSchema):
		e.output = old.output // compiled already, perhaps
	default:
		e.output = newOutputSchema(t.OutputSchema, b.maxSchema)
	}
	b.tools[t.Name] = e
}

// mirror returns the Mcp-Param headers of a call (spec: Streamable HTTP,
// custom headers from tool parameters).
func (b *toolBook) mirror(call *Call) http.Header {
	p, ok := call.Params.(*mcp.CallToolParams)
	if !ok || call.Method != mcp.MethodToolsCall {
		return nil
	}
	e := b.entry(p.Name)
	if e == nil || len(e.headers) == 0 {
		return nil
	}
	h := make(http.Header, len(e.headers))
	for _, ph := range e.headers {
		if text, ok := ph.Value(p.Arguments); ok {
			h.Set(mcp.HeaderParam+ph.Name, mcp.EncodeHeaderValue(text))
		}
	}
	return h
}

// relearn lists the tools anew after a call was refused for its headers, and
// reports whether that gave it others.
func (c *Client) relearn(ctx context.Context, call *Call) bool {
	p, ok := call.Params.(*mcp.CallToolParams)
	if !ok || call.Method != mcp.MethodToolsCall {
		return false
	}
	before := c.tools.mirror(call)
	for t, err := range c.Tools(ctx, Uncached()) {
		if err != nil {
			c.log.Warn("client: tools/list after a refused call failed", "error", err)
			return false
		}
		if t.Name == p.Name {
			break
		}
	}
	return !sameHeader(before, c.tools.mirror(call))
}

func sameHeader(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if !slices.Equal(v, b[k]) {
			return false
		}
	}
	return true
}

// pages iterates over what list returns page by page.
func pages[T any](c *Client, method string, list func(cursor *string) ([]T, *string, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var cursor *string
		seen := make(map[string]bool)
		for page := 1; ; page++ {
			items, next, err := list(cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range items {
				if !yield(&items[i], nil) {
					return
				}
			}
			if next == nil {
				return
			}
			if seen[*next] {
				yield(nil, fmt.Errorf("%w: %s gave the same cursor twice", ErrNotEnding, method))
				return
			}
			if over(page+1, c.opts.Limits.Pages) {
				yield(nil, fmt.Errorf("%w: %s has more than %d pages", ErrNotEnding, method, page))
				return
			}
			seen[*next] = true
			cursor = next
		}
	}
}

func orEmpty[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}
