package server

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// session is one connection, and what a legacy client agreed on over it.
// Modern requests leave it as it is and see nothing of it.
type session struct {
	server    *Server
	conn      rpc.Conn
	ctx       context.Context // ends with the connection
	callbacks serial          // what notifications start
	ending    sync.Once

	mu           sync.Mutex
	version      mcp.Version // "" = not initialized
	client       *mcp.Implementation
	capabilities *mcp.ClientCapabilities
	level        mcp.LoggingLevel
	initID       rpc.ID      // of initialize, while it is answered
	sub          *subscriber // made by initialize
}

// ErrCancelled is the cause of the context of a request that its client
// cancelled, also by hanging up where that means the same: see [context.Cause].
var ErrCancelled = rpc.ErrCancelled

// Handle implements [rpc.Handler].
func (ss *session) Handle(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
	if req.ID.IsZero() {
		ss.notified(req)
		return nil, nil
	}
	s := ss.server
	if !s.requests.enter() {
		return nil, errStopping
	}
	defer s.requests.leave()
	c, err := newCall(ctx, ss, req, peer)
	if err != nil {
		return nil, err
	}
	return s.answer(&c.ctx, c)
}

// Alone implements [rpc.Sequencer]: clients send requests behind initialize
// without waiting for its answer.
func (ss *session) Alone(req *rpc.Request) bool { return req.Method == mcp.MethodInitialize }

// answer takes a request through its era. Panics end here.
func (s *Server) answer(ctx context.Context, c *Call) (res any, err error) {
	defer c.session.contain(ctx, c.Method.Name, &err)
	res, keep, err := s.handle(ctx, c)
	c.report(ctx, err)
	if _, done := res.(encoded); done {
		return res, err
	}
	if res, err = c.era.finish(ctx, c, res, err); err == nil && keep != nil {
		res = keep(res)
	}
	return res, err
}

// handle runs what answers c. Where keep is not nil it encodes the finished result,
// once for all who ask the same.
func (s *Server) handle(ctx context.Context, c *Call) (res any, keep func(any) any, err error) {
	defer c.end() // nothing is sent behind the result
	if err := c.era.open(c); err != nil {
		return nil, nil, err
	}
	m, ok := s.method(c)
	if !ok {
		return nil, nil, mcp.MethodNotFound(capped(c.req.Method))
	}
	if kept, key := s.keeper(c, m); kept != nil {
		if e, ok := kept.get(key); ok {
			return e, nil, nil
		}
		keep = func(res any) any { return kept.keep(key, res) }
	}
	c.handle = m.handle
	if c.Params, err = m.decode(c.req, c.meta); err != nil {
		return nil, nil, err
	}
	if p, ok := c.Params.(mcp.AnyParams); ok {
		c.Meta = p.CommonParams().Meta
	}
	if c.Method.MayAsk {
		if err := c.era.resume(ctx, c, answersOf(c.Params)); err != nil {
			return nil, nil, err
		}
	}
	res, err = (*s.chain.Load())(ctx, c)
	return res, keep, err
}

// notified takes a notification. It returns soon: what takes time is queued.
func (ss *session) notified(req *rpc.Request) {
	switch req.Method {
	case mcp.NotificationCancelled:
		ss.cancelled(req)
	case mcp.NotificationInitialized:
		ss.initialized()
	case mcp.NotificationRootsListChanged:
		ss.callback(mcp.NotificationRootsListChanged, ss.server.opts.OnRootsChanged)
	default:
		ss.custom(req)
	}
}

// cancelled ends a request of the client, whichever era it is of. Initialize
// cannot be cancelled; what cannot be understood is ignored.
func (ss *session) cancelled(req *rpc.Request) {
	var p mcp.CancelledParams
	if len(req.Params) == 0 || json.Unmarshal(req.Params, &p) != nil || p.RequestID.IsZero() {
		return
	}
	ss.mu.Lock()
	initializing := p.RequestID == ss.initID
	ss.mu.Unlock()
	if initializing {
		return
	}
	cause := ErrCancelled
	if p.Reason != "" {
		cause = fmt.Errorf("%w: %s", ErrCancelled, capped(p.Reason))
	}
	ss.conn.Cancel(p.RequestID, cause)
}

func (ss *session) initialized() {
	ss.mu.Lock()
	sub := ss.sub
	ss.mu.Unlock()
	if sub == nil {
		return // initialize was not answered yet, or never sent
	}
	if !sub.release() {
		return // said twice
	}
	ss.callback(mcp.NotificationInitialized, ss.server.opts.OnInitialized)
}

// callback queues a function of the server's author, with a call that is for
// the whole session.
func (ss *session) callback(method string, f func(context.Context, *Call)) {
	if f == nil {
		return
	}
	c, err := newCall(ss.ctx, ss, &rpc.Request{Method: method}, ss.conn)
	if err != nil || c.era.open(c) != nil {
		return // not initialized
	}
	ss.queue(method, func() { f(&c.ctx, c) })
}

func (ss *session) queue(method string, f func()) {
	overflow := ss.callbacks.add(func() {
		defer ss.contain(ss.ctx, method, nil)
		f()
	})
	if overflow {
		ss.log().Warn("notifications are dropped: too many wait", "method", method)
	}
}

// end forgets the session when its connection is over. Further calls wait for
// the first.
func (ss *session) end() { ss.ending.Do(ss.forget) }

func (ss *session) forget() {
	s := ss.server
	if s.workers.enter() {
		defer s.workers.leave()
	}
	s.mu.Lock()
	delete(s.sessions, ss)
	s.mu.Unlock()
	ss.mu.Lock()
	sub := ss.sub
	ss.mu.Unlock()
	if sub != nil {
		ss.unsubscribed(context.WithoutCancel(ss.ctx), s.hub.leave(sub)...)
	}
}
