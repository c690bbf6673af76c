package rpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/rpc"
)

type bindTo struct{ rpc.Handler }

func (b bindTo) Bind(context.Context, rpc.Conn) rpc.Handler { return b.Handler }

func TestDrain(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), make(chan struct{})
	near, far := rpc.Pipe()
	srv := rpc.NewDuplex(t.Context(), far, bindTo{rpc.HandlerFunc(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
		close(started)
		<-finish
		return map[string]int{"a": 1}, nil
	})}, nil)
	cl := rpc.NewDuplex(t.Context(), near, bindTo{rpc.HandlerFunc(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
		return nil, errors.New("not asked")
	})}, nil)
	t.Cleanup(func() { cl.Close() })
	if err := srv.Drain(t.Context()); err != nil { // nothing runs
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- cl.Call(t.Context(), &rpc.Request{Method: "m"}, nil) }()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v while a request runs", err)
	}
	close(finish)
	if err := srv.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := <-end; err != nil {
		t.Errorf("the answer was lost: %v", err)
	}
}
