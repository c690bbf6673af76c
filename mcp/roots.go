package mcp

import "github.com/go-json-experiment/json/jsontext"

// ListRootsParams ask a client for its roots. Roots are deprecated in
// 2026-07-28.
type ListRootsParams struct{ Params }

// ListRootsResult has the roots.
type ListRootsResult struct {
	Result
	Roots []Root `json:"roots"`
}

// Root is a place that the server may work in. It guides; it does not protect.
type Root struct {
	// URI begins with file://.
	URI   string         `json:"uri"`
	Name  string         `json:"name,omitzero"`
	Meta  Meta           `json:"_meta,omitzero"`
	Extra jsontext.Value `json:",embed"`
}
