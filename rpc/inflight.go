package rpc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/lazy"
)

// ErrEnded is returned for what is to be sent for a request that was answered
// or cancelled: nothing more is sent for it.
var ErrEnded = errors.New("rpc: the request is over, nothing more can be sent for it")

// ErrCancelled is in the cause of the context of a request that the other side
// cancelled: see [context.Cause].
var ErrCancelled = errors.New("rpc: the other side cancelled the request")

// Inflight has the received requests that are not answered yet. The zero value
// is ready. Its methods may be called from several goroutines at once.
type Inflight struct {
	mu   sync.Mutex
	open map[ID]*Ticket
	size atomic.Int64 // of open
}

// A Ticket is the place of one received request in an [Inflight]. It sees to it
// that nothing is sent for the request after its response or cancellation. The
// zero value is ready for [Inflight.Add]; a Ticket is used once.
type Ticket struct {
	in  *Inflight
	id  ID
	ctx lazy.Context // ends with the request

	mu      sync.Mutex
	over    bool          // answered or cancelled
	listed  bool          // the Inflight has it, and may be asked for it
	sending int32         // sends that are under way
	sent    chan struct{} // closed when there are none; nil when nobody waits
}

// Add registers a received request. It returns an [*Error] to answer with when a
// request with that ID is in flight; that one is not touched.
func (f *Inflight) Add(ctx context.Context, t *Ticket, id ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[id] != nil {
		return errTaken(id)
	}
	t.begin(ctx, f, id)
	f.put(t)
	return nil
}

func errTaken(id ID) error {
	return Errorf(CodeInvalidRequest, "request id %.80s is already in flight", id)
}

// unlisted is Add for a request that stays unlisted until [Inflight.list] is called:
// nobody can cancel it, and it is in nobody's way.
func (f *Inflight) unlisted(ctx context.Context, t *Ticket, id ID) error {
	if f.size.Load() > 0 && f.has(id) {
		return errTaken(id)
	}
	t.begin(ctx, f, id)
	return nil
}

func (f *Inflight) has(id ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[id] != nil
}

// list lists a request, unless it is over.
func (f *Inflight) list(t *Ticket) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(t)
}

// put and drop are called with f.mu held.

func (f *Inflight) put(t *Ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	if f.open == nil {
		f.open = make(map[ID]*Ticket)
	}
	f.open[t.id], t.listed = t, true
	f.size.Store(int64(len(f.open)))
}

func (f *Inflight) drop(id ID) {
	delete(f.open, id)
	f.size.Store(int64(len(f.open)))
}

// Cancel cancels the request with this ID with cause and reports whether there
// was one. When it returns nothing more is begun to be sent for the request,
// and the ID is free.
func (f *Inflight) Cancel(id ID, cause error) bool {
	f.mu.Lock()
	t := f.open[id]
	f.drop(id)
	f.mu.Unlock()
	return t != nil && t.cancel(cause)
}

// CancelAll cancels all requests with cause.
func (f *Inflight) CancelAll(cause error) {
	f.mu.Lock()
	open := f.open
	f.open = nil
	f.size.Store(0)
	f.mu.Unlock()
	for _, t := range open {
		t.cancel(cause)
	}
}

// Len returns how many requests are in flight.
func (f *Inflight) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

func (t *Ticket) begin(ctx context.Context, f *Inflight, id ID) {
	t.in, t.id, t.ctx.Parent = f, id, ctx
}

// Context returns the context of a request that was added. It ends with the one
// given to [Inflight.Add], and with the request: the cause says why.
func (t *Ticket) Context() context.Context { return &t.ctx }

// cancel ends the request with cause and reports whether it was not over.
func (t *Ticket) cancel(cause error) bool {
	t.mu.Lock()
	was := t.over
	t.over = true
	t.mu.Unlock()
	if was {
		return false
	}
	t.ctx.End(cause)
	return true
}

// Over reports whether the request was answered or cancelled.
func (t *Ticket) Over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// Send calls send unless the request is over; then it returns [ErrEnded].
func (t *Ticket) Send(send func() error) error {
	if !t.enter() {
		return ErrEnded
	}
	defer t.leave()
	return send()
}

// enter begins a send, unless the request is over.
func (t *Ticket) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.sending++
	return true
}

// leave ends it.
func (t *Ticket) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sending--; t.sending == 0 && t.sent != nil {
		close(t.sent)
	}
}

// Finish ends the request, waits for the sends that are under way, and frees
// the ID. It reports whether the request is to be answered: it is false if the
// request was cancelled or finished before.
func (t *Ticket) Finish() bool {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return false
	}
	t.over = true
	var sent chan struct{}
	if t.sending > 0 {
		sent = make(chan struct{})
		t.sent = sent
	}
	listed := t.listed
	t.mu.Unlock()
	t.ctx.End(ErrEnded)
	if sent != nil {
		<-sent
	}
	if listed {
		t.in.remove(t)
	}
	return true
}

func (f *Inflight) remove(t *Ticket) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[t.id] == t {
		f.drop(t.id)
	}
}
