package rpc_test

import (
	"context"
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
