package client

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// modern is the era without sessions: every request says who sends it, in
// which revision, and what it can do.
type modern struct{}

func (modern) stamps() bool { return true }

func (modern) capabilities(c *Client, _ mcp.Version) mcp.ClientCapabilities {
	caps := c.declared()
	caps.Tasks = nil // an extension since
	return caps
}

func (modern) hello(ctx context.Context, c *Client, v mcp.Version) (*session, error) {
	s := c.modernSession(v)
	req, err := rpc.NewRequest(mcp.MethodDiscover, &sent{stamp: s.identity})
	if err != nil {
		return nil, err
	}
	req.Header = s.header
	var raw jsontext.Value
	if err := c.handshake(ctx, req, &raw); err != nil {
		return nil, err
	}
	var res mcp.DiscoverResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoVersions, err)
	}
	if len(res.SupportedVersions) == 0 {
		return nil, errNoVersions
	}
	rev, ok := mutual(res.SupportedVersions)
	if ok && rev.Era == mcp.Legacy && c.opts.Version == "" {
		return nil, &legacyOnlyError{rev.Version}
	}
	if c.opts.Version != "" {
		rev, _ = v.Revision()
		ok = slices.Contains(res.SupportedVersions, v)
	}
	if !ok {
		return nil, &VersionError{Wanted: v, Offered: res.SupportedVersions}
	}
	if rev.Version != v {
		s = c.modernSession(rev.Version)
	}
	s.caps, s.instructions = res.Capabilities, res.Instructions
	if info := res.Meta.ServerInfo(); info != nil {
		s.server = *info
	}
	return s, nil
}

// modernSession is what there is to say before the server said anything.
func (c *Client) modernSession(v mcp.Version) *session {
	rev, _ := v.Revision()
	s := &session{era: modern{}, rev: rev, header: versionHeader(v)}
	s.identity.add(mcp.MetaProtocolVersion, appendString(nil, string(v)))
	s.identity.add(mcp.MetaClientInfo, c.infoJSON)
	s.identity.add(mcp.MetaClientCapabilities, c.mustEncode(modern{}.capabilities(c, v)))
	return s
}

func (modern) opened(_ context.Context, c *Client, _ *session) error {
	c.connection().AllowBatch(false)
	if c.opts.LogLevel != "" {
		c.logLevel.Store(&c.opts.LogLevel)
	}
	return nil
}

func (modern) stamp(c *Client, s *session, call *Call) stamp {
	st := s.identity
	// Clipped, so that what is added does not write into the shared one.
	st.members, st.names = slices.Clip(st.members), slices.Clip(st.names)
	level := call.opts.logLevel
	if level == "" {
		if l := c.logLevel.Load(); l != nil {
			level = *l
		}
	}
	if level != "" {
		st.add(mcp.MetaLogLevel, appendString(nil, string(level)))
	}
	return st
}

func (modern) headers(c *Client, s *session, call *Call) http.Header {
	mirrored := c.tools.mirror(call)
	if len(mirrored) == 0 {
		return s.header
	}
	h := maps.Clone(s.header)
	maps.Copy(h, mirrored)
	return h
}

// mend follows what a modern server says about a refused request, once.
func (m modern) mend(ctx context.Context, c *Client, s *session, call *Call, err error) bool {
	wire, ok := asWire(err)
	if !ok || call.mended > 0 {
		return false
	}
	switch wire.Code {
	case mcp.CodeUnsupportedVersion:
		r, ok := mutual(supportedBy(err))
		if !ok || r.Era != mcp.Modern {
			return false
		}
		next := c.modernSession(r.Version)
		next.server, next.caps, next.capsUnknown, next.instructions = s.server, s.caps, s.capsUnknown, s.instructions
		c.session.CompareAndSwap(s, next)
		return true
	case mcp.CodeHeaderMismatch:
		return c.relearn(ctx, call)
	}
	return false
}

// asked refuses: in this era the server must not ask, and the client must not
// answer. It is told nothing.
func (modern) asked(c *Client, req *rpc.Request) error {
	err := rpc.Errorf(rpc.CodeMethodNotFound, "a server of this revision sends no requests")
	if conn := c.conn.Load(); conn != nil {
		(*conn).Cancel(req.ID, err)
	}
	c.log.Warn("client: dropped a request of the server: this revision has none", "method", excerpt(req.Method, 64))
	return err
}

// cancelled ends a subscription: there is nothing else that a server may end.
func (modern) cancelled(c *Client, id rpc.ID, _ string) {
	if sub := c.subscription(id); sub != nil {
		sub.end(nil)
	}
}

// hears is true for the events of a subscription that was acknowledged.
func (modern) hears(c *Client, meta mcp.Meta, _ func(*mcp.Filter) bool) bool {
	sub := c.subscription(meta.SubscriptionID())
	return sub != nil && sub.isAcknowledged()
}

func (modern) setLogLevel(_ context.Context, c *Client, level mcp.LoggingLevel, _ []CallOption) error {
	c.logLevel.Store(&level)
	return nil
}
