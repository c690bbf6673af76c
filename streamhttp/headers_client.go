package streamhttp

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// The two forms of an answer. A client accepts both, always.
const (
	jsonType   = "application/json"
	eventsType = "text/event-stream"
	bothTypes  = jsonType + ", " + eventsType
)

// mirror adds the headers that repeat what the body says, so that what stands
// before the server can route without parsing (2026-07-28, standard request
// headers).
func mirror(h http.Header, req *rpc.Request) {
	h[headerMethod] = []string{mcp.EncodeHeaderValue(req.Method)}
	m, _ := mcp.MethodByName(req.Method)
	if m.NameParam == "" {
		return
	}
	if v := req.Param(m.NameParam); v.Kind() == '"' {
		if name, err := jsontext.AppendUnquote(nil, v); err == nil {
			h[headerName] = []string{mcp.EncodeHeaderValue(string(name))}
		}
	}
}

// modernError reports whether an error of this code under this status is one
// that only a modern server gives (2026-07-28, Streamable HTTP, backward
// compatibility).
func modernError(status, code int) bool {
	switch code {
	case mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return true
	case rpc.CodeMethodNotFound:
		return status == http.StatusNotFound
	}
	return false
}

// validSessionID reports whether a session ID is one that a header can carry
// and a server may give (2025-11-25, session management). The length bounds
// what every later request takes along.
func validSessionID(id string) bool {
	const maxBytes = 4096
	if id == "" || len(id) > maxBytes {
		return false
	}
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return true
}

// mediaType returns the type in a Content-Type header, without its parameters.
func mediaType(h http.Header) string {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
