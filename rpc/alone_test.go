package rpc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// opening is a handler whose request "open" must be over before others come.
type opening struct {
	opened chan struct{}
	early  chan string
}

func (o *opening) Alone(req *rpc.Request) bool { return req.Method == "open" }

func (o *opening) Handle(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
	if req.Method == "open" {
		<-time.After(20 * time.Millisecond) // much longer than a quick handler has
		close(o.opened)
		return nil, nil
	}
	select {
	case <-o.opened:
	default:
		o.early <- req.Method
	}
	return nil, nil
}

type binding struct{ rpc.Handler }

func (b binding) Bind(context.Context, rpc.Conn) rpc.Handler { return b.Handler }

func TestAlone(t *testing.T) {
	t.Parallel()
	o := &opening{opened: make(chan struct{}), early: make(chan string, 10)}
	a, b := rpc.Pipe()
	d := rpc.NewDuplex(t.Context(), b, binding{o}, nil)
	defer d.Close()
	const calls = 10
	if err := a.Write(t.Context(), &rpc.Request{ID: rpc.IntID(0), Method: "open"}); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		if err := a.Write(t.Context(), &rpc.Request{ID: rpc.IntID(int64(i + 1)), Method: "later"}); err != nil {
			t.Fatal(err)
		}
	}
	for range calls + 1 {
		if _, err := a.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.early) > 0 {
		t.Errorf("%d requests were handled before the one that opens", len(o.early))
	}
}

// What runs on the goroutine that reads can be cancelled all the same, and a Drain
// waits for it.
func TestCancelInline(t *testing.T) {
	t.Parallel()
	o := &endless{begun: make(chan struct{}), ended: make(chan error, 1)}
	a, b := rpc.Pipe()
	d := rpc.NewDuplex(t.Context(), b, binding{o}, nil)
	defer d.Close()
	if err := a.Write(t.Context(), &rpc.Request{ID: rpc.IntID(1), Method: "x"}); err != nil {
		t.Fatal(err)
	}
	<-o.begun
	d.Cancel(rpc.IntID(2), errors.New("not this one"))
	d.Cancel(rpc.IntID(1), errGone)
	if err := <-o.ended; !errors.Is(err, errGone) {
		t.Errorf("the handler's context ended with %v", err)
	}
}

func TestDrainInline(t *testing.T) {
	t.Parallel()
	o := &endless{begun: make(chan struct{}), ended: make(chan error, 1)}
	a, b := rpc.Pipe()
	d := rpc.NewDuplex(t.Context(), b, binding{o}, nil)
	defer d.Close()
	if err := a.Write(t.Context(), &rpc.Request{ID: rpc.IntID(1), Method: "x"}); err != nil {
		t.Fatal(err)
	}
	<-o.begun
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := d.Drain(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Drain ended with %v while a request is handled", err)
	}
	d.Cancel(rpc.IntID(1), errGone)
	if err := d.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if len(o.ended) == 0 {
		t.Error("Drain ended before the request")
	}
}

var errGone = errors.New("gone")

// endless is a handler that keeps reading waiting until its context ends.
type endless struct {
	begun chan struct{}
	ended chan error
}

func (*endless) Alone(*rpc.Request) bool { return true }

func (e *endless) Handle(ctx context.Context, _ *rpc.Request, _ rpc.Peer) (any, error) {
	close(e.begun)
	<-ctx.Done()
	e.ended <- context.Cause(ctx)
	return nil, ctx.Err()
}
