package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

func (c *Client) connect(ctx context.Context, d rpc.Dialer) error {
	if err := c.dial(ctx, d); err != nil {
		return err
	}
	if v := c.opts.Version; v != "" {
		return c.connectAt(ctx, v)
	}
	prior, known := c.opts.PriorVersion.Revision()
	if !known || prior.Era == mcp.Modern {
		return c.probe(ctx, d)
	}
	err := c.greet(ctx, legacy{}, prior.Version)
	if s := judge(err); err == nil || s == signNone {
		return err
	}
	c.log.Info("client: the server is not what it was, asking again", "error", err)
	if judge(err) == signGone {
		if err := c.redial(ctx, d); err != nil {
			return err
		}
	}
	if perr := c.probe(ctx, d); perr != nil {
		return errors.Join(perr, err)
	}
	return nil
}

// connectAt talks one revision or none.
func (c *Client) connectAt(ctx context.Context, v mcp.Version) error {
	rev, ok := v.Revision()
	if !ok {
		return fmt.Errorf("client: Options.Version: %q is no revision that this client has", v)
	}
	e := eraOf(rev)
	err := c.greet(ctx, e, v)
	if err != nil && rev.Era == mcp.Modern && judge(err) == signModern {
		if r, ok := mutual(supportedBy(err)); ok && r.Version == v {
			err = c.greet(ctx, e, v) // refused and offered at once: it may have been passing
		}
	}
	if err == nil && c.Version() != v {
		return &VersionError{Wanted: v, Offered: []mcp.Version{c.Version()}}
	}
	return err
}

func eraOf(r mcp.Revision) era {
	if r.Era == mcp.Modern {
		return modern{}
	}
	return legacy{}
}

// probe finds out the era (spec: basic/versioning, and the section on backward
// compatibility of each transport).
func (c *Client) probe(ctx context.Context, d rpc.Dialer) error {
	v := mcp.Latest(mcp.Modern)
	if r, ok := c.opts.PriorVersion.Revision(); ok && r.Era == mcp.Modern {
		v = r.Version
	}
	err := c.tryModern(ctx, v, c.probeTimeout)
	switch judgeProbe(ctx, err) {
	case signLegacy:
		return c.fallBack(ctx, err)
	case signGone:
		if err := c.redial(ctx, d); err != nil {
			return err
		}
		return c.greet(ctx, legacy{}, mcp.Latest(mcp.Legacy))
	case signModern:
		return c.retryModern(ctx, v, err)
	}
	return err
}

// tryModern sends server/discover; limit bounds it, 0 is no limit of its own.
func (c *Client) tryModern(ctx context.Context, v mcp.Version, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errSilent)
		defer cancel()
	}
	err := c.greet(ctx, modern{}, v)
	if err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// errSilent is for a server that does not answer the probe: servers of old may
// ignore all that comes before initialize.
var errSilent = errors.New("client: no answer to server/discover")

// errNoVersions is for an answer to server/discover that names no revision:
// some servers of old answer anything to anything.
var errNoVersions = errors.New("client: the answer to server/discover names no revision")

// legacyOnlyError is an answer of the modern era that leaves a legacy revision as
// the newest in common.
type legacyOnlyError struct{ v mcp.Version }

func (e *legacyOnlyError) Error() string {
	return fmt.Sprintf("client: the newest revision in common is %s", e.v)
}

func judgeProbe(ctx context.Context, err error) sign {
	switch {
	case err == nil || ctx.Err() != nil:
		return signNone
	case errors.Is(err, errSilent), errors.Is(err, errNoVersions):
		return signLegacy
	}
	if _, ok := errors.AsType[*legacyOnlyError](err); ok {
		return signModern
	}
	return judge(err)
}

// fallBack opens a legacy session. A server that turns out to be modern, and
// was only slow to answer the probe, is asked again without haste.
func (c *Client) fallBack(ctx context.Context, probeErr error) error {
	c.log.Debug("client: falling back to initialize", "reason", probeErr)
	err := c.greet(ctx, legacy{}, mcp.Latest(mcp.Legacy))
	if err != nil && errors.Is(probeErr, errSilent) && judge(err) == signModern {
		return c.tryModern(ctx, mcp.Latest(mcp.Modern), 0)
	}
	return err
}

// retryModern goes on after a refusal that a modern server gave a reason for.
func (c *Client) retryModern(ctx context.Context, asked mcp.Version, err error) error {
	if only, ok := errors.AsType[*legacyOnlyError](err); ok {
		return c.greet(ctx, legacy{}, only.v)
	}
	offered := supportedBy(err)
	if len(offered) == 0 {
		if errors.Is(err, &rpc.Error{Code: rpc.CodeMethodNotFound}) {
			return c.assume(ctx, asked)
		}
		return err
	}
	r, ok := mutual(offered)
	if !ok {
		return &VersionError{Wanted: asked, Offered: offered}
	}
	if r.Era == mcp.Legacy {
		return c.greet(ctx, legacy{}, r.Version)
	}
	return c.tryModern(ctx, r.Version, 0)
}

// assume opens a modern session with a server that has no server/discover.
func (c *Client) assume(ctx context.Context, v mcp.Version) error {
	s := c.modernSession(v)
	s.capsUnknown = true
	c.session.Store(s)
	return s.era.opened(ctx, c, s)
}
