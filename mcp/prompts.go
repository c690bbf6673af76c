package mcp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Prompt is a template of messages that a user can choose.
type Prompt struct {
	Name string `json:"name"`
	// Title is for people; since 2025-06-18.
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Arguments   []PromptArgument `json:"arguments,omitzero"`
	// Icons are since 2025-11-25.
	Icons []Icon         `json:"icons,omitzero"`
	Meta  Meta           `json:"_meta,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name string `json:"name"`
	// Title is for people; since 2025-06-18.
	Title       string         `json:"title,omitzero"`
	Description string         `json:"description,omitzero"`
	Required    bool           `json:"required,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ListPromptsParams ask for one page of prompts.
type ListPromptsParams = PaginatedParams

// ListPromptsResult is one page of prompts.
type ListPromptsResult struct {
	Result
	Cache
	Prompts []Prompt `json:"prompts"`
	// NextCursor asks for the next page; nil on the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// GetPromptParams ask for a prompt's messages.
type GetPromptParams struct {
	Params
	Answers
	Name string `json:"name"`
	// Arguments are strings, whatever they stand for.
	Arguments map[string]string `json:"arguments,omitzero"`
}

// GetPromptResult is a prompt's messages, or what the server asks for.
type GetPromptResult struct {
	Result
	Questions
	Description string          `json:"description,omitzero"`
	Messages    []PromptMessage `json:"messages"`
}

// MarshalJSONTo implements [json.MarshalerTo]: a result that asks has no
// messages.
func (r *GetPromptResult) MarshalJSONTo(e *jsontext.Encoder) error {
	if r.ResultType == ResultInputRequired {
		return json.MarshalEncode(e, &InputRequiredResult{Result: r.Result, Questions: r.Questions})
	}
	type plain GetPromptResult
	return json.MarshalEncode(e, (*plain)(r))
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    Role           `json:"role"`
	Content Content        `json:"content"`
	Extra   jsontext.Value `json:",embed"`
}

// promptMessage is the wire form of PromptMessage.
type promptMessage struct {
	Role    Role           `json:"role"`
	Content block          `json:"content"`
	Extra   jsontext.Value `json:",embed"`
}

// MarshalJSONTo implements [json.MarshalerTo].
func (m *PromptMessage) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, &promptMessage{m.Role, block{m.Content}, m.Extra})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (m *PromptMessage) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var w promptMessage
	if err := json.UnmarshalDecode(d, &w); err != nil {
		return err
	}
	*m = PromptMessage{w.Role, w.Content.Content, w.Extra}
	return nil
}

// Role says who speaks.
type Role string

// The two roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)
