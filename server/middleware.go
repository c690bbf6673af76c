package server

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/tenon-mcp/tenon/rpc"
)

// A Handler answers one request. The result is a pointer to a result of
// package mcp, or anything that is encoded as a JSON object.
type Handler func(ctx context.Context, c *Call) (any, error)

// Middleware wraps the handling of every request that a method exists for. The
// call is complete: its revision is known and its params are decoded.
type Middleware func(next Handler) Handler

// Use adds middleware. What was added first sees a request first.
func (s *Server) Use(m ...Middleware) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.middleware = append(s.middleware, m...)
	s.buildChain()
}

func (s *Server) buildChain() {
	h := Handler(contained)
	for _, v := range slices.Backward(s.middleware) {
		h = v(h)
	}
	s.plain.Store(len(s.middleware) == 0) // first: who finds middleware finds that, too
	s.chain.Store(&h)
}

// contained has what answers the method called. A panic of it becomes an error,
// which middleware sees like any other.
func contained(ctx context.Context, c *Call) (res any, err error) {
	defer c.session.contain(ctx, c.Method.Name, &err)
	return c.handle(ctx, c)
}

// contain turns a panic of any code of the server's author into an internal
// error. The log has the stack; the client learns nothing of it.
func (ss *session) contain(ctx context.Context, what string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	ss.log().LogAttrs(ctx, slog.LevelError, "a handler panicked",
		slog.String("method", what), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if err != nil {
		*err = rpc.Errorf(rpc.CodeInternalError, "internal error")
	}
}

// report logs an error whose text is not for the client.
func (c *Call) report(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrInputRequired) {
		return
	}
	if _, ok := errors.AsType[*rpc.Error](err); ok {
		return
	}
	c.session.log().LogAttrs(ctx, slog.LevelError, "a request failed",
		slog.String("method", c.Method.Name), slog.Any("error", err))
}
