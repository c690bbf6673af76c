package mcp

import "github.com/tenon-mcp/tenon/rpc"

// ProgressParams tell how far a request is.
type ProgressParams struct {
	Params
	// ProgressToken is the one that came with the request.
	ProgressToken ProgressToken `json:"progressToken"`
	// Progress grows with each notification.
	Progress float64 `json:"progress"`
	// Total is where Progress ends; nil when not known.
	Total *float64 `json:"total,omitzero"`
	// Message is for people; since 2025-03-26.
	Message string `json:"message,omitzero"`
}

// CancelledParams withdraw a request.
type CancelledParams struct {
	Params
	// RequestID is zero where the sender left it out, as 2025-11-25 allows:
	// such a notification is to be ignored.
	RequestID rpc.ID `json:"requestId,omitzero"`
	// Reason is for logs.
	Reason string `json:"reason,omitzero"`
}
