package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// era is how the two ends agree on who they are, and all that follows from it.
// There are two: [legacy] and [modern]. Nothing else in this package asks
// which revision is spoken.
type era interface {
	// hello opens the talk at version v.
	hello(ctx context.Context, c *Client, v mcp.Version) (*session, error)
	// opened is called when the session of hello is the client's.
	opened(ctx context.Context, c *Client, s *session) error
	// capabilities says what the client can do: what there is a function for.
	capabilities(c *Client, v mcp.Version) mcp.ClientCapabilities
	// stamps reports whether every request says in _meta who sends it, and
	// every result of what type it is.
	stamps() bool
	// stamp returns what is said in the _meta of call.
	stamp(c *Client, s *session, call *Call) stamp
	// headers returns what goes beside call where the transport has headers.
	// The map is shared: it is not to be changed.
	headers(c *Client, s *session, call *Call) http.Header
	// mend reports whether err says how to do call right, and that is done. It
	// bounds how often by call.mended.
	mend(ctx context.Context, c *Client, s *session, call *Call, err error) bool
	// asked returns an error for requests that the server must not send.
	asked(c *Client, req *rpc.Request) error
	// cancelled handles what the server takes back.
	cancelled(c *Client, id rpc.ID, reason string)
	// hears reports whether a change notification is for this client, which
	// has subscriptions. covers tells those that have such a change.
	hears(c *Client, meta mcp.Meta, covers func(*mcp.Filter) bool) bool
	setLogLevel(ctx context.Context, c *Client, level mcp.LoggingLevel, opts []CallOption) error
	subscribe(ctx context.Context, c *Client, f mcp.Filter) (*Subscription, error)
	// tasks is the form that tasks have.
	tasks() taskKind
}

// session is what both ends agreed on. It does not change: another agreement
// is another session.
type session struct {
	era          era
	rev          mcp.Revision
	server       mcp.Implementation
	caps         mcp.ServerCapabilities
	capsUnknown  bool // the server did not say
	instructions string
	header       http.Header // for every message; not to be changed
	identity     stamp       // modern: who we are, ready to send
}

// has returns an error for a method that this connection does not have. A
// server that did not declare tools, resources or prompts may say so itself:
// some serve them all the same.
func (s *session) has(m *mcp.Method) error {
	if m.Name == "" {
		return nil
	}
	v := s.rev.Version
	if !m.FromClient(v) {
		return &UnsupportedError{Method: m.Name, Version: v}
	}
	switch need := m.Needs(v); {
	case m.Notification, s.capsUnknown, need == "", need == "tools", need == "resources", need == "prompts":
		return nil
	case !s.caps.Has(need):
		return &UnsupportedError{Method: m.Name, Version: v, Capability: need}
	}
	return nil
}

func versionHeader(v mcp.Version) http.Header {
	return http.Header{"Mcp-Protocol-Version": {string(v)}}
}

// mutual returns the newest revision that the server has too. The list may be
// long and may name what this client never heard of.
func mutual(offered []mcp.Version) (mcp.Revision, bool) {
	v, ok := mcp.Choose(offered)
	if !ok {
		return mcp.Revision{}, false
	}
	return v.Revision()
}

// sign is what the answer to a probe says about the server.
type sign int

const (
	signNone   sign = iota // nothing: the probe failed for another reason
	signLegacy             // the server does not know the modern era
	signModern             // it does, and refused this request
	signGone               // it closed the connection: some servers of old do
)

// judge reads the era off an error, as the transports of 2026-07-28 say. An
// error of HTTP has the method HTTPStatus, and wraps the *rpc.Error that its
// body held, if it did.
func judge(err error) sign {
	wire, isWire := asWire(err)
	status := statusOf(err)
	switch {
	case status != 0 && status != http.StatusOK && status != http.StatusBadRequest &&
		status != http.StatusNotFound && status != http.StatusMethodNotAllowed:
		return signNone // 401, 403, 407, 429, 5xx … are about something else
	case isWire && isModernCode(wire.Code):
		return signModern
	case isWire && status == http.StatusNotFound && wire.Code == rpc.CodeMethodNotFound:
		return signModern // how modern HTTP says "no such method"
	case isWire || status != 0:
		return signLegacy
	case errors.Is(err, rpc.ErrClosed):
		return signGone
	}
	return signNone
}

func statusOf(err error) int {
	h, ok := errors.AsType[interface {
		error
		HTTPStatus() int
	}](err)
	if !ok {
		return 0
	}
	return h.HTTPStatus()
}

func isModernCode(code int) bool {
	return code == mcp.CodeHeaderMismatch || code == mcp.CodeMissingCapability || code == mcp.CodeUnsupportedVersion
}

// supportedBy returns the versions that an error names as supported.
func supportedBy(err error) []mcp.Version {
	data, derr := mcp.ErrorData[mcp.VersionData](err)
	if derr != nil {
		return nil
	}
	return data.Supported
}
