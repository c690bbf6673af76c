package rpc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

func answer(id rpc.ID) *rpc.Response {
	return &rpc.Response{ID: id, Result: jsontext.Value(`1`)}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	var calls rpc.Calls
	own := &rpc.Request{ID: rpc.IntID(2), Method: "own"}
	if _, err := calls.Start(own); err != nil {
		t.Fatal(err)
	}
	if _, err := calls.Start(own); err == nil {
		t.Error("two calls wait with one id")
	}
	first, second := &rpc.Request{Method: "a"}, &rpc.Request{Method: "b"}
	p, _ := calls.Start(first)
	q, _ := calls.Start(second)
	if first.ID != rpc.IntID(1) || second.ID != rpc.IntID(3) { // 2 is taken
		t.Errorf("ids %s and %s", first.ID, second.ID)
	}
	if calls.Len() != 3 {
		t.Errorf("%d wait", calls.Len())
	}
	if calls.Deliver(answer(rpc.StringID("1"))) {
		t.Error(`"1" is not 1`)
	}
	var got int
	if !calls.Deliver(answer(first.ID)) || calls.Deliver(answer(first.ID)) {
		t.Error("an answer counts once")
	}
	if err := p.Wait(t.Context(), &got); err != nil || got != 1 {
		t.Errorf("%d, %v", got, err)
	}
	q.Abandon()
	if calls.Deliver(answer(second.ID)) {
		t.Error("an abandoned call was answered")
	}
	for id, want := range map[rpc.ID]bool{rpc.IntID(1): true, rpc.IntID(3): true, rpc.IntID(4): false, rpc.IntID(0): false, rpc.StringID("1"): false, {}: false} {
		if calls.Issued(id) != want {
			t.Errorf("issued %s: %v", id, !want)
		}
	}
	if calls.Len() != 1 {
		t.Errorf("%d wait", calls.Len())
	}
}

func TestCallsFail(t *testing.T) {
	t.Parallel()
	var calls rpc.Calls
	lost, over := errors.New("lost"), errors.New("over")
	var pending []*rpc.PendingCall
	for range 3 {
		p, err := calls.Start(&rpc.Request{Method: "a"})
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	if !calls.FailOne(rpc.IntID(1), lost) || calls.FailOne(rpc.IntID(1), lost) {
		t.Error("a call fails once")
	}
	calls.FailWaiting(over)
	later, err := calls.Start(&rpc.Request{Method: "a"})
	if err != nil {
		t.Fatal(err)
	}
	calls.Fail(lost)
	calls.Fail(over)
	for k, want := range []error{lost, over, over} {
		if err := pending[k].Wait(t.Context(), nil); !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", k, err, want)
		}
	}
	if err := later.Wait(t.Context(), nil); !errors.Is(err, lost) {
		t.Error(err)
	}
	if _, err := calls.Start(&rpc.Request{Method: "a"}); !errors.Is(err, lost) {
		t.Error(err)
	}
}

func TestCallsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls rpc.Calls
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p, _ := calls.Start(&rpc.Request{Method: "a"})
		if err := p.Wait(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if calls.Len() != 0 {
			t.Error("a call waits that nobody waits for")
		}
		// An answer that is there wins, also over a context that has ended.
		q, _ := calls.Start(&rpc.Request{Method: "a"})
		calls.Deliver(answer(rpc.IntID(2)))
		for range 20 {
			if err := q.Wait(ctx, nil); err != nil {
				t.Error(err)
			}
			q, _ = calls.Start(&rpc.Request{ID: rpc.StringID("x"), Method: "a"})
			calls.Deliver(answer(rpc.StringID("x")))
		}
	})
}

func TestInflight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var in rpc.Inflight
		var first, second, third rpc.Ticket
		id, gone := rpc.IntID(1), errors.New("gone")
		if err := in.Add(t.Context(), &first, id); err != nil {
			t.Fatal(err)
		}
		if err := in.Add(t.Context(), &second, id); !errors.Is(err, &rpc.Error{Code: rpc.CodeInvalidRequest}) {
			t.Errorf("the same id again: %v", err)
		}
		if err := in.Add(t.Context(), &second, rpc.StringID("1")); err != nil {
			t.Error(err)
		}
		if !in.Cancel(id, gone) || in.Cancel(id, gone) || !errors.Is(context.Cause(first.Context()), gone) {
			t.Errorf("cancelled with %v", context.Cause(first.Context()))
		}
		// The ID is free, and the cancelled request cannot free its successor's.
		if err := in.Add(t.Context(), &third, id); err != nil {
			t.Error(err)
		}
		if first.Finish() {
			t.Error("a cancelled request is to be answered")
		}
		if err := first.Send(func() error { return nil }); !errors.Is(err, rpc.ErrEnded) {
			t.Error(err)
		}
		if in.Len() != 2 {
			t.Errorf("%d in flight", in.Len())
		}
		if !third.Finish() || third.Finish() || in.Cancel(id, gone) {
			t.Error("a request is answered once")
		}
		in.CancelAll(gone)
		if second.Finish() || in.Len() != 0 || !errors.Is(context.Cause(second.Context()), gone) {
			t.Errorf("cancelled with %v", context.Cause(second.Context()))
		}
		if !errors.Is(context.Cause(third.Context()), rpc.ErrEnded) {
			t.Errorf("answered with %v", context.Cause(third.Context()))
		}
	})
}

// The response waits for what is being sent for the request.
func TestTicketOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var in rpc.Inflight
		var ticket rpc.Ticket
		_ = in.Add(t.Context(), &ticket, rpc.IntID(1))
		begun, end := make(chan struct{}), make(chan struct{})
		var order []string
		go ticket.Send(func() error {
			close(begun)
			<-end
			order = append(order, "notification")
			return nil
		})
		<-begun
		done := make(chan bool)
		go func() {
			answer := ticket.Finish()
			order = append(order, "response")
			done <- answer
		}()
		close(end)
		if !<-done || order[0] != "notification" {
			t.Errorf("order %v", order)
		}
	})
}
