package mcp

// DiscoverParams ask a server what it is (2026-07-28).
type DiscoverParams struct{ Params }

// DiscoverResult says what the server is. Who it is stands in
// [Meta.ServerInfo].
type DiscoverResult struct {
	Result
	Cache
	SupportedVersions []Version          `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	// Instructions tell a model how to use the server.
	Instructions string `json:"instructions,omitzero"`
}
