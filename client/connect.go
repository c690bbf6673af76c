package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// Connect dials a server and agrees with it on a revision: the newest that
// both have, unless Options.Version says otherwise. It asks with
// server/discover first and falls back to initialize when the answer is that
// of a server of the legacy era. What is no sign of an era is an error: a
// refused authorization, a server that is down.
//
// ctx bounds the connecting, not the life of the connection.
func Connect(ctx context.Context, d rpc.Dialer, opts *Options) (*Client, error) {
	if opts != nil {
		if err := checkLevel(opts.LogLevel); err != nil {
			return nil, err
		}
		for _, a := range opts.OneOf {
			if err := a.list.Check(); err != nil {
				return nil, fmt.Errorf("client: Options.OneOf: %w", err)
			}
		}
	}
	c := newClient(opts)
	err := c.connect(ctx, d)
	if err == nil {
		c.watchEnd()
		return c, nil
	}
	if cerr := c.Close(); cerr != nil {
		c.log.Debug("client: close after a failed connect", "error", cerr)
	}
	return nil, err
}

// greet opens a session of one era.
func (c *Client) greet(ctx context.Context, e era, v mcp.Version) error {
	s, err := e.hello(ctx, c, v)
	if err != nil {
		return err
	}
	c.session.Store(s)
	return e.opened(ctx, c, s)
}

// handshake sends a request that opens a session. It is never cancelled on the
// wire: a server of old may take nothing before initialize, and initialize
// itself must not be.
func (c *Client) handshake(ctx context.Context, req *rpc.Request, result any) error {
	if d := c.limits.idle; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, &TimeoutError{Method: req.Method, After: d})
		defer cancel()
	}
	req.ID = c.ids.Next()
	err := c.connection().Call(ctx, req, result)
	if err == nil {
		return nil
	}
	if t, ok := errors.AsType[*TimeoutError](context.Cause(ctx)); ok && ctx.Err() != nil {
		if err == ctx.Err() { //nolint:errorlint // what wraps it has more to say
			return fmt.Errorf("client: %s: %w", req.Method, t)
		}
		err = fmt.Errorf("%w: %w", t, err)
	}
	return fmt.Errorf("client: %s: %w", req.Method, err)
}

func (c *Client) dial(ctx context.Context, d rpc.Dialer) error {
	conn, err := d.Dial(ctx, inbound{c})
	if err != nil {
		return fmt.Errorf("client: dial: %w", err)
	}
	c.conn.Store(&conn)
	return nil
}

// redial opens the connection again, once, for a server that closed it when it
// was probed.
func (c *Client) redial(ctx context.Context, d rpc.Dialer) error {
	c.log.Debug("client: the server hung up on server/discover, dialing again")
	if err := c.connection().Close(); err != nil {
		c.log.Debug("client: close of a lost connection", "error", err)
	}
	return c.dial(ctx, d)
}
