package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// exchange sends one request and waits for its response.
func (c *Client) exchange(ctx context.Context, s *session, call *Call, b body, answers []byte, a *answer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id := rpc.IntID(c.lastID.Add(1))
	st := s.era.stamp(c, s, call)
	fl := &flight{}
	if call.opts.progress != nil {
		fl.queue = newFIFO[mcp.ProgressParams](c.opts.Limits.Queue)
		st.add(mcp.MetaProgressToken, []byte(id.String()))
		c.flights.Store(id, fl)
	}
	params, err := b.encode(st, answers)
	if err != nil {
		c.flights.Delete(id)
		return err
	}
	req := &rpc.Request{ID: id, Method: call.Method, Params: params, Header: s.era.headers(c, s, call)}
	return c.fly(ctx, req, a, fl, call)
}

// fly makes the call under its time limits and delivers its progress.
func (c *Client) fly(ctx context.Context, req *rpc.Request, a *answer, fl *flight, call *Call) error {
	wctx, stop := c.watch(ctx, fl, call)
	defer stop()
	conn := c.connection()
	var err error
	if fl.queue == nil {
		err = conn.Call(wctx, req, a)
	} else {
		err = fl.run(wctx, func(ctx context.Context) error { return conn.Call(ctx, req, a) }, call.tell)
		c.flights.Delete(req.ID)
	}
	return c.outcome(ctx, wctx, req, err)
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
func (c *Client) outcome(ctx, wctx context.Context, req *rpc.Request, err error) error {
	if errors.Is(err, rpc.ErrClosed) {
		c.subs.endAll(err)
		return err
	}
	if err == nil || wctx.Err() == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	reason := "cancelled by the caller"
	err = ctx.Err()
	if t, ok := errors.AsType[*TimeoutError](context.Cause(wctx)); ok {
		err, reason = t, "timed out"
	}
	if err == nil { // the client was closed
		return rpc.ErrClosed
	}
	c.sendCancelled(req, reason) //nolint:contextcheck // ctx has ended: that is what is told
	return err
}

// flight is one request under way.
type flight struct {
	queue *fifo[mcp.ProgressParams] // nil where nobody asked for progress
	last  atomic.Int64              // when progress came, on the clock of the client
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

// watch returns a context that ends when the time of a request is over. The
// clock stands while the client answers a request of the server: a person may
// be thinking.
func (c *Client) watch(ctx context.Context, f *flight, call *Call) (context.Context, func()) {
	l := call.opts.limits
	if l.idle == 0 && l.total == 0 {
		return ctx, func() {}
	}
	wctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{c: c, f: f, limits: l, method: call.Method, begin: c.now(), cancel: cancel}
	w.mu.Lock()
	w.timer = time.AfterFunc(w.rest(w.begin), w.check)
	w.mu.Unlock()
	return wctx, w.stop
}

// now is the time since the client was made: it does not jump.
func (c *Client) now() time.Duration { return time.Since(c.start) }

// watchdog has one timer, which is not touched when progress comes: it looks
// up, when it fires, how long nothing happened.
type watchdog struct {
	c      *Client
	f      *flight
	limits timeLimits
	method string
	begin  time.Duration // on the clock of the client
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

// quiet returns since when nothing happened.
func (w *watchdog) quiet(now time.Duration) time.Duration {
	if w.c.answering.Load() > 0 {
		return now
	}
	return max(w.begin, time.Duration(w.f.last.Load()), time.Duration(w.c.answered.Load()))
}

// rest returns how long it is until a limit is reached.
func (w *watchdog) rest(now time.Duration) time.Duration {
	switch l := w.limits; {
	case l.total == 0:
		return w.quiet(now) + l.idle - now
	case l.idle == 0:
		return w.begin + l.total - now
	default:
		return min(w.quiet(now)+l.idle, w.begin+l.total) - now
	}
}

func (w *watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	now := w.c.now()
	if d := w.rest(now); d > 0 {
		w.timer.Reset(d)
		return
	}
	w.ended = true
	e := &TimeoutError{Method: w.method, After: w.limits.idle}
	if w.limits.total > 0 && now >= w.begin+w.limits.total {
		e.After, e.Hard = w.limits.total, true
	}
	w.cancel(e)
}

func (w *watchdog) stop() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.timer.Stop()
	w.cancel(nil)
}
