package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
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
// One goroutine reads. It never waits for a handler of a request: requests run
// concurrently, up to [Limits.InFlight]; more of them wait, and more than may
// wait are refused. Notifications are handled as they are read, so none is lost
// and none overtakes another. Responses are written whole, in the order in which
// they are ready. A handler that panics is answered for, with an internal error
// that says nothing of the panic.
//
// A handler that asks the other side keeps its place meanwhile. Should all
// places of both sides be taken by handlers that ask each other, they wait until
// a context of theirs ends.
type Duplex struct {
	s    Stream
	h    Handler
	opts DuplexOptions
	log  *slog.Logger

	calls    Calls
	inflight Inflight
	batches  atomic.Bool

	ctx      context.Context // ends with the connection
	cancel   context.CancelCauseFunc
	replying context.Context // never ends
	endInput context.CancelCauseFunc

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
	d.refusals.room = make(chan struct{}, 1)
	d.ctx, d.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	d.replying = context.WithoutCancel(ctx)
	input, endInput := context.WithCancelCause(d.ctx)
	d.endInput = endInput
	d.h = b.Bind(input, d)
	stop := context.AfterFunc(ctx, func() { d.end(context.Cause(ctx)) })
	go func() {
		defer close(d.done)
		defer stop()
		d.run()
	}()
	return d
}

// run reads until nothing more comes, lets handlers finish, and waits for them.
func (d *Duplex) run() {
	err := errors.New("rpc: the handler of a notification ended the goroutine")
	defer func() { // also when the goroutine ends
		if err == io.EOF { //nolint:errorlint // what wraps it has more to say
			err = nil
		}
		d.calls.Fail(closed(err))
		d.endInput(closed(err))
		idle := make(chan struct{})
		go func() {
			d.handlers.Wait()
			close(idle)
		}()
		d.drain(idle)
		d.end(err)
		<-idle
	}()
	err = d.read()
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

// Drain waits until no request is being handled any more, with all responses
// given to the stream, or until ctx ends. It does not keep new requests from
// coming: a server that shuts down refuses them first, and closes afterwards.
func (d *Duplex) Drain(ctx context.Context) error {
	select {
	case <-d.work.drained():
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
func (d *Duplex) Cancel(id ID, cause error) { d.inflight.Cancel(id, cause) }

// Call implements [Peer].
func (d *Duplex) Call(ctx context.Context, req *Request, result any) error {
	return d.call(ctx, req, result, func(send func() error) error { return send() })
}

// call sends req through send and waits for its response.
func (d *Duplex) call(ctx context.Context, req *Request, result any, send func(func() error) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := d.calls.Start(req)
	if err != nil {
		return err
	}
	if err := send(func() error { return d.write(ctx, req) }); err != nil {
		return p.Unsent(err, result)
	}
	return p.Wait(ctx, result)
}

// Notify implements [Peer].
func (d *Duplex) Notify(ctx context.Context, req *Request) error { return d.write(ctx, req) }

func (d *Duplex) write(ctx context.Context, m Message) error {
	err := d.s.Write(ctx, m)
	if err != nil && d.ctx.Err() != nil && !errors.Is(err, ErrResult) {
		return context.Cause(d.ctx)
	}
	return err
}

// reply writes an answer. If that fails nobody is there to read the others.
func (d *Duplex) reply(m Message) {
	err := d.write(d.replying, m)
	switch {
	case err == nil:
	case errors.Is(err, ErrResult):
		d.log.Error("answered with an internal error", "error", err)
	default:
		d.end(err)
	}
}

// read hands on what comes until no more can come, and returns why.
func (d *Duplex) read() error {
	for {
		m, err := d.s.Read(d.ctx)
		if err == nil {
			d.receive(m)
			continue
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			return err
		}
		bad, ok := errors.AsType[*DecodeError](err)
		if !ok {
			bad = &DecodeError{err: AsError(err)}
		}
		if res := d.skip(bad); res != nil {
			d.refuse(res)
		}
	}
}

func (d *Duplex) receive(m Message) {
	switch m := m.(type) {
	case *Request:
		if res := d.request(m, nil, 0); res != nil {
			d.refuse(res)
		}
	case *Response:
		d.response(m)
	case Batch:
		d.batch(m)
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
