package rpc

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// An exchange is one received request while it is in flight. It is the Peer that
// its handler sees.
type exchange struct {
	Ticket
	d   *Duplex
	req *Request

	batch *batchReply // where the answer goes; nil for a request by itself
	place int32       // in the batch

	alone bool // nothing is read before it is over
}

// What handlers without a result have done. The other side is not told.
var (
	errExited   = errors.New("rpc: the handler ended its goroutine")
	errPanicked = errors.New("rpc: the handler panicked")
)

// Call implements [Peer].
func (x *exchange) Call(ctx context.Context, req *Request, result any) error {
	x.d.handOver(x) // the answer must be read
	bound, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(&x.ctx, func() { cancel(ErrEnded) })()
	err := x.d.call(bound, req, result, &x.Ticket)
	if ctx.Err() != nil || !errors.Is(err, context.Canceled) {
		return err
	}
	if x.d.ctx.Err() != nil {
		return context.Cause(x.d.ctx)
	}
	return ErrEnded
}

// Notify implements [Peer].
func (x *exchange) Notify(ctx context.Context, req *Request) error {
	if !x.enter() {
		return ErrEnded
	}
	defer x.leave()
	return x.d.tell(ctx, req)
}

// request takes a received request that does not run at once on the goroutine that
// reads. It reports whether the request is to be started now, and returns the
// refusal if it cannot even wait.
func (d *Duplex) request(req *Request, batch *batchReply, place int) (x *exchange, start bool, refusal *Response) {
	if req.ID.IsZero() {
		d.notification(req)
		return nil, false, nil
	}
	x = &exchange{d: d, req: req, batch: batch, place: int32(place)}
	if err := d.inflight.Add(d.ctx, &x.Ticket, req.ID); err != nil {
		return nil, false, Reply(req, nil, err)
	}
	start, err := d.work.admit(x, d.opts.Limits)
	if err != nil {
		x.Finish()
		return nil, false, Reply(req, nil, err)
	}
	return x, start, nil
}

// start handles x on a goroutine of its own.
func (d *Duplex) start(x *exchange) { d.handlers.Go(func() { d.handle(x) }) }

// release gives the place of a request that is over to the next that waits.
func (d *Duplex) release() {
	if next := d.work.next(); next != nil {
		d.start(next)
	}
}

// notification hands a notification to the handler.
func (d *Duplex) notification(req *Request) {
	defer func() {
		if v := recover(); v != nil {
			d.panicked(req, v)
		}
	}()
	_, _ = d.h.Handle(d.ctx, req, d)
}

// handle handles x, and then what waits.
func (d *Duplex) handle(x *exchange) {
	defer func() {
		if x == nil {
			return
		}
		d.push()
		d.release() // the handler ended the goroutine
	}()
	for x != nil {
		if !x.Over() { // cancelled while it waited
			x.handle()
		}
		d.push()
		x = d.work.next()
	}
}

// handle runs the handler and answers for it, whatever it does.
func (x *exchange) handle() {
	var result any
	err := errExited
	defer func() {
		if v := recover(); v != nil {
			x.d.panicked(x.req, v)
			err = errPanicked
		}
		x.answer(result, err)
	}()
	result, err = x.d.h.Handle(&x.ctx, x.req, x)
}

// answer ends the request and sends its response, if there is to be one.
func (x *exchange) answer(result any, err error) {
	wanted := x.Finish()
	res := Response{ID: x.req.ID, Result: result}
	if err != nil {
		res = Response{ID: x.req.ID, Error: AsError(err)}
	}
	switch {
	case x.batch != nil:
		x.collect(wanted, res)
	case wanted:
		x.d.answer(res)
	}
}

// collect puts an answer to its batch, and sends that when it is complete.
func (x *exchange) collect(wanted bool, res Response) {
	answer := &res
	if !wanted {
		answer = nil
	}
	if answers := x.batch.set(int(x.place), answer); len(answers) > 0 {
		x.d.reply(answers)
	}
}

func (d *Duplex) panicked(req *Request, v any) {
	d.log.Error("handler panicked", "method", req.Method, "panic", v, "stack", string(debug.Stack()))
}

// work is the requests that run and those that wait for that.
type work struct {
	running atomic.Int64 // changed with mu held

	mu      sync.Mutex
	waiting []*exchange
	bytes   int // of those that wait
	stopped bool
	idle    chan struct{} // closed when nothing runs; nil when nobody waits
}

// size is about the memory that a request holds while it waits.
func (x *exchange) size() int {
	const own = 512 // the structs, the context and the map entry
	return own + len(x.req.Params) + len(x.req.Method) + len(x.req.ID.raw)
}

// admit reports whether x starts now. An error says that it cannot even wait.
func (w *work) admit(x *exchange, lim Limits) (start bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false, ErrClosed
	}
	if !w.full(lim) {
		w.running.Add(1)
		return true, nil
	}
	size := x.size()
	if len(w.waiting) >= lim.WaitingRequests || size > lim.WaitingBytes-w.bytes {
		return false, Errorf(CodeInternalError,
			"too many requests: %d in flight and %d waiting; wait for answers before sending more", w.running.Load(), len(w.waiting))
	}
	w.waiting = append(w.waiting, x)
	w.bytes += size
	return false, nil
}

// full reports whether nothing more may start.
func (w *work) full(lim Limits) bool { return w.running.Load() >= int64(lim.InFlight) }

// enter counts a request that has started.
func (w *work) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running.Add(1)
}

// next returns the request to go on with when one has ended, or nil.
func (w *work) next() *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.waiting = nil
		if w.running.Add(-1) == 0 && w.idle != nil {
			close(w.idle)
			w.idle = nil
		}
		return nil
	}
	x := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	w.bytes -= x.size()
	return x
}

// drained returns a channel that is closed once nothing runs.
func (w *work) drained() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	if w.running.Load() == 0 {
		close(w.idle)
		w.idle = nil
	}
	return idle
}

// stop drops what waits, and lets nothing more start.
func (w *work) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.waiting, w.bytes = nil, 0
}

// refusals are answers that the reader gives. It must not wait for their
// writing, so they have a queue, and a goroutine while there are any.
type refusals struct {
	mu      sync.Mutex
	queue   []Message
	writing bool
	room    chan struct{} // gets a value when the queue was emptied
}

// refuse queues an answer. It is called by the reader only.
func (d *Duplex) refuse(m Message) {
	r := &d.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) >= d.opts.Limits.QueuedRefusals {
		r.mu.Unlock()
		d.awaitRoom()
		r.mu.Lock()
		if d.ctx.Err() != nil {
			return
		}
	}
	r.queue = append(r.queue, m)
	if !r.writing {
		r.writing = true
		d.handlers.Go(d.writeRefusals)
	}
}

// awaitRoom waits until refusals were written, and ends the connection if they
// are not.
func (d *Duplex) awaitRoom() {
	t := time.NewTimer(refusalPatience)
	defer t.Stop()
	select {
	case <-d.refusals.room:
	case <-d.ctx.Done():
	case <-t.C:
		d.end(errors.New("rpc: the other side floods and does not read the refusals"))
	}
}

func (d *Duplex) writeRefusals() {
	r := &d.refusals
	for {
		r.mu.Lock()
		queue := r.queue
		r.queue = nil
		r.writing = len(queue) > 0 && d.ctx.Err() == nil
		again := r.writing
		r.mu.Unlock()
		if !again {
			return
		}
		select {
		case r.room <- struct{}{}:
		default:
		}
		for _, m := range queue {
			d.refusal(m)
		}
	}
}

// batch answers a batch with a batch, when all its requests are done.
func (d *Duplex) batch(batch Batch) {
	if !d.batches.Load() {
		d.refuse(d.unidentified(&Response{Error: ErrBatch}))
		return
	}
	reply := &batchReply{out: make(Batch, len(batch)), left: len(batch)}
	for k, m := range batch {
		var now *Response
		switch m := m.(type) {
		case *Request:
			var x *exchange
			var start bool
			if x, start, now = d.request(m, reply, k); start {
				d.start(x)
			}
			if x != nil {
				continue // it answers later
			}
		case *Response:
			d.response(m)
		case *DecodeError:
			now = d.skip(m)
		}
		if answers := reply.set(k, now); len(answers) > 0 {
			d.refuse(answers)
		}
	}
}

// A batchReply collects the answers to a batch.
type batchReply struct {
	mu   sync.Mutex
	out  Batch
	left int
}

// set notes the answer to one message, nil if it has none. With the last it
// returns all answers, in the order of the batch.
func (b *batchReply) set(place int, res *Response) Batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if res != nil {
		b.out[place] = res
	}
	if b.left--; b.left > 0 {
		return nil
	}
	answers := b.out[:0]
	for _, m := range b.out {
		if m != nil {
			answers = append(answers, m)
		}
	}
	return answers
}
