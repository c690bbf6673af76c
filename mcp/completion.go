package mcp

import "github.com/go-json-experiment/json/jsontext"

// CompleteParams ask how an argument could go on.
type CompleteParams struct {
	Params
	Ref      CompleteReference `json:"ref"`
	Argument CompleteArgument  `json:"argument"`
	// Context has the other arguments; since 2025-06-18.
	Context *CompleteContext `json:"context,omitzero"`
}

// The types of [CompleteReference].
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// CompleteReference names what the argument belongs to: a prompt by its name,
// or a resource template by its URI template.
type CompleteReference struct {
	// Type is RefPrompt or RefResource.
	Type  string         `json:"type"`
	Name  string         `json:"name,omitzero"`
	Title string         `json:"title,omitzero"`
	URI   string         `json:"uri,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// CompleteArgument is the argument as far as it is typed.
type CompleteArgument struct {
	Name  string         `json:"name"`
	Value string         `json:"value"`
	Extra jsontext.Value `json:",embed"`
}

// CompleteContext has the arguments that are already there.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
	Extra     jsontext.Value    `json:",embed"`
}

// CompleteResult has the proposals.
type CompleteResult struct {
	Result
	Completion Completion `json:"completion"`
}

// MaxCompletions is the most values that one Completion may have.
const MaxCompletions = 100

// Completion is the proposals, best first.
type Completion struct {
	// Values are at most MaxCompletions.
	Values []string `json:"values"`
	// Total is how many there are; nil when not known.
	Total *int64 `json:"total,omitzero"`
	// HasMore: there are more than Values.
	HasMore bool           `json:"hasMore,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}
