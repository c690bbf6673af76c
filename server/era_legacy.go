package server

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// legacy is the era of sessions: initialize says once who the client is, and
// the client is asked by requests of the server's own.
type legacy struct{}

// defaultLevel is for sessions whose client did not set a level.
const defaultLevel = mcp.LevelInfo

func (legacy) open(c *Call) error {
	ss := c.session
	ss.mu.Lock()
	defer ss.mu.Unlock()
	c.Version = ss.version
	c.from(ss.client, ss.capabilities)
	switch {
	case c.req.Method == mcp.MethodInitialize && ss.version != "":
		return rpc.Errorf(rpc.CodeInvalidRequest, "already initialized: open another connection for another session")
	case ss.version != "":
		return nil
	case c.req.Method == mcp.MethodInitialize, c.req.Method == mcp.MethodPing:
		c.Version = mcp.Latest(mcp.Legacy)
		return nil
	}
	return rpc.Errorf(rpc.CodeInvalidRequest,
		"not initialized: send initialize first, or name the revision in params._meta[%q] of each request", mcp.MetaProtocolVersion)
}

// initialize opens the session.
func (ss *session) initialize(c *Call, p *mcp.InitializeParams) (any, error) {
	if p.ProtocolVersion == "" {
		return nil, mcp.InvalidParams("params.protocolVersion is required")
	}
	s := ss.server
	version := mcp.Negotiate(p.ProtocolVersion)
	client, capabilities := p.ClientInfo, p.Capabilities
	f := s.features.Load()
	sub := newSubscriber(sessionFilter(&f.capabilities), s.opts.Limits)
	sub.deliver = func() { ss.deliver(sub) }

	ss.mu.Lock()
	if ss.version != "" {
		ss.mu.Unlock()
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "already initialized: open another connection for another session")
	}
	ss.version, ss.client, ss.capabilities, ss.level = version, &client, &capabilities, defaultLevel
	ss.sub, ss.initID = sub, c.req.ID
	ss.mu.Unlock()
	c.Version = version
	c.from(&client, &capabilities)

	s.hub.join(sub)
	if ss.ctx.Err() != nil { // the connection ended, and end did not see sub
		s.hub.leave(sub)
	}
	if r, ok := version.Revision(); ok {
		ss.conn.AllowBatch(r.Batch)
		rpc.ErrorIDNull(ss.conn, r.ErrorIDNull)
	}
	return &mcp.InitializeResult{
		ProtocolVersion: version,
		Capabilities:    f.capabilities,
		ServerInfo:      s.info,
		Instructions:    s.opts.Instructions,
	}, nil
}

func (legacy) resume(context.Context, *Call, *mcp.Answers) error { return nil }

func (legacy) ask(ctx context.Context, c *Call, qs []Question) error {
	for _, q := range qs {
		if err := mcp.NotInRevision(c.Version, q.need); err != nil {
			return err
		}
	}
	if err := checkCapabilities(c, qs); err != nil {
		return err
	}
	for _, q := range qs {
		if err := (legacy{}).askOne(ctx, c, q); err != nil {
			return err
		}
	}
	return nil
}

// askOne sends a request on the stream of the call, where the client expects it.
func (legacy) askOne(ctx context.Context, c *Call, q Question) error {
	params := q.params
	if p, ok := params.(*mcp.ElicitParams); ok && p.Mode == mcp.ElicitURL && p.ElicitationID == "" {
		withID := *p
		withID.ElicitationID = rand.Text()
		params = &withID
	}
	req, err := rpc.NewRequest(q.method, mcp.Downgrade(c.Version, params))
	if err != nil {
		return err
	}
	var answer jsontext.Value
	if q.hold > 0 && holds(c, q) {
		answer, err = askHeld(ctx, c, q, req)
	} else {
		err = c.peer.Call(ctx, req, &answer)
	}
	if err != nil {
		if ctx.Err() != nil && !req.ID.IsZero() {
			c.withdraw(ctx, req.ID)
		}
		if e, ok := errors.AsType[*rpc.Error](err); ok { // the client's refusal is not ours
			return &AskError{Key: q.Key, Method: q.method, Err: e}
		}
		return err
	}
	if err := q.accept(c, answer); err != nil {
		return &AskError{Key: q.Key, Method: q.method, Err: err}
	}
	return nil
}

// withdraw cancels a question that nobody waits for any more: on the stream of
// the call while that is open, as that is where the question went.
func (c *Call) withdraw(ctx context.Context, id rpc.ID) {
	reason := "the server does not wait any longer"
	req, err := rpc.NewRequest(mcp.NotificationCancelled, &mcp.CancelledParams{RequestID: id, Reason: reason})
	if err != nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if c.peer.Notify(ctx, req) == nil {
		return
	}
	if err := c.session.conn.Notify(ctx, req); err != nil {
		c.session.log().Debug("a question could not be withdrawn", "error", err)
	}
}

func (legacy) wantsLog(c *Call, level mcp.LoggingLevel) bool {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.session.level.Covers(level)
}

func (legacy) finish(_ context.Context, c *Call, res any, err error) (any, error) {
	ss := c.session
	if c.req.Method == mcp.MethodInitialize {
		ss.mu.Lock()
		ss.initID = rpc.ID{}
		ss.mu.Unlock()
	}
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Code == mcp.CodeMissingCapability { // the code belongs to the modern era
		if c.Method.Name == mcp.MethodToolsCall { // the model can tell its user, or try without
			return mcp.Downgrade(c.Version, toolError(errors.New(e.Message))), nil
		}
		return nil, rpc.Errorf(rpc.CodeInternalError, "%s", e.Message)
	}
	if errors.Is(err, ErrInputRequired) || err == nil && asks(res) {
		return nil, rpc.Errorf(rpc.CodeInternalError, "this revision cannot ask with a result")
	}
	if err != nil {
		return nil, err
	}
	if a, ok := res.(*toolAnswer); ok {
		if a.suits(c.Version) {
			return a, nil
		}
		res = a.result()
	}
	return mcp.Downgrade(c.Version, res), nil
}

// suits reports whether a legacy revision has all of an answer.
func (a *toolAnswer) suits(v mcp.Version) bool {
	return a.structured == nil || v == mcp.Latest(mcp.Legacy) && a.structured.Kind() == '{'
}

// asks reports whether a result is one of the modern era that asks.
func asks(res any) bool {
	r, ok := res.(mcp.AnyResult)
	return ok && r.CommonResult().ResultType == mcp.ResultInputRequired
}
