package server

import (
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// encoded is a result as the text that is sent, which is made once and served
// to all who ask the same of the same features.
type encoded jsontext.Value

var _ rpc.Appender = encoded(nil)

// AppendJSON implements [rpc.Appender].
func (e encoded) AppendJSON(b []byte) ([]byte, error) { return append(b, e...), nil }

// encodedResults are the results that follow from a state of the features, a
// revision and a cursor alone: the lists and the description of the server. They
// belong to one state, and go with it.
type encodedResults struct {
	mu  sync.RWMutex
	all map[encodedKey]encoded
}

type encodedKey struct {
	method  string
	version mcp.Version
	cursor  string // as it was sent
}

// maxEncoded bounds what clients can have kept by making up cursors. Five
// revisions of five results, and a few pages.
const maxEncoded = 64

func (r *encodedResults) get(k encodedKey) (encoded, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.all[k]
	return e, ok
}

func (r *encodedResults) put(k encodedKey, e encoded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[encodedKey]encoded)
	}
	if len(r.all) < maxEncoded || k.cursor == "" { // first pages always have a place
		r.all[k] = e
	}
}

// keeper returns where the result of a call may be kept, nil where it must not
// be: middleware may answer each call in another way.
func (s *Server) keeper(c *Call, m *method) (*encodedResults, encodedKey) {
	if !m.fixed || !s.plain.Load() {
		return nil, encodedKey{}
	}
	return s.features.Load().encoded, encodedKey{m.row.Name, c.Version, string(c.req.Param("cursor"))}
}

// keep encodes a result that is finished. What cannot be encoded is left to the
// transport, which answers for it.
func (r *encodedResults) keep(k encodedKey, res any) any {
	text, err := json.Marshal(res, json.Deterministic(true))
	if err != nil {
		return res
	}
	r.put(k, text)
	return encoded(text)
}
