package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A ToolHandler runs a tool whose arguments are JSON, checked against the
// tool's input schema. An error becomes a result with IsError that tells the
// model the error's text; an *[rpc.Error] becomes a protocol error; what
// [Call.Elicit] and the like returned is returned as it is. A result with
// ResultType input_required is passed on as it is, to modern clients.
type ToolHandler func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error)

// tool is a tool with what was made of its definition. It never changes.
type tool struct {
	def     mcp.Tool
	in      *validator
	out     *validator // nil = nothing to check
	headers []mcp.ParamHeader
	run     ToolHandler
	answer  answerer // run, where nobody looks at the result; nil where run is needed
	fresh   bool     // each result of run is a new one
	checks  bool     // run checks the arguments itself
}

// AddTool offers a tool, in place of one with the same name. It refuses a
// definition that clients would choke on: the input schema must be a JSON
// Schema 2020-12 or draft-07 with type object at its root, and refer to nothing
// outside itself.
func (s *Server) AddTool(t mcp.Tool, h ToolHandler) error {
	if h == nil {
		return fmt.Errorf("server: tool %q has no handler", t.Name)
	}
	tl, err := s.newTool(t, h)
	if err != nil {
		return err
	}
	s.addTool(tl)
	return nil
}

func (s *Server) newTool(t mcp.Tool, h ToolHandler) (*tool, error) {
	if t.Name == "" {
		return nil, errors.New("server: a tool has no name")
	}
	if e := t.Execution; e != nil && !slices.Contains([]string{"", "forbidden", "optional", taskRequired}, e.TaskSupport) {
		return nil, fmt.Errorf("server: tool %q: Execution.TaskSupport is %q: it must be forbidden, optional or required", t.Name, capped(e.TaskSupport))
	}
	tl := &tool{def: t, run: h}
	var err error
	if tl.in, err = compileObject(t.InputSchema, s.opts.Limits); err != nil {
		return nil, fmt.Errorf("server: tool %q: input %w", t.Name, err)
	}
	if tl.headers, err = mcp.ParamHeaders(t.InputSchema); err != nil {
		return nil, fmt.Errorf("server: tool %q: %w", t.Name, err)
	}
	if err := checkDefinition("tool", t.Name, &t); err != nil {
		return nil, err
	}
	if len(t.OutputSchema) == 0 {
		return tl, nil
	}
	if tl.out, err = compile(t.OutputSchema, s.opts.Limits); err != nil {
		return nil, fmt.Errorf("server: tool %q: output %w", t.Name, err)
	}
	return tl, nil
}

func (s *Server) addTool(t *tool) {
	if !validName(t.def.Name) {
		s.logger().Warn("a tool has a name that some clients refuse: use 1 to 128 of A-Z a-z 0-9 _ - .", "tool", t.def.Name)
	}
	s.change(listsTools, func(f *features) bool {
		f.tools = f.tools.with(t.def.Name, t)
		return true
	})
}

// RemoveTools takes tools back. Names that are not there are ignored. Calls
// under way go on.
func (s *Server) RemoveTools(names ...string) {
	s.change(listsTools, func(f *features) (changed bool) {
		f.tools, changed = f.tools.without(names...)
		return changed
	})
}

// validName reports whether a tool's name is one that everybody takes (spec
// section 4.11).
func validName(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
		default:
			return false
		}
	}
	return true
}

func listTools(_ context.Context, c *Call, p *mcp.ListToolsParams) (any, error) {
	s := c.session.server
	page, next, err := s.features.Load().tools.page(p.Cursor, s.opts.PageSize)
	if err != nil {
		return nil, err
	}
	list := make([]mcp.Tool, len(page))
	for i, t := range page {
		list[i] = t.def
	}
	return &mcp.ListToolsResult{Tools: list, NextCursor: next}, nil
}

func callTool(ctx context.Context, c *Call, p *mcp.CallToolParams) (any, error) {
	if p.Name == "" {
		return nil, mcp.InvalidParams("params.name is required")
	}
	s := c.session.server
	t, ok := s.features.Load().tools.find(p.Name)
	if !ok {
		return nil, mcp.InvalidParams("unknown tool: %s", capped(p.Name))
	}
	if err := s.normalize(p); err != nil {
		return nil, err
	}
	if err := c.checkHeaders(t, p.Arguments); err != nil {
		return nil, err
	}
	if !t.checks {
		if err := t.in.check("arguments", p.Arguments); err != nil {
			return toolError(err), nil
		}
	}
	if s.tasks != nil {
		if ok, err := c.era.tasks().wants(c, t, p); err != nil {
			return nil, err
		} else if ok {
			return s.tasks.call(ctx, c, t, p)
		}
	}
	if t.answer != nil && s.plain.Load() {
		return c.answerOf(ctx, t, p)
	}
	return c.runTool(ctx, t, p)
}

// runTool runs a tool for its result.
func (c *Call) runTool(ctx context.Context, t *tool, p *mcp.CallToolParams) (any, error) {
	res, err := t.run(ctx, p)
	if err != nil {
		return failed(ctx, err)
	}
	return c.toolResult(ctx, t, res)
}

// answerOf runs a tool for its answer, and checks that.
func (c *Call) answerOf(ctx context.Context, t *tool, p *mcp.CallToolParams) (any, error) {
	res, err := t.answer(ctx, p)
	if err != nil {
		return failed(ctx, err)
	}
	a, ok := res.(*toolAnswer)
	if !ok {
		full, _ := res.(*mcp.CallToolResult)
		return c.toolResult(ctx, t, full)
	}
	if t.out != nil {
		if err := t.checkOutput(a.structured); err != nil {
			return nil, c.misfit(ctx, t, err)
		}
	}
	return a, nil
}

// misfit logs what is wrong with a result, and returns what the client is told of it.
func (c *Call) misfit(ctx context.Context, t *tool, err error) error {
	c.session.log().LogAttrs(ctx, slog.LevelError, "a tool returned what its output schema does not allow",
		slog.String("tool", t.def.Name), slog.Any("error", err))
	return rpc.Errorf(rpc.CodeInternalError, "internal error: the result of tool %s does not match its output schema", t.def.Name)
}

// taskRequired is the value of TaskSupport of tools that only run as tasks.
const taskRequired = "required"

// taskSupport returns "" for a tool that does not run as a task.
func (t *tool) taskSupport() string {
	if t.def.Execution == nil || t.def.Execution.TaskSupport == "forbidden" {
		return ""
	}
	return t.def.Execution.TaskSupport
}

// normalize makes absent arguments an empty object, and refuses what no tool
// could take.
func (s *Server) normalize(p *mcp.CallToolParams) error {
	switch p.Arguments.Kind() {
	case '{':
	case 'n', jsontext.KindInvalid:
		p.Arguments = jsontext.Value("{}")
	default:
		return mcp.InvalidParams("params.arguments must be an object")
	}
	if limit := s.opts.Limits.ArgumentBytes; over(len(p.Arguments), limit) {
		return mcp.InvalidParams("params.arguments has more than %d bytes", limit)
	}
	return nil
}

// failed sorts the errors of tools: those that the model is told from those of
// the protocol.
func failed(ctx context.Context, err error) (any, error) {
	if errors.Is(err, ErrInputRequired) {
		return nil, err
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // who cancelled it does not listen: it was the server
		return nil, errStopping
	}
	if _, ok := errors.AsType[*rpc.Error](err); ok {
		return nil, err
	}
	return toolError(err), nil
}

func toolError(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(err.Error())}, IsError: true}
}

// toolResult checks a result, and copies it where the handler may give the same
// one to several calls.
func (c *Call) toolResult(ctx context.Context, t *tool, res *mcp.CallToolResult) (any, error) {
	out := res
	switch {
	case res == nil:
		out = &mcp.CallToolResult{}
	case !t.fresh:
		own := *res
		out = &own
	}
	if out.IsError || out.ResultType != "" && out.ResultType != mcp.ResultComplete {
		return out, nil
	}
	if t.out != nil {
		if err := t.checkOutput(out.StructuredContent); err != nil {
			return nil, c.misfit(ctx, t, err)
		}
	}
	if len(out.Content) == 0 && out.StructuredContent != nil {
		out.Content = mcp.Contents{mcp.Text(string(out.StructuredContent))}
	}
	return out, nil
}

func (t *tool) checkOutput(structured jsontext.Value) error {
	if len(structured) == 0 {
		return errors.New("structuredContent is missing")
	}
	if !structured.IsValid() {
		return errors.New("structuredContent is not valid JSON")
	}
	return t.out.check("structuredContent", structured)
}
