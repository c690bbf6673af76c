package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/lazy"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// OnProgress asks the server for progress. fn gets it in order, on the
// goroutine that made the call and before the call returns; none of it comes
// later. While fn runs, the answer waits. What does not grow is left out: a
// modern server that asked for input begins its work, and its counting, anew.
func OnProgress(fn func(mcp.ProgressParams)) CallOption {
	return func(o *callOptions) { o.progress = fn }
}

// WithTimeout is Options.Timeout for one call; zero is no limit.
func WithTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.limits.idle = max(d, 0) }
}

// WithMaxTimeout is Options.MaxTimeout for one call; zero is no limit.
func WithMaxTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.limits.total = max(d, 0) }
}

// timeLimits bound one request; zero is no limit.
type timeLimits struct{ idle, total time.Duration }

// flight is one request under way, and its answer: all that the client has of
// it, in one piece of memory.
type flight struct {
	used atomic.Bool
	answer
	req   rpc.Request
	ctx   lazy.Context              // ends when the time is over
	queue *fifo[mcp.ProgressParams] // nil where nobody asked for progress
	last  atomic.Int64              // when progress came, on the clock of the client

	begin time.Duration // on the clock of the client

	// Of the watch.
	watched    bool
	prev, next *flight
}

// exchange sends one request and waits for its response.
func (c *Client) exchange(ctx context.Context, s *session, f *flight, b body, answers []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id := c.ids.Next()
	call := f.call
	f.req.ID, f.req.Method, f.req.Header = id, call.Method, s.era.headers(c, s, call)
	p := sent{body: b, stamp: s.era.stamp(c, s, call), extra: answers}
	if call.opts.progress != nil {
		f.queue = newFIFO[mcp.ProgressParams](c.opts.Limits.Queue)
		p.add(mcp.MetaProgressToken, []byte(id.String()))
		c.flights.Store(id, f)
		defer c.flights.Delete(id)
	}
	if err := p.fill(&f.req); err != nil {
		return err
	}
	return c.fly(ctx, f)
}

// fly makes the call under its time limits and delivers its progress.
func (c *Client) fly(ctx context.Context, f *flight) error {
	f.ctx.Parent, f.ctx.Lent = ctx, true //nolint:fatcontext // f is new, and the context ends below
	c.watch.add(f)
	defer c.watch.remove(f)
	defer f.ctx.End(nil)
	conn := c.connection()
	var err error
	if f.queue == nil {
		err = conn.Call(&f.ctx, &f.req, &f.answer)
	} else {
		err = f.run(&f.ctx, func(ctx context.Context) error { return conn.Call(ctx, &f.req, &f.answer) }, f.call.tell)
	}
	return c.outcome(ctx, f, err)
}

// tell hands progress over if it grew since the last one.
func (call *Call) tell(p mcp.ProgressParams) {
	if p.Progress <= call.told {
		return
	}
	call.told = p.Progress
	call.opts.progress(p)
}

// outcome turns the end of a context into the error that says why, and tells
// the server.
func (c *Client) outcome(ctx context.Context, f *flight, err error) error {
	if errors.Is(err, rpc.ErrClosed) {
		c.subs.endAll(err)
		return err
	}
	if err == nil || f.ctx.Err() == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if t, ok := errors.AsType[*TimeoutError](context.Cause(&f.ctx)); ok {
		c.sendCancelled(&f.req, "timed out") //nolint:contextcheck // the time of ctx is over
		return t
	}
	if ctx.Err() != nil {
		c.sendCancelled(&f.req, "cancelled by the caller") //nolint:contextcheck // ctx has ended: that is what is told
		return ctx.Err()
	}
	return err // the connection gave the call up
}

// run makes the call on a goroutine that it waits for, and hands progress to
// fn meanwhile. What is queued when the answer comes is handed over still;
// after a cancellation it is not.
func (f *flight) run(ctx context.Context, call func(context.Context) error, fn func(mcp.ProgressParams)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also when fn panics
	done := make(chan error, 1)
	go func() {
		err := call(ctx)
		close(f.queue.over) // a reader that waits for room goes on
		done <- err
	}()
	deliver := func() {
		for _, p := range f.queue.take() {
			if ctx.Err() == nil {
				fn(p)
			}
		}
	}
	for {
		select {
		case <-f.queue.ready:
			deliver()
		case err := <-done:
			deliver()
			return err
		}
	}
}

// progressed routes notifications/progress to its call. It is called by the
// goroutine that reads: the queue is in the order of the wire, and what came
// before the answer is in it before the answer is.
func (c *Client) progressed(ctx context.Context, params jsontext.Value) {
	var p mcp.ProgressParams
	if err := json.Unmarshal(params, &p); err != nil {
		c.log.Warn("client: progress that cannot be read", "error", err)
		return
	}
	v, ok := c.flights.Load(p.ProgressToken.ID)
	if !ok { // late, or never asked for
		c.log.Debug("client: progress of no call")
		return
	}
	f := v.(*flight)
	f.last.Store(int64(c.now()))
	f.queue.push(ctx, p)
}
