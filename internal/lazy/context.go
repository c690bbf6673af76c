// Package lazy has the context of one call or request, which costs nothing
// until somebody waits for its end.
package lazy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Context ends with its parent or when it is told to. Most calls are over
// before anybody waits for their end: a context of package context, which
// takes memory and a place in a list of its parent, is made only for those
// that are waited for. Its methods may be called from several goroutines at
// once.
type Context struct {
	// Parent must be set.
	Parent context.Context //nolint:containedctx // it is what this is made of
	// Lent says that whoever carries out the call may end it.
	Lent bool

	touched atomic.Bool // there is a real context, or it has ended

	ended bool

	mu    sync.Mutex
	real  *realContext // nil until somebody needs it
	cause error        // why it ended, where there is no real
	told  func()       // see Tell
}

type realContext struct {
	context.Context
	stop context.CancelCauseFunc
}

func realOf(parent context.Context) *realContext {
	ctx, stop := context.WithCancelCause(parent)
	return &realContext{ctx, stop}
}

// End ends the context with cause. Only the first call counts.
func (c *Context) End(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	c.touched.Store(true)
	if c.real != nil {
		c.real.stop(cause)
	} else {
		c.cause = cause
	}
	if c.told != nil {
		c.told()
	}
}

// Tell has f called when End is: not when the parent ends, which the caller
// must look after. One f at a time is told, and nil is nobody: when Tell(nil)
// has returned, what was told before is not called any more. Tell reports false,
// and does nothing, where End was called already. f must not use the context.
func (c *Context) Tell(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended && f != nil {
		return false
	}
	c.told = f
	return true
}

// context returns the real one.
func (c *Context) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.real != nil:
	case c.ended: // whatever became of the parent since
		c.real = realOf(context.WithoutCancel(c.Parent))
		c.real.stop(c.cause)
	default:
		c.real = realOf(c.Parent)
		c.touched.Store(true)
	}
	return c.real.Context
}

// fresh reports whether nothing has happened that the parent does not know.
func (c *Context) fresh() bool { return !c.touched.Load() }

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return c.Parent.Deadline() }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} { return c.context().Done() }

// Err implements [context.Context].
func (c *Context) Err() error {
	if c.fresh() {
		return c.Parent.Err()
	}
	return c.context().Err()
}

// Value implements [context.Context]. Package context finds the cause of the end
// here, too.
func (c *Context) Value(key any) any {
	if c.fresh() {
		return c.Parent.Value(key)
	}
	return c.context().Value(key)
}
