package server

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A toolAnswer is a result of nearly all typed tools, one text or structured content
// with its text beside it, on its way to the wire. Where there is no middleware to
// look at it, it takes the place of a *mcp.CallToolResult, which has room for all
// that a result can be: six times as much, for each call.
type toolAnswer struct {
	text       string
	structured jsontext.Value // nil: there is only text
	head       []byte         // the members of the modern era; nil in the legacy era
}

var _ rpc.Appender = (*toolAnswer)(nil)

// AppendJSON implements [rpc.Appender]. It writes what the result would.
func (a *toolAnswer) AppendJSON(b []byte) ([]byte, error) {
	start := len(b)
	b = append(append(b, '{'), a.head...)
	b = append(b, `"content":[{"type":"text","text":`...)
	if a.structured == nil {
		return append(rpc.AppendString(b, a.text), "}]}"...), nil
	}
	b = append(rpc.AppendString(b, string(a.structured)), `}],"structuredContent":`...)
	b, err := rpc.AppendValue(b, a.structured)
	if err != nil {
		return b[:start], err
	}
	return append(b, '}'), nil
}

// result returns the result that a stands for.
func (a *toolAnswer) result() *mcp.CallToolResult {
	if a.structured == nil {
		return textResult(a.text)
	}
	res := textResult(string(a.structured))
	res.StructuredContent = a.structured
	return res
}

// headOf returns what the result of a tool begins with in the modern era.
func headOf(info mcp.Meta) ([]byte, error) {
	const rest = `"content":[]}`
	res := mcp.CallToolResult{Result: mcp.Result{ResultType: mcp.ResultComplete, Meta: info}}
	text, err := res.AppendJSON(nil)
	if err != nil {
		return nil, err
	}
	return text[1 : len(text)-len(rest)], nil
}

// An answerer runs a typed tool. What it returns is a *toolAnswer or, for what that
// has no room for, a *mcp.CallToolResult.
type answerer func(ctx context.Context, p *mcp.CallToolParams) (any, error)

// handler returns a as others see it.
func (a answerer) handler() ToolHandler {
	return func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		res, err := a(ctx, p)
		if err != nil {
			return nil, err
		}
		if short, ok := res.(*toolAnswer); ok {
			return short.result(), nil
		}
		full, _ := res.(*mcp.CallToolResult)
		return full, nil
	}
}
