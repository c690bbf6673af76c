package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// sseConn is a connection over HTTP+SSE. The end of the stream is the end of
// the session (2024-11-05, HTTP with SSE): the calls under way fail, for
// nothing else would bring their answers, and are never sent again. The next
// call opens a new stream, and on it a session like the one before.
type sseConn struct {
	*link
	dialer  *SSEDialer
	handler rpc.Handler
	ids     atomic.Int64

	mu      sync.Mutex
	stream  *sseStream // the last one
	opening opening
	renewal *renewal // under way
	batch   bool

	closing  sync.Once
	closeErr error
}

// Call implements [rpc.Peer].
func (c *sseConn) Call(ctx context.Context, req *rpc.Request, result any) error {
	for again := true; ; again = false {
		s, err := c.current(ctx)
		if err != nil {
			return err
		}
		if req.Method == mcp.MethodInitialize {
			return c.openSession(ctx, s, req, result)
		}
		if err := s.duplex.Call(ctx, req, result); err != nil {
			return c.explain(s, err)
		}
		if c.noted(req, s) || !again {
			return nil
		}
	}
}

func (c *sseConn) openSession(ctx context.Context, s *sseStream, req *rpc.Request, result any) error {
	var raw jsontext.Value
	if err := s.duplex.Call(ctx, req, &raw); err != nil {
		return c.explain(s, err)
	}
	c.mu.Lock()
	c.opening.begin(req, raw)
	c.mu.Unlock()
	return rpc.DecodeResult(&rpc.Response{Result: raw}, result)
}

// noted is that of conn.
func (c *sseConn) noted(req *rpc.Request, s *sseStream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.opening.note(req) || c.stream == s && !s.over()
}

// Notify implements [rpc.Peer].
func (c *sseConn) Notify(ctx context.Context, req *rpc.Request) error {
	c.mu.Lock()
	s := c.stream
	c.mu.Unlock()
	if s.over() && (req.Method == mcp.NotificationCancelled || req.Method == mcp.NotificationProgress) {
		return nil // it was about a request of the session that is gone
	}
	s, err := c.current(ctx)
	if err != nil {
		return err
	}
	if err := s.duplex.Notify(ctx, req); err != nil {
		return c.explain(s, err)
	}
	if req.Method == mcp.NotificationInitialized {
		c.mu.Lock()
		c.opening.initialized = copyRequest(req)
		c.mu.Unlock()
	}
	return nil
}

// explain says what it means for a call that its stream has ended. Where that
// was the end of a session, the connection has not ended.
func (c *sseConn) explain(s *sseStream, err error) error {
	c.mu.Lock()
	open := c.opening.complete()
	c.mu.Unlock()
	if !open || c.life.Err() != nil || !errors.Is(err, rpc.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: the server's stream ended: %w", ErrOutcomeUnknown, context.Cause(s.flight.ctx))
}

// current returns the stream there is, or opens another.
func (c *sseConn) current(ctx context.Context) (*sseStream, error) {
	c.mu.Lock()
	s, r := c.stream, c.renewal
	switch {
	case c.life.Err() != nil:
		c.mu.Unlock()
		return nil, rpc.ErrClosed
	case !s.over():
		c.mu.Unlock()
		return s, nil
	case !c.opening.complete(): // there is no session to repeat
		c.mu.Unlock()
		return nil, rpc.ErrClosed
	case r == nil:
		r = &renewal{done: make(chan struct{})}
		o := c.opening.clone()
		// Not on the goroutine of the first caller, whose context is its own.
		if !c.goLive(func() { c.renew(r, o, s) }) {
			c.mu.Unlock()
			return nil, rpc.ErrClosed
		}
		c.renewal = r
	}
	c.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, contextError(ctx)
	}
	if r.err != nil {
		return nil, r.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream, nil
}

func (c *sseConn) renew(r *renewal, o *opening, old *sseStream) {
	_ = old.duplex.Close() // what it waits for is bounded, and over
	s, err := c.connect(c.life)
	if err == nil {
		if err = o.repeat(&newSSESession{c, s}, c.log); err != nil {
			_ = s.duplex.Close()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renewal = nil
	switch {
	case c.life.Err() != nil:
		r.err = rpc.ErrClosed
	case err != nil:
		r.err = fmt.Errorf("streamhttp: the server's stream ended, and a new session could not be opened: %w", err)
	default:
		s.duplex.AllowBatch(c.batch)
		c.stream = s
	}
	close(r.done)
}

// newSSESession is a session that is being opened in place of another.
type newSSESession struct {
	c *sseConn
	s *sseStream
}

func (n *newSSESession) call(req *rpc.Request) (res jsontext.Value, err error) {
	ctx, cancel := context.WithTimeoutCause(n.c.life, n.c.lim.HeaderTimeout, &headerTimeoutError{n.c.lim.HeaderTimeout})
	defer cancel()
	req.ID = rpc.IntID(-n.c.ids.Add(1)) // callers count upwards
	err = n.s.duplex.Call(ctx, req, &res)
	return res, err
}

func (n *newSSESession) notify(req *rpc.Request) error { return n.s.duplex.Notify(n.c.life, req) }

// Cancel implements [rpc.Conn].
func (c *sseConn) Cancel(id rpc.ID, cause error) {
	c.mu.Lock()
	s := c.stream
	c.mu.Unlock()
	s.duplex.Cancel(id, cause)
}

// AllowBatch implements [rpc.Conn].
func (c *sseConn) AllowBatch(ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batch = ok
	c.stream.duplex.AllowBatch(ok)
}

// Close implements [rpc.Conn].
func (c *sseConn) Close() error {
	c.closing.Do(func() {
		c.shut()
		c.mu.Lock()
		s := c.stream
		c.mu.Unlock()
		c.closeErr = errors.Join(s.duplex.Close(), c.wait())
	})
	return c.closeErr
}
