package rpc

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// A handler that takes longer than this, on average, does not run on the
	// goroutine that reads. Starting a goroutine costs about a twentieth.
	inlineTime = 100 * time.Microsecond
	// The longer all handlers are quick the rarer they are looked at, down to
	// this: it bounds for how long the first slow one keeps reading waiting.
	longestLook = 5 * time.Millisecond
	// After a handler was slow this many requests get goroutines of their own,
	// before the next may try its luck.
	apartRequests = 64
	// For so long reading waits for a request that is to run alone.
	alonePatience = 500 * time.Millisecond
)

// A reader is the turn of one goroutine at reading. It runs the handlers of the
// requests it reads itself, since a goroutine costs more than most requests do.
// A handler that turns out to be slow keeps the goroutine; reading goes to
// another.
type reader struct {
	d     *Duplex
	apart int  // so many requests get goroutines of their own
	left  bool // another goroutine reads now
}

func (r *reader) run() {
	err := errors.New("rpc: the handler of a notification ended the goroutine")
	defer func() { // also when the goroutine ends
		if !r.left {
			r.d.finish(err)
			return
		}
		r.d.release()
		r.d.handlers.Done()
	}()
	err = r.read()
}

// read hands on what comes until reading goes to another goroutine or no more
// can come, and returns why.
func (r *reader) read() error {
	d := r.d
	for !r.left {
		if d.burst != nil && !d.burst.more() {
			d.burst.push()
		}
		m, err := d.s.Read(d.ctx)
		if err == nil {
			r.receive(m)
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
	return nil
}

func (r *reader) receive(m Message) {
	switch m := m.(type) {
	case *Request:
		r.request(m)
	case *Response:
		r.d.response(m)
	case Batch:
		r.d.batch(m)
	}
}

func (r *reader) request(req *Request) {
	d := r.d
	alone := d.alone != nil && !req.ID.IsZero() && d.alone(req)
	if req.ID.IsZero() || r.apart > 0 && !alone || d.work.full(d.opts.Limits) {
		r.leave(req)
		return
	}
	x := &exchange{d: d, req: req, alone: alone}
	if err := d.inflight.unlisted(d.ctx, &x.Ticket, req.ID); err != nil {
		d.refuse(Reply(req, nil, err))
		return
	}
	r.inline(x)
}

// leave leaves a request to another goroutine.
func (r *reader) leave(req *Request) {
	x, start, refusal := r.d.request(req, nil, 0)
	switch {
	case refusal != nil:
		r.d.refuse(refusal)
	case start:
		r.apart = max(r.apart-1, 0)
		r.d.start(x)
	}
}

// inline handles x on this goroutine. As long as that is so x is no more than what
// the goroutine does: nothing is read that could cancel it, have its ID, or go
// beyond a limit because of it. So it is neither listed nor counted before reading
// is handed over.
func (r *reader) inline(x *exchange) {
	d := r.d
	r.left = true // until it has returned in time
	returned := false
	defer func() {
		if !returned { // the handler ended the goroutine
			d.handOver(x)
			d.push()
		}
	}()
	d.look.begin(x)
	x.handle()
	returned = true
	if d.look.end(x) {
		r.left = false
		return
	}
	d.push()
}

// handOver gives reading to a new goroutine while x goes on, if x runs on the
// one that reads.
func (d *Duplex) handOver(x *exchange) {
	d.look.mu.Lock()
	defer d.look.mu.Unlock()
	if d.look.led.Load() != x {
		return
	}
	d.inflight.list(&x.Ticket) // before led is nil: Cancel looks there first
	if d.look.led.CompareAndSwap(x, nil) {
		d.work.enter()
		d.handlers.Add(1)
		d.push() // the answers to what came before x
		go (&reader{d: d, apart: apartRequests}).run()
	}
}

// A lookout sees to it that no handler keeps reading waiting. A timer for each
// request would cost as much as a goroutine for each: there is one, which runs
// while requests come, and counts them.
type lookout struct {
	d     *Duplex
	timer *time.Timer
	armed atomic.Bool

	// Only look uses these.
	every   time.Duration // between looks that find nothing
	suspect *exchange     // ran then
	since   time.Time     // when it was found

	mu    sync.Mutex               // held while reading is handed over
	led   atomic.Pointer[exchange] // runs on the goroutine that reads
	begun atomic.Int64             // how many did, since the last look
}

func (l *lookout) init(d *Duplex) {
	l.d, l.every = d, inlineTime
	l.timer = time.AfterFunc(time.Hour, l.look)
	l.timer.Stop()
}

// begin says that x runs on the goroutine that reads.
func (l *lookout) begin(x *exchange) {
	l.led.Store(x)
	l.begun.Add(1)
	if !l.armed.Load() && l.armed.CompareAndSwap(false, true) {
		l.timer.Reset(inlineTime)
	}
}

// end says that x does not any more, and reports whether it did. If not, reading
// has been handed over.
func (l *lookout) end(x *exchange) bool {
	if l.led.CompareAndSwap(x, nil) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return false
}

// look hands reading over where a handler runs that ran at the last look. One
// that it finds running it looks at again soon.
func (l *lookout) look() {
	begun, x, was := l.begun.Swap(0), l.led.Load(), l.suspect
	next := l.every
	l.suspect = nil
	switch {
	case x != nil && x.alone && (x != was || time.Since(l.since) < alonePatience):
		if l.suspect = x; x != was {
			l.since = time.Now()
		}
	case x != nil && x == was:
		l.d.handOver(x)
		l.every, next = inlineTime, inlineTime
	case x != nil && was == nil:
		l.suspect, next = x, inlineTime
	case x == nil && begun == 0: // nothing comes
		l.every = inlineTime
		l.armed.Store(false)
		if l.begun.Load() == 0 || !l.armed.CompareAndSwap(false, true) {
			return
		}
		next = inlineTime
	default:
		l.every = min(2*l.every, longestLook)
		next = l.every
	}
	l.timer.Reset(next)
}
