package mcp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Tool is something that a model can call.
type Tool struct {
	// Name is unique in one server.
	Name string `json:"name"`
	// Title is for people; since 2025-06-18. See [Tool.DisplayName].
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// Icons are since 2025-11-25.
	Icons []Icon `json:"icons,omitzero"`
	// InputSchema is a JSON Schema whose root has the type object. Nil is sent
	// as the schema of any object.
	InputSchema jsontext.Value `json:"inputSchema"`
	// OutputSchema describes the structured content; nil says nothing about
	// it. Before 2026-07-28 its root has the type object.
	OutputSchema jsontext.Value   `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	// Execution is of 2025-11-25 only.
	Execution *ToolExecution `json:"execution,omitzero"`
	Meta      Meta           `json:"_meta,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// MarshalJSONTo implements [json.MarshalerTo].
func (t *Tool) MarshalJSONTo(e *jsontext.Encoder) error {
	type plain Tool
	if t.InputSchema != nil {
		return json.MarshalEncode(e, (*plain)(t))
	}
	w := plain(*t)
	w.InputSchema = jsontext.Value(`{"type":"object"}`)
	return json.MarshalEncode(e, &w)
}

// DisplayName returns what to call the tool before people: its title, else
// the title in its annotations, else its name.
func (t *Tool) DisplayName() string {
	if t.Title != "" {
		return t.Title
	}
	if t.Annotations != nil && t.Annotations.Title != "" {
		return t.Annotations.Title
	}
	return t.Name
}

// ToolAnnotations are hints about a tool, since 2025-03-26. They are claims of
// the server: trust them as far as the server. Nil means the default.
type ToolAnnotations struct {
	Title string `json:"title,omitzero"`
	// ReadOnlyHint: the tool changes nothing. Default false.
	ReadOnlyHint *bool `json:"readOnlyHint,omitzero"`
	// DestructiveHint: what it changes may be lost. Default true.
	DestructiveHint *bool `json:"destructiveHint,omitzero"`
	// IdempotentHint: a second call with the same arguments changes nothing
	// more. Default false.
	IdempotentHint *bool `json:"idempotentHint,omitzero"`
	// OpenWorldHint: it deals with things outside the server. Default true.
	OpenWorldHint *bool          `json:"openWorldHint,omitzero"`
	Extra         jsontext.Value `json:",embed"`
}

// ReadOnly reports the hint or its default. It takes a nil receiver, as do
// the next three.
func (a *ToolAnnotations) ReadOnly() bool {
	return a != nil && a.ReadOnlyHint != nil && *a.ReadOnlyHint
}

// Destructive reports the hint or its default. It says nothing of a tool that
// is read-only.
func (a *ToolAnnotations) Destructive() bool {
	return a == nil || a.DestructiveHint == nil || *a.DestructiveHint
}

// Idempotent reports the hint or its default.
func (a *ToolAnnotations) Idempotent() bool {
	return a != nil && a.IdempotentHint != nil && *a.IdempotentHint
}

// OpenWorld reports the hint or its default.
func (a *ToolAnnotations) OpenWorld() bool {
	return a == nil || a.OpenWorldHint == nil || *a.OpenWorldHint
}

// ToolExecution says how a tool can be run (2025-11-25).
type ToolExecution struct {
	// TaskSupport is "forbidden", "optional" or "required"; "" is forbidden.
	TaskSupport string         `json:"taskSupport,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ListToolsParams ask for one page of tools.
type ListToolsParams = PaginatedParams

// ListToolsResult is one page of tools.
type ListToolsResult struct {
	Result
	Cache
	Tools []Tool `json:"tools"`
	// NextCursor asks for the next page; nil on the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// CallToolParams call a tool.
type CallToolParams struct {
	Params
	Answers
	Name string `json:"name"`
	// Arguments is an object; nil where there are none.
	Arguments jsontext.Value `json:"arguments,omitzero"`
	// Task asks for a task (2025-11-25).
	Task *TaskMetadata `json:"task,omitzero"`
}

// CallToolResult is what a tool gave, or asks for.
type CallToolResult struct {
	Result
	Questions
	// Content is for the model. It is always sent, even when empty.
	Content Contents `json:"content"`
	// StructuredContent is for programs; nil where there is none. It is an
	// object before 2026-07-28, any JSON value since.
	StructuredContent jsontext.Value `json:"structuredContent,omitzero"`
	// IsError: the tool failed, and Content tells the model why.
	IsError bool `json:"isError,omitzero"`
}

// MarshalJSONTo implements [json.MarshalerTo]: a result that asks has no
// content.
func (r *CallToolResult) MarshalJSONTo(e *jsontext.Encoder) error {
	if r.ResultType == ResultInputRequired {
		return json.MarshalEncode(e, &InputRequiredResult{Result: r.Result, Questions: r.Questions})
	}
	type plain CallToolResult
	return json.MarshalEncode(e, (*plain)(r))
}
