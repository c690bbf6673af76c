package streamhttp

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

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

// headers returns the headers of a POST: the user's, those of the request, and
// what the protocol says.
func (c *conn) headers(req *rpc.Request) http.Header {
	h := make(http.Header, len(c.header)+len(req.Header)+5)
	maps.Copy(h, c.header)
	maps.Copy(h, req.Header)
	h["Content-Type"] = []string{jsonType}
	h["Accept"] = []string{bothTypes}
	return h
}

// callHeaders returns the headers of a call: those of the session, if there is
// one, or those that mirror the body. Where requests share them they are made
// once.
func (c *conn) callHeaders(req *rpc.Request, session string) http.Header {
	var method string
	var name jsontext.Value
	if session == "" && namesModern(req.Header) {
		method = req.Method
		if m, _ := mcp.MethodByName(method); m.NameParam != "" {
			name = req.Param(m.NameParam)
		}
	}
	if c.direct != nil {
		if h := c.heads.find(req.Header, session, method, name); h != nil {
			return h
		}
	}
	h := c.sessionHeaders(req, session)
	if method != "" {
		mirror(h, method, name)
	}
	if c.direct != nil {
		c.heads.keep(req.Header, session, method, name, h)
	}
	return h
}

// heads are the headers of calls that came before. Most calls are like one of
// them.
type heads struct {
	mu   sync.Mutex
	like http.Header // those of the requests: others have other heads
	made map[head]http.Header
}

// A head is what headers differ in.
type head struct{ session, method, name string }

// maxHeads is how many are kept: a host has some dozens of tools.
const maxHeads = 256

// find returns headers, which must not be changed, or nil.
func (k *heads) find(like http.Header, session, method string, name []byte) http.Header {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !maps.EqualFunc(k.like, like, slices.Equal) {
		return nil
	}
	return k.made[head{session, method, string(name)}]
}

// keep takes h over.
func (k *heads) keep(like http.Header, session, method string, name []byte, h http.Header) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil || len(k.made) >= maxHeads || !maps.EqualFunc(k.like, like, slices.Equal) {
		k.like, k.made = like.Clone(), make(map[head]http.Header)
	}
	k.made[head{session, method, string(name)}] = h
}

// mirror adds the headers that repeat what the body says, so that what stands
// before the server can route without parsing (2026-07-28, standard request
// headers).
func mirror(h http.Header, method string, name jsontext.Value) {
	h[headerMethod] = []string{mcp.EncodeHeaderValue(method)}
	if name.Kind() != '"' {
		return
	}
	if text, err := jsontext.AppendUnquote(nil, name); err == nil {
		h[headerName] = []string{mcp.EncodeHeaderValue(string(text))}
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
