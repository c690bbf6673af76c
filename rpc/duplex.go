package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// DuplexOptions configure a [Duplex]. Nil means the zero value.
type DuplexOptions struct {
	Limits Limits

	// Logger gets what goes wrong, without the content of messages. Nil means
	// that nothing is logged.
	Logger *slog.Logger

	// Tap sees every message. With a Tap, messages are written one at a time.
	Tap Tap

	// Drain is how long requests that are being handled may go on when the
	// other side sends no more; their responses are still written. Zero means
	// that they are cancelled at once, a negative value that there is no bound.
	Drain time.Duration

	// Grace is how long Close waits for handlers that ignore the end of their
	// context. Zero means 5 seconds.
	Grace time.Duration

	// SkipUnreadable is for the end that asks, whose other end may print other
	// things between its messages: a message that cannot be read and has no ID
	// is logged, and not answered.
	SkipUnreadable bool
}

const (
	// A handler that has not ended by now is not going to.
	defaultGrace = 5 * time.Second
	// A peer that has thousands of refusals to read and reads none for this
	// long is gone, or hostile.
	refusalPatience = 30 * time.Second
)

// Duplex is a [Conn] over a [Stream], which both ends use to call and to answer.
// It is the only place that pairs responses with calls on a shared stream. Its
// methods may be called from several goroutines at once.
//
// One goroutine reads. It runs the handler of a request itself, and goes on
// reading on another goroutine when that is not quick: requests run
// concurrently, up to [Limits.InFlight]; more of them wait, and more than may
// wait are refused. Notifications are handled as they are read, so none is lost
// and none overtakes another. Responses are written whole, in the order in which
// they are ready, those to a burst of requests together. A handler that panics is answered for, with an internal error
// that says nothing of the panic.
//
// A handler that asks the other side keeps its place meanwhile. Should all
// places of both sides be taken by handlers that ask each other, they wait until
// a context of theirs ends.
type Duplex struct {
	s     Stream
	burst burster // s, where it can that
	h     Handler
	alone func(*Request) bool // nil: there are no such requests
	opts  DuplexOptions
	log   *slog.Logger

	calls    Calls
	inflight Inflight
	batches  atomic.Bool
	nullIDs  atomic.Bool

	ctx      context.Context // ends with the connection
	cancel   context.CancelCauseFunc
	replying context.Context // never ends
	endInput context.CancelCauseFunc
	stop     func() bool // forgets the context of NewDuplex

	look     lookout
	handlers sync.WaitGroup // and whoever writes refusals
	done     chan struct{}

	ending   sync.Once
	err      error // why it ended; set before ctx ends
	closeErr error

	work     work
	refusals refusals

	// Only the reader counts.
	strays, unreadable uint
}

// NewDuplex starts a connection over s and takes s over. b makes its Handler
// before the first message is read. When ctx ends the connection is closed.
func NewDuplex(ctx context.Context, s Stream, b Binder, opts *DuplexOptions) *Duplex {
	d := &Duplex{s: s, done: make(chan struct{})}
	if opts != nil {
		d.opts = *opts
	}
	d.opts.Limits = d.opts.Limits.withDefaults()
	if d.opts.Grace == 0 {
		d.opts.Grace = defaultGrace
	}
	d.log = d.opts.Logger
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.opts.Tap != nil {
		d.s = TapStream(s, d.opts.Tap)
	}
	if d.burst, _ = d.s.(burster); d.burst != nil {
		d.burst.onLost(d.end)
	}
	if c, ok := d.s.(courier); ok {
		c.onResponse(d.calls.Deliver)
	}
	d.look.init(d)
	d.refusals.room = make(chan struct{}, 1)
	d.ctx, d.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	d.replying = context.WithoutCancel(ctx)
	input, endInput := context.WithCancelCause(d.ctx)
	d.endInput = endInput
	d.h = b.Bind(input, d)
	if q, ok := d.h.(Sequencer); ok {
		d.alone = q.Alone
	}
	d.stop = context.AfterFunc(ctx, func() { d.end(context.Cause(ctx)) })
	go (&reader{d: d}).run()
	return d
}

// finish ends the connection after reading ended with err: it lets handlers
// finish, and waits for them.
func (d *Duplex) finish(err error) {
	if err == io.EOF { //nolint:errorlint // what wraps it has more to say
		err = nil
	}
	d.calls.Fail(closed(err))
	d.endInput(closed(err))
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		d.handlers.Wait()
		_ = d.flush(d.ctx) // it ends all the same
	}()
	d.drain(idle)
	d.end(err)
	<-idle
	d.stop()
	close(d.done)
}

// drain waits for idle as long as the options say.
func (d *Duplex) drain(idle <-chan struct{}) {
	if d.opts.Drain == 0 {
		return
	}
	var timeout <-chan time.Time
	if d.opts.Drain > 0 {
		t := time.NewTimer(d.opts.Drain)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-idle:
	case <-timeout:
	case <-d.ctx.Done():
	}
}

// end ends the connection, once; the others wait for the first.
func (d *Duplex) end(err error) {
	d.ending.Do(func() {
		d.err = err
		d.calls.Fail(closed(err))
		d.cancel(closed(err))
		d.work.stop()
		d.closeErr = d.s.Close()
	})
}

// closed returns the error for calls on a connection that ended with err.
func closed(err error) error {
	if err == nil {
		return ErrClosed
	}
	if errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

// Close implements [Conn]. Handlers under way are cancelled; if one is still not
// back after [DuplexOptions.Grace] Close returns without it, with an error. Called
// from a handler, it waits that long for the handler itself.
func (d *Duplex) Close() error {
	d.end(nil)
	t := time.NewTimer(d.opts.Grace)
	defer t.Stop()
	select {
	case <-d.done:
		return d.closeErr
	case <-t.C:
		return fmt.Errorf("rpc: close: handlers still run %v after they were cancelled", d.opts.Grace)
	}
}

// Logger returns the Logger of the options, nil where there is none. A handler
// that has no logger of its own may use it.
func (d *Duplex) Logger() *slog.Logger { return d.opts.Logger }

// Drain waits until no request is being handled any more, with all responses
// given to the stream, or until ctx ends. It does not keep new requests from
// coming: a server that shuts down refuses them first, and closes afterwards.
func (d *Duplex) Drain(ctx context.Context) error {
	if x := d.look.led.Load(); x != nil {
		d.handOver(x) // so that it counts
	}
	select {
	case <-d.work.drained():
		if err := d.flush(ctx); !errors.Is(err, ErrClosed) {
			return err
		}
		return nil
	case <-d.ctx.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed when the connection has ended and all its goroutines have.
func (d *Duplex) Done() <-chan struct{} { return d.done }

// Err returns why the connection ended: nil before its end, after Close, and when
// the other side has ended it in good order.
func (d *Duplex) Err() error {
	if d.ctx.Err() == nil {
		return nil
	}
	return d.err
}

// AllowBatch implements [Conn].
func (d *Duplex) AllowBatch(ok bool) { d.batches.Store(ok) }

// Cancel implements [Conn]. What is being written for the request at this moment
// may still be sent.
func (d *Duplex) Cancel(id ID, cause error) {
	if x := d.look.led.Load(); x != nil && x.id == id {
		x.cancel(cause)
	}
	d.inflight.Cancel(id, cause)
}

// Call implements [Peer].
func (d *Duplex) Call(ctx context.Context, req *Request, result any) error {
	return d.call(ctx, req, result, nil)
}

// call sends req, for the request with this ticket if there is one, and waits
// for its response.
func (d *Duplex) call(ctx context.Context, req *Request, result any, t *Ticket) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := d.calls.Start(req)
	if err != nil {
		return err
	}
	switch {
	case t != nil:
		err = t.Send(func() error { return d.write(ctx, req) })
	case p.inCompany && d.burst != nil:
		err = d.ask(ctx, req)
	default:
		err = d.write(ctx, req)
	}
	if err != nil {
		return p.Unsent(err, result)
	}
	return p.Wait(ctx, result)
}

// ask writes a request that is one of several under way. As a rule their answers
// came together, and so those who asked ask together, too, one behind the other:
// the first lets the others go ahead, and writes for all of them.
func (d *Duplex) ask(ctx context.Context, req *Request) error {
	first, err := d.burst.gather(ctx, req)
	if first && err == nil {
		runtime.Gosched()
		d.burst.push()
	}
	return d.explain(err)
}

// Notify implements [Peer].
func (d *Duplex) Notify(ctx context.Context, req *Request) error { return d.write(ctx, req) }

// write returns when m was written.
func (d *Duplex) write(ctx context.Context, m Message) error {
	return d.explain(d.s.Write(ctx, m))
}

// tell has m written soon, with what else there is by then.
func (d *Duplex) tell(ctx context.Context, m Message) error {
	if d.burst == nil {
		return d.write(ctx, m)
	}
	err := d.burst.queue(ctx, m, false)
	d.burst.spawn()
	return d.explain(err)
}

// explain tells why nothing can be written any more.
func (d *Duplex) explain(err error) error {
	if err != nil && d.ctx.Err() != nil && !errors.Is(err, ErrResult) {
		return context.Cause(d.ctx)
	}
	return err
}

// push begins to write what is queued.
func (d *Duplex) push() {
	if d.burst != nil {
		d.burst.push()
	}
}

// flush writes what is queued.
func (d *Duplex) flush(ctx context.Context) error {
	if d.burst == nil {
		return nil
	}
	return d.burst.flush(ctx)
}

// refusal writes an answer, and returns when it was written.
func (d *Duplex) refusal(m Message) { d.replied(d.write(d.replying, m)) }

// reply has an answer written, at the latest when the stream is pushed.
func (d *Duplex) reply(m Message) {
	if d.burst == nil {
		d.refusal(m)
		return
	}
	d.replied(d.explain(d.burst.queue(d.replying, m, true)))
}

// answer is reply for one response, which need not be in memory of its own.
func (d *Duplex) answer(res Response) {
	if d.burst == nil {
		own := res
		d.refusal(&own)
		return
	}
	d.replied(d.explain(d.burst.answer(d.replying, res)))
}

// replied takes note of how the sending of an answer went. If it failed nobody
// is there to read the others.
func (d *Duplex) replied(err error) {
	switch {
	case err == nil:
	case errors.Is(err, ErrResult):
		d.log.Error("answered with an internal error", "error", err)
	default:
		d.end(err)
	}
}

// skip takes note of a message that cannot be read and returns the answer to it,
// or nil.
func (d *Duplex) skip(bad *DecodeError) *Response {
	if d.unreadable++; rare(d.unreadable) {
		d.log.Warn("received a message that cannot be read", "error", bad, "so_far", d.unreadable)
	}
	switch {
	case bad.Response && !bad.ID.IsZero():
		d.calls.FailOne(bad.ID, bad.Failure())
	case bad.Response && errors.Is(bad, ErrTooLarge):
		// One of the calls is answered by it. That the others fail too is
		// better than that one waits for ever.
		d.calls.FailWaiting(bad.Failure())
	}
	res := bad.Reply()
	if res != nil && res.ID.IsZero() && d.opts.SkipUnreadable {
		return nil
	}
	return d.unidentified(res)
}

// ErrorIDNull says how errors are sent on c from now on that answer a message
// whose ID could not be read: with "id":null, as JSON-RPC 2.0 (section 5) and
// revisions until 2025-06-18 have it, or without. A new connection leaves it
// out. Where c has no such errors nothing happens.
func ErrorIDNull(c Conn, null bool) {
	if d, ok := c.(*Duplex); ok {
		d.nullIDs.Store(null)
	}
}

// unidentified gives a response without ID the one that it is sent with.
func (d *Duplex) unidentified(res *Response) *Response {
	if res != nil && res.ID.IsZero() && d.nullIDs.Load() {
		res.ID = NullID()
	}
	return res
}

// response pairs res with its call.
func (d *Duplex) response(res *Response) {
	if d.calls.Deliver(res) {
		return
	}
	if d.calls.Issued(res.ID) {
		d.log.Debug("dropped a late response", "id", res.ID.String())
		return
	}
	if d.strays++; !rare(d.strays) {
		return
	}
	if res.ID.IsZero() {
		d.log.Warn("the other side could not read a message", "error", res.Error, "so_far", d.strays)
		return
	}
	d.log.Warn("received a response to no call", "id", fmt.Sprintf("%.80s", res.ID), "so_far", d.strays)
}

// rare thins out what a peer can make us log: the 1st, 2nd, 4th, 8th and so on.
func rare(n uint) bool { return bits.OnesCount(n) == 1 }
