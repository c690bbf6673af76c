package mcp

import "github.com/go-json-experiment/json/jsontext"

// Filter says which notifications a stream carries (2026-07-28).
type Filter struct {
	ToolsListChanged     bool `json:"toolsListChanged,omitzero"`
	PromptsListChanged   bool `json:"promptsListChanged,omitzero"`
	ResourcesListChanged bool `json:"resourcesListChanged,omitzero"`
	// ResourceSubscriptions are URIs of resources.
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitzero"`
	// TaskIDs belong to the tasks extension.
	TaskIDs []string       `json:"taskIds,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// IsZero reports whether the filter lets nothing through.
func (f Filter) IsZero() bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged &&
		len(f.ResourceSubscriptions) == 0 && len(f.TaskIDs) == 0 && len(f.Extra) == 0
}

// ListenParams ask for a stream of notifications.
type ListenParams struct {
	Params
	Notifications Filter `json:"notifications"`
}

// ListenResult ends such a stream. Its _meta has [MetaSubscriptionID].
type ListenResult struct{ Result }

// AcknowledgedParams are the first message of such a stream. Their _meta has
// [MetaSubscriptionID].
type AcknowledgedParams struct {
	Params
	// Notifications is the part of what was asked for that will be sent.
	Notifications Filter `json:"notifications"`
}

// ListChangedParams are those of the notifications that a list changed.
type ListChangedParams struct{ Params }
