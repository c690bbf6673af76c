package rpc

import (
	"context"
	"sync"
	"time"
)

// A lazyContext ends with its parent or when it is told to. Most requests are
// over before anybody waits for their end: a context of package context, which
// takes memory and a place in a list of its parent, is made only for those
// that are waited for. Its parent must be set.
type lazyContext struct {
	parent context.Context

	mu    sync.Mutex
	real  context.Context // nil until somebody needs it
	stop  context.CancelCauseFunc
	ended bool
	cause error // why, where there is no real
}

// end ends the context with cause. Only the first call counts.
func (c *lazyContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real != nil {
		c.stop(cause)
		return
	}
	if !c.ended {
		c.ended, c.cause = true, cause
	}
}

// context returns the real one.
func (c *lazyContext) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.real != nil:
	case c.ended: // whatever became of the parent since
		c.real, c.stop = context.WithCancelCause(context.WithoutCancel(c.parent))
		c.stop(c.cause)
	default:
		c.real, c.stop = context.WithCancelCause(c.parent)
	}
	return c.real
}

// fresh reports whether nothing has happened that the parent does not know.
func (c *lazyContext) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real == nil && !c.ended
}

// Deadline implements [context.Context].
func (c *lazyContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements [context.Context].
func (c *lazyContext) Done() <-chan struct{} { return c.context().Done() }

// Err implements [context.Context].
func (c *lazyContext) Err() error {
	if c.fresh() {
		return c.parent.Err()
	}
	return c.context().Err()
}

// Value implements [context.Context]. Package context finds the cause of the end
// here, too.
func (c *lazyContext) Value(key any) any {
	if c.fresh() {
		return c.parent.Value(key)
	}
	return c.context().Value(key)
}
