package streamhttp

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// An opening is how a session of the legacy era came to be what it is: the
// handshake, and what the caller has set since. Where the server has lost the
// session it makes the next one the same.
type opening struct {
	// initialized has the headers, too, of what the dialer sends by itself.
	initialize, initialized *rpc.Request
	version                 string // that initialize agreed on

	settings map[string]*rpc.Request // by what they set
}

// complete reports whether the session was opened.
func (o *opening) complete() bool { return o.initialize != nil && o.initialized != nil }

// begin remembers the first half of the handshake, which is the end of what
// was before it.
func (o *opening) begin(req *rpc.Request, res jsontext.Value) {
	*o = opening{initialize: copyRequest(req), version: agreedVersion(res)}
}

// note remembers a request that the server has fulfilled, where it set
// something, and reports whether it did.
func (o *opening) note(req *rpc.Request) bool {
	switch req.Method {
	case mcp.MethodSetLevel:
		o.set(req.Method, req)
	case mcp.MethodResourcesSubscribe:
		o.set(subscriptionKey(req), req)
	case mcp.MethodResourcesUnsubscribe:
		delete(o.settings, subscriptionKey(req))
	default:
		return false
	}
	return true
}

func (o *opening) set(key string, req *rpc.Request) {
	if o.settings == nil {
		o.settings = make(map[string]*rpc.Request)
	}
	o.settings[key] = copyRequest(req)
}

func subscriptionKey(req *rpc.Request) string {
	return mcp.MethodResourcesSubscribe + " " + string(req.Param("uri"))
}

func (o *opening) clone() *opening {
	c := *o
	c.settings = maps.Clone(o.settings)
	return &c
}

// A newSession sends what opens a session; nobody else uses it yet.
type newSession interface {
	// call gives the request an ID, one that no caller uses.
	call(req *rpc.Request) (jsontext.Value, error)
	notify(req *rpc.Request) error
}

// repeat opens a session anew. What the server refuses to set again is left
// out: it may be gone with the old session.
func (o *opening) repeat(s newSession, log *slog.Logger) error {
	res, err := s.call(copyRequest(o.initialize))
	if err != nil {
		return err
	}
	if got := agreedVersion(res); got != o.version {
		return fmt.Errorf("it now speaks revision %s instead of %s: connect anew", excerpt(got), excerpt(o.version))
	}
	if err := s.notify(copyRequest(o.initialized)); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(o.settings)) {
		req := o.settings[key]
		_, err := s.call(copyRequest(req))
		if wire, ok := errors.AsType[*rpc.Error](err); ok {
			log.Warn("streamhttp: the server does not set in the new session what it set in the old one", "method", req.Method, "code", wire.Code)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
