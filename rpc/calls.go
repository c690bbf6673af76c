package rpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/lazy"
)

// Calls pairs responses with the calls that wait for them, on a channel that
// several calls share. The zero value is ready. Its methods may be called from
// several goroutines at once.
type Calls struct {
	mu      sync.Mutex
	last    int64 // the last ID that was allocated
	waiting map[ID]*PendingCall
	free    []*PendingCall // that were waited for: their channels are empty
	err     error          // set when no call can succeed any more
}

// freeCalls is how many calls are kept for their memory: as many as a host makes
// at once.
const freeCalls = 64

// A PendingCall waits for its response.
type PendingCall struct {
	calls *Calls
	req   *Request
	ended chan ended // has room for the one value it is sent
	leave func()     // ends the wait with context.Canceled; made once

	inCompany bool // others waited when it started
}

// ended is how a call ended: with a response or with an error of this side.
type ended struct {
	res *Response
	err error
}

// Start registers req as a call that waits. If req has no ID it gets the next
// number, beginning with 1; no number is used twice. It returns an error if the
// ID is one that waits already, or the one given to [Calls.Fail]. It must be
// called before req is sent, and [PendingCall.Wait] or [PendingCall.Abandon]
// after it, once.
func (c *Calls) Start(req *Request) (*PendingCall, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	for req.ID.IsZero() {
		c.last++
		if id := IntID(c.last); c.waiting[id] == nil {
			req.ID = id
		}
	}
	if c.waiting[req.ID] != nil {
		return nil, fmt.Errorf("rpc: a call with id %s waits already", req.ID)
	}
	if c.waiting == nil {
		c.waiting = make(map[ID]*PendingCall)
	}
	p := c.pending()
	p.req, p.inCompany = req, len(c.waiting) > 0
	c.waiting[req.ID] = p
	return p, nil
}

// pending returns a call; c.mu is held.
func (c *Calls) pending() *PendingCall {
	last := len(c.free) - 1
	if last < 0 {
		p := &PendingCall{calls: c, ended: make(chan ended, 1)}
		p.leave = func() {
			if p.abandon() {
				p.ended <- ended{err: context.Canceled}
			}
		}
		return p
	}
	p := c.free[last]
	c.free = c.free[:last]
	return p
}

// recycle keeps p, whose channel is empty and stays so.
func (c *Calls) recycle(p *PendingCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.req = nil
	if len(c.free) < freeCalls {
		c.free = append(c.free, p)
	}
}

// Deliver hands a response to the call that waits for it. It reports whether
// there was one: an answer may be late, come twice, or be for no call at all.
func (c *Calls) Deliver(res *Response) bool { return c.end(res.ID, ended{res: res}) }

// FailOne ends the call with this ID with an error of this side, and reports
// whether there was one.
func (c *Calls) FailOne(id ID, err error) bool { return c.end(id, ended{err: err}) }

func (c *Calls) end(id ID, with ended) bool {
	c.mu.Lock()
	p := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if p == nil {
		return false
	}
	p.ended <- with
	return true
}

// Fail ends all calls that wait, and all that would start later, with err. Only
// the first call of Fail counts.
func (c *Calls) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	c.failWaiting(err)
}

// FailWaiting ends all calls that wait now with err. Later ones may start.
func (c *Calls) FailWaiting(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failWaiting(err)
}

func (c *Calls) failWaiting(err error) {
	for _, p := range c.waiting {
		p.ended <- ended{err: err}
	}
	clear(c.waiting)
}

// Len returns how many calls wait.
func (c *Calls) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// Issued reports whether Start allocated this ID at some time: a response with
// it that no call waits for is only late.
func (c *Calls) Issued(id ID) bool {
	n, err := strconv.ParseInt(id.raw, 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && 0 < n && n <= c.last
}

// Wait waits for the response and decodes its result into result, a pointer or
// nil. It returns the response's [*Error] where it has one, what the call was
// failed with, or the error of ctx when that ends first; an answer that comes
// later is dropped.
func (p *PendingCall) Wait(ctx context.Context, result any) error {
	e := p.wait(ctx)
	req := p.req
	p.calls.recycle(p)
	return e.outcome(req, result)
}

// wait returns how the call ended. A lazy context stays what it is: the call is
// told of its end, and only its parent is waited for.
func (p *PendingCall) wait(ctx context.Context) ended {
	if l, ok := ctx.(*lazy.Context); ok && l.Tell(p.leave) {
		defer l.Tell(nil)
		ctx = l.Parent
	}
	done := ctx.Done()
	if done == nil {
		return <-p.ended
	}
	select {
	case e := <-p.ended:
		return e
	case <-done:
		if p.abandon() {
			return ended{err: ctx.Err()}
		}
		return <-p.ended // it came at the same moment
	}
}

// Unsent ends the call because sending it failed with err, and returns err, or,
// where a response came all the same, its outcome: a connection may end while
// the sender has not yet heard that it was done.
func (p *PendingCall) Unsent(err error, result any) error {
	if p.abandon() {
		return err
	}
	if e := <-p.ended; e.res != nil {
		return e.outcome(p.req, result)
	}
	return err
}

func (e ended) outcome(req *Request, result any) error {
	if e.err != nil {
		return e.err
	}
	err := DecodeResult(e.res, result)
	if err == nil {
		return nil
	}
	if _, wire := errors.AsType[*Error](err); wire {
		return err
	}
	return fmt.Errorf("%s: %w", req.Method, err)
}

// Abandon stops waiting. An answer that comes later is dropped.
func (p *PendingCall) Abandon() { p.abandon() }

// abandon reports whether the call did wait. Otherwise p.ended has a value, or
// gets one at this moment.
func (p *PendingCall) abandon() bool {
	c := p.calls
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[p.req.ID] != p {
		return false
	}
	delete(c.waiting, p.req.ID)
	return true
}
