// Package auth protects an MCP server over HTTP with OAuth 2.1 access tokens
// (authorization of the specification; RFC 6750, RFC 9728). It knows nothing
// of MCP messages: a [Resource] stands before any [http.Handler].
package auth
