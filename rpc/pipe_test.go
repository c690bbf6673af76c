package rpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// What was sent can be changed afterwards: the ends share no memory.
func TestPipeSharesNoMemory(t *testing.T) {
	t.Parallel()
	a, b := rpc.Pipe()
	req := &rpc.Request{ID: rpc.IntID(1), Method: "m", Params: jsontext.Value(`{"a":1}`)}
	list := []int{1}
	for _, m := range []rpc.Message{req, &rpc.Response{ID: rpc.IntID(1), Result: list}} {
		if err := a.Write(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	req.Params[1], list[0] = 'x', 2
	for _, want := range []string{`request id=1 method=m params={"a":1}`, `response id=1 result=[1]`} {
		if got := show(b.Read(t.Context())); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPipeEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := rpc.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		written := 0
		for ; written < 1000; written++ { // until there is no room
			if written == 10 {
				cancel()
			}
			if err := a.Write(ctx, note("m")); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("write: %v", err)
				}
				break
			}
		}
		if written == 1000 {
			t.Error("the pipe has no bound")
		}
		if err := a.Write(t.Context(), &rpc.Request{Method: "m", Params: jsontext.Value(`1`)}); err == nil {
			t.Error("bad params were sent")
		}
		reads := make(chan error, 1)
		go func() { _, err := a.Read(t.Context()); reads <- err }()
		a.Close()
		if err := <-reads; !errors.Is(err, io.EOF) {
			t.Errorf("read: %v", err)
		}
		for k := range written {
			if _, err := b.Read(t.Context()); err != nil {
				t.Fatalf("read %d: %v", k, err)
			}
		}
		if _, err := b.Read(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("read: %v", err)
		}
		for _, s := range []rpc.Stream{a, b} {
			if err := s.Write(t.Context(), note("m")); !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("write: %v", err)
			}
		}
		b.Close()
		c, _ := rpc.Pipe()
		if _, err := c.Read(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
	})
}
