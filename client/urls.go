package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// URLElicitationError says that the user has to visit URLs before the server
// carries out the request (2025-11-25, URL elicitation required). It is the
// error of a call where the client has no function for that
// ([Options].ElicitURL), the user did not accept, or the server goes on asking.
// The call may be made again when the user is through. It wraps the *rpc.Error.
type URLElicitationError struct {
	Method string // of the request
	// Elicitations are what the server asks for. They are not to be trusted:
	// show the whole URL before it is opened.
	Elicitations []mcp.ElicitParams
	Err          error
}

func (e *URLElicitationError) Error() string {
	return fmt.Sprintf("client: %s: the user has to visit %d URL(s) first: %v", e.Method, len(e.Elicitations), e.Err)
}

func (e *URLElicitationError) Unwrap() error { return e.Err }

// elicitationsIn returns the error of one that asks for URLs; nil: it is none.
func elicitationsIn(method string, err error) *URLElicitationError {
	if wire, ok := asWire(err); !ok || wire.Code != mcp.CodeURLElicitationRequired {
		return nil
	}
	if data, derr := mcp.ErrorData[mcp.ElicitationData](err); derr == nil && len(data.Elicitations) > 0 {
		return &URLElicitationError{Method: method, Elicitations: data.Elicitations, Err: err}
	}
	return nil
}

// typed returns err as callers find it.
func typed(method string, err error) error {
	if e := elicitationsIn(method, err); e != nil {
		return e
	}
	return err
}

// visit lets the user go where a call has to wait for, and reports whether the
// call is to be sent again: at once when the user has consented, which may be
// enough; and where it was not, when the server has told that all is done.
func (c *Client) visit(ctx context.Context, call *Call, err error) bool {
	e := elicitationsIn(call.Method, err)
	if e == nil || !c.opts.ElicitURL || c.opts.Elicit == nil || over(len(e.Elicitations), c.opts.Limits.Asks) {
		return false
	}
	switch call.mended {
	case 0:
		call.visits = c.visits.add(e.Elicitations)
		return c.consent(ctx, e.Elicitations)
	case 1:
		return c.visitsDone(ctx, call)
	}
	return false
}

// consent asks about one after another.
func (c *Client) consent(ctx context.Context, all []mcp.ElicitParams) bool {
	for i := range all {
		p := &all[i]
		raw, err := json.Marshal(p)
		if err != nil || p.Mode != mcp.ElicitURL {
			return false
		}
		res, err := c.answer(ctx, mcp.MethodElicit, raw)
		if r, ok := res.(*mcp.ElicitResult); err != nil || !ok || r.Action != mcp.ElicitAccept {
			return false
		}
	}
	return true
}

// visitsDone waits, as long as for any answer, for the server to tell.
func (c *Client) visitsDone(ctx context.Context, call *Call) bool {
	var timeout <-chan time.Time
	if limit := call.opts.limits.idle; limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-call.visits.done:
		return true
	case <-timeout:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	return false
}

// visits are those of calls under way. The zero value has none.
type visits struct {
	mu  sync.Mutex
	all map[*visiting]struct{}
}

// visiting is one call that waits for the user.
type visiting struct {
	pending map[string]struct{} // elicitation IDs; guarded by visits.mu
	done    chan struct{}       // closed when there are none
}

func (v *visits) add(all []mcp.ElicitParams) *visiting {
	one := &visiting{pending: make(map[string]struct{}), done: make(chan struct{})}
	for i := range all {
		one.pending[all[i].ElicitationID] = struct{}{}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = make(map[*visiting]struct{})
	}
	v.all[one] = struct{}{}
	return one
}

func (v *visits) remove(one *visiting) {
	if one == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, one)
}

// complete is called when the server told that one is done; it may be one that
// nobody waits for.
func (v *visits) complete(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for one := range v.all {
		if _, ok := one.pending[id]; !ok {
			continue
		}
		if delete(one.pending, id); len(one.pending) == 0 {
			close(one.done)
		}
	}
}
