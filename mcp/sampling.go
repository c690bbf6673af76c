package mcp

import "github.com/go-json-experiment/json/jsontext"

// CreateMessageParams ask a client to sample from its model. It is a feature
// that was deprecated in 2026-07-28.
type CreateMessageParams struct {
	Params
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	// IncludeContext is "none", "thisServer" or "allServers"; "" is none. The
	// last two are deprecated in 2026-07-28.
	IncludeContext string   `json:"includeContext,omitzero"`
	Temperature    *float64 `json:"temperature,omitzero"`
	MaxTokens      int64    `json:"maxTokens"`
	StopSequences  []string `json:"stopSequences,omitzero"`
	// Metadata is an object for the provider of the model.
	Metadata jsontext.Value `json:"metadata,omitzero"`
	// Tools and ToolChoice need the capability sampling.tools.
	Tools      []Tool      `json:"tools,omitzero"`
	ToolChoice *ToolChoice `json:"toolChoice,omitzero"`
	// Task asks for a task (2025-11-25).
	Task *TaskMetadata `json:"task,omitzero"`
}

// ToolChoice says whether the model is to call tools.
type ToolChoice struct {
	// Mode is "auto", "required" or "none"; "" is auto.
	Mode  string         `json:"mode,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// ModelPreferences say which model is wanted. Priorities go from 0 to 1.
type ModelPreferences struct {
	// Hints count more than the priorities; the first that fits wins.
	Hints                []ModelHint    `json:"hints,omitzero"`
	CostPriority         *float64       `json:"costPriority,omitzero"`
	SpeedPriority        *float64       `json:"speedPriority,omitzero"`
	IntelligencePriority *float64       `json:"intelligencePriority,omitzero"`
	Extra                jsontext.Value `json:",embed"`
}

// ModelHint is a part of a model's name.
type ModelHint struct {
	Name  string         `json:"name,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// SamplingMessage is one message of a conversation.
type SamplingMessage struct {
	Role    Role      `json:"role"`
	Content OneOrMany `json:"content"`
	// Meta is since 2025-11-25.
	Meta  Meta           `json:"_meta,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// The known reasons why a model stopped.
const (
	StopEndTurn   = "endTurn"
	StopSequence  = "stopSequence"
	StopMaxTokens = "maxTokens"
	StopToolUse   = "toolUse"
)

// CreateMessageResult is what the model said.
type CreateMessageResult struct {
	Result
	Role    Role      `json:"role"`
	Content OneOrMany `json:"content"`
	Model   string    `json:"model"`
	// StopReason is one of the constants or a word of the provider's.
	StopReason string `json:"stopReason,omitzero"`
}
