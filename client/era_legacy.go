package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// legacy is the era of the handshake: initialize opens a session, and what was
// said there holds for all of it.
type legacy struct{}

func (legacy) stamps() bool { return false }

func (l legacy) hello(ctx context.Context, c *Client, v mcp.Version) (*session, error) {
	s, err := l.initialize(ctx, c, v)
	if errors.Is(err, &rpc.Error{Code: rpc.CodeInvalidParams}) && c.opts.Version == "" {
		// Some servers refuse where they should make a counter-offer.
		if r, ok := mutual(supportedBy(err)); ok && r.Era == mcp.Legacy && r.Version != v {
			return l.initialize(ctx, c, r.Version)
		}
	}
	return s, err
}

func (l legacy) initialize(ctx context.Context, c *Client, v mcp.Version) (*session, error) {
	req, err := rpc.NewRequest(mcp.MethodInitialize, &mcp.InitializeParams{
		ProtocolVersion: v,
		Capabilities:    l.capabilities(c, v),
		ClientInfo:      c.opts.Info,
	})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	var res mcp.InitializeResult
	if err := c.handshake(ctx, req, &res); err != nil {
		return nil, err
	}
	rev, ok := res.ProtocolVersion.Revision()
	if !ok || rev.Era != mcp.Legacy {
		return nil, &VersionError{Wanted: v, Offered: []mcp.Version{res.ProtocolVersion}}
	}
	if c.opts.Version != "" && rev.Version != v { // before initialized: there is no session to leave
		return nil, &VersionError{Wanted: v, Offered: []mcp.Version{res.ProtocolVersion}}
	}
	s := &session{
		era: legacy{}, rev: rev,
		server: res.ServerInfo, caps: res.Capabilities, instructions: res.Instructions,
	}
	if rev.HeaderNamed {
		s.header = versionHeader(rev.Version)
	}
	return s, nil
}

func (legacy) opened(ctx context.Context, c *Client, s *session) error {
	conn := c.connection()
	conn.AllowBatch(s.rev.Batch)
	rpc.ErrorIDNull(conn, s.rev.ErrorIDNull)
	if err := conn.Notify(ctx, &rpc.Request{Method: mcp.NotificationInitialized, Header: s.header}); err != nil {
		return fmt.Errorf("client: %s: %w", mcp.NotificationInitialized, err)
	}
	if c.opts.LogLevel == "" || s.caps.Logging == nil {
		return nil
	}
	if err := c.SetLogLevel(ctx, c.opts.LogLevel); err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.log.Warn("client: the server did not take the log level", "error", err)
	}
	return nil
}

func (legacy) capabilities(c *Client, v mcp.Version) mcp.ClientCapabilities {
	caps := c.declared()
	if caps.Roots != nil {
		caps.Roots.ListChanged = true
	}
	if v < mcp.V20251125 { // these had no modes and no parts
		caps.Elicitation = plain(caps.Elicitation)
		caps.Sampling = plain(caps.Sampling)
		caps.Tasks = nil
	} else if c.opts.Tasks {
		caps.Tasks = c.heldCapability()
	}
	return caps
}

// plain empties a capability that is there.
func plain[T any](c *T) *T {
	if c == nil {
		return nil
	}
	return new(T)
}

func (legacy) stamp(*Client, *session, *Call) stamp { return stamp{} }

func (legacy) headers(_ *Client, s *session, _ *Call) http.Header { return s.header }

// mend lets the user visit the URLs that the server asks for first.
func (legacy) mend(ctx context.Context, c *Client, _ *session, call *Call, err error) bool {
	return c.visit(ctx, call, err)
}

func (legacy) asked(*Client, *rpc.Request) error { return nil }

// cancelled takes back a request of the server.
func (legacy) cancelled(c *Client, id rpc.ID, reason string) {
	if conn := c.conn.Load(); conn != nil {
		(*conn).Cancel(id, &cancelledError{reason})
	}
}

// hears is true while a subscription has such a change. The server, which sends
// to all sessions what it declared, does not know that.
func (legacy) hears(c *Client, _ mcp.Meta, covers func(*mcp.Filter) bool) bool {
	return c.subs.cover(covers)
}

func (legacy) setLogLevel(ctx context.Context, c *Client, level mcp.LoggingLevel, opts []CallOption) error {
	if level == "" {
		return fmt.Errorf("client: a server of this revision cannot be asked for no log messages: use %s", levelNames())
	}
	return c.do(ctx, mcp.MethodSetLevel, &mcp.SetLevelParams{Level: level}, nil, opts)
}

// cancelledError is the cause of a context that the server ended.
type cancelledError struct{ reason string }

func (e *cancelledError) Error() string {
	if e.reason == "" {
		return "cancelled by the server"
	}
	return "cancelled by the server: " + excerpt(e.reason, 200)
}

func (e *cancelledError) Is(target error) bool { return target == context.Canceled }
