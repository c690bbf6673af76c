package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// errHungUp is the cause of the end of a modern request whose client hung up:
// that is how it cancels (2026-07-28, Streamable HTTP, cancellation).
var errHungUp = fmt.Errorf("streamhttp: the client hung up: %w", rpc.ErrCancelled)

// requestContext is the context of one request in a session: it has the values
// of the HTTP request, but it ends with the session, not with the connection
// (spec 3.2: a disconnect is not a cancel).
type requestContext struct {
	context.Context
	values context.Context
}

// Value asks the session first, so that the context package recognizes its own
// parent and needs no goroutine to watch it.
func (c *requestContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// modernContext is the context of one modern request: that of the HTTP request,
// which says why it ended, and ends with the server, too. Most requests are
// over before anybody waits for their end: a context of package context is made
// only for those that are waited for.
type modernContext struct {
	http   context.Context
	server context.Context

	mu     sync.Mutex
	real   context.Context // nil until somebody needs it
	cancel context.CancelCauseFunc
	stop   [2]func() bool // those that wait for the ends of http and server
	over   bool           // the request was answered
}

// reason is why the context is to end, nil while it is not.
func (c *modernContext) reason() error {
	if c.http.Err() != nil {
		if cause := context.Cause(c.http); !errors.Is(cause, context.Canceled) {
			return cause // a deadline, or a wish of who wraps the handler
		}
		return errHungUp
	}
	return context.Cause(c.server)
}

// context returns the real one.
func (c *modernContext) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real != nil {
		return c.real
	}
	c.real, c.cancel = context.WithCancelCause(context.WithoutCancel(c.http))
	if why := c.reason(); why != nil || c.over {
		c.cancel(why)
		return c.real
	}
	end := func() { c.cancel(c.reason()) }
	c.stop = [2]func() bool{context.AfterFunc(c.http, end), context.AfterFunc(c.server, end)}
	return c.real
}

// end ends the context when the request was answered.
func (c *modernContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.real == nil {
		return
	}
	for _, stop := range c.stop {
		if stop != nil {
			stop()
		}
	}
	c.cancel(nil)
}

// fresh reports whether nothing has happened that the HTTP request's context
// does not know.
func (c *modernContext) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real == nil && !c.over && c.http.Err() == nil && c.server.Err() == nil
}

// Deadline implements [context.Context].
func (c *modernContext) Deadline() (time.Time, bool) { return c.http.Deadline() }

// Done implements [context.Context].
func (c *modernContext) Done() <-chan struct{} { return c.context().Done() }

// Err implements [context.Context].
func (c *modernContext) Err() error {
	if c.fresh() {
		return nil
	}
	err := c.context().Err()
	if err != nil && errors.Is(c.http.Err(), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// Value implements [context.Context]. Package context finds the cause of the end
// here, too.
func (c *modernContext) Value(key any) any {
	if c.fresh() {
		return c.http.Value(key)
	}
	return c.context().Value(key)
}
