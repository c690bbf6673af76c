package mcp

import "github.com/go-json-experiment/json/jsontext"

// InputRequest is a question to the client inside a result (2026-07-28).
type InputRequest struct {
	// Method is elicitation/create, sampling/createMessage or roots/list.
	Method string         `json:"method"`
	Params jsontext.Value `json:"params,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// InputRequests are questions under keys that the server chose.
type InputRequests map[string]InputRequest

// InputResponses are the answers under the same keys: each the bare result of
// the question's method.
type InputResponses map[string]jsontext.Value

// Questions are the part of a result of type input_required.
type Questions struct {
	InputRequests InputRequests `json:"inputRequests,omitzero"`
	// RequestState comes back with the retry, byte for byte. Nil where there
	// is none; the empty string is a state.
	RequestState *string `json:"requestState,omitzero"`
}

// Answers are the part of params that a retry adds.
type Answers struct {
	InputResponses InputResponses `json:"inputResponses,omitzero"`
	// RequestState is the one of the result that asked. A server must not
	// believe it before it checked that it made it.
	RequestState *string `json:"requestState,omitzero"`
}

// InputRequiredResult is the result of a request that cannot go on without
// answers. At least one of its two parts is there.
type InputRequiredResult struct {
	Result
	Questions
}
