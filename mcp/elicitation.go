package mcp

import (
	"github.com/go-json-experiment/json/jsontext"
)

// The modes of [ElicitParams].
const (
	ElicitForm = "form"
	ElicitURL  = "url"
)

// ElicitParams ask the user of a client, since 2025-06-18.
type ElicitParams struct {
	Params
	// Mode is ElicitForm, which "" means too, or ElicitURL (2025-11-25).
	Mode    string `json:"mode,omitzero"`
	Message string `json:"message"`
	// RequestedSchema describes the form: a flat object schema, as
	// [FormSchema] makes it. Nil in URL mode.
	RequestedSchema jsontext.Value `json:"requestedSchema,omitzero"`
	// URL is where the user is sent in URL mode.
	URL string `json:"url,omitzero"`
	// ElicitationID goes with URL in 2025-11-25 only.
	ElicitationID string `json:"elicitationId,omitzero"`
	// Task asks for a task (2025-11-25).
	Task *TaskMetadata `json:"task,omitzero"`
}

// ElicitAction is what the user did.
type ElicitAction string

// The three things that a user can do.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline"
	ElicitCancel  ElicitAction = "cancel"
)

// ElicitResult is the user's answer.
type ElicitResult struct {
	Result
	Action ElicitAction `json:"action"`
	// Content has the filled-in fields of an accepted form: strings, numbers,
	// booleans, and lists of strings (2025-11-25).
	Content map[string]jsontext.Value `json:"content,omitzero"`
}

// ElicitationCompleteParams tell that a URL elicitation is done (2025-11-25).
type ElicitationCompleteParams struct {
	Params
	ElicitationID string `json:"elicitationId"`
}
