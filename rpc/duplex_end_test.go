package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

func TestDuplexDrain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		drain time.Duration
		took  time.Duration
		want  string
	}{
		{"without bound", -1, 3 * time.Second, `{"jsonrpc":"2.0","id":1,"result":"done"}`},
		{"in time", 5 * time.Second, 3 * time.Second, `{"jsonrpc":"2.0","id":1,"result":"done"}`},
		{"too slow", 2 * time.Second, 2 * time.Second, ``},
		{"not at all", 0, 0, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inputEnded := make(chan error, 1)
				asked := make(chan error, 1)
				d, peer := serve(t, binder(func(bound context.Context, conn rpc.Conn) rpc.Handler {
					return rpc.HandlerFunc(func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
						<-bound.Done()
						inputEnded <- ctx.Err()
						asked <- p.Call(ctx, request(t, "ask", nil), nil)
						select {
						case <-time.After(3 * time.Second):
							return "done", nil
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					})
				}), &rpc.DuplexOptions{Drain: test.drain, Limits: rpc.Limits{InFlight: 1}})
				start := time.Now()
				peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
				peer.in.Close()
				if test.want != "" {
					if err := <-inputEnded; err != nil {
						t.Errorf("the request was cancelled: %v", err)
					}
					peer.want(test.want)
				}
				<-d.Done()
				// The end of input is read when the handler has turned out to be slow.
				if took := time.Since(start); took < test.took || took > test.took+time.Millisecond {
					t.Errorf("took %v", took)
				}
				if err := <-asked; !errors.Is(err, rpc.ErrClosed) && !errors.Is(err, context.Canceled) {
					t.Errorf("call after the end of input: %v", err)
				}
				if rest, err := io.ReadAll(peer.out); len(rest) > 0 && err == nil {
					t.Errorf("also sent %s", rest)
				}
				if err := d.Err(); err != nil {
					t.Errorf("ended with %v", err)
				}
				closeDuplex(t, d)
			})
		})
	}
}

// What waits for its turn at the end of input is handled too.
func TestDuplexDrainsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			<-time.After(time.Second) // of the bubble
			return nil, nil
		}), &rpc.DuplexOptions{Drain: time.Minute, Limits: rpc.Limits{InFlight: 1}})
		for id := range 20 {
			peer.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id))
		}
		peer.in.Close()
		for id := range 20 {
			peer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id))
		}
		<-d.Done()
	})
}

func TestDuplexClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handled := make(chan error, 1)
		d, peer := serve(t, handler(func(ctx context.Context, _ *rpc.Request, _ rpc.Peer) (any, error) {
			<-ctx.Done()
			handled <- context.Cause(ctx)
			return nil, nil
		}), nil)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		calls := make(chan error, 1)
		go func() { calls <- d.Call(t.Context(), request(t, "x", nil), nil) }()
		peer.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		synctest.Wait()
		closeDuplex(t, d)
		closeDuplex(t, d)
		for _, err := range []error{<-calls, <-handled, d.Call(t.Context(), request(t, "x", nil), nil), d.Notify(t.Context(), request(t, "x", nil))} {
			if !errors.Is(err, rpc.ErrClosed) || !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("error %v", err)
			}
		}
		if err := d.Err(); err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

// Calls say what ended the connection.
func TestDuplexReadError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(echo), &rpc.DuplexOptions{Drain: -1})
		calls := make(chan error, 1)
		go func() { calls <- d.Call(t.Context(), request(t, "x", nil), nil) }()
		peer.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		cable := errors.New("cable cut")
		peer.in.CloseWithError(cable)
		if err := <-calls; !errors.Is(err, rpc.ErrClosed) || !errors.Is(err, cable) {
			t.Errorf("call: %v", err)
		}
		<-d.Done()
		if err := d.Err(); !errors.Is(err, cable) {
			t.Errorf("ended with %v", err)
		}
	})
}

// The other side is gone when a reply is written: it is the end.
func TestDuplexWriteError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(slow), &rpc.DuplexOptions{Drain: -1})
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		peer.end.Close()
		peer.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		<-d.Done()
		if err := d.Err(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestDuplexContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		a, b := rpc.Pipe()
		d := rpc.NewDuplex(ctx, a, binder(func(ctx context.Context, _ rpc.Conn) rpc.Handler {
			if ctx.Value(key{}) != "value" {
				t.Error("the context of Bind has lost its values")
			}
			return rpc.HandlerFunc(slow)
		}), nil)
		c := rpc.NewDuplex(t.Context(), b, handler(echo), nil)
		defer c.Close()
		stop := errors.New("stop")
		go cancel(stop)
		<-d.Done()
		if err := d.Err(); !errors.Is(err, stop) {
			t.Errorf("ended with %v", err)
		}
		<-c.Done()
		if err := c.Err(); err != nil {
			t.Errorf("the other end ended with %v", err)
		}
	})
}

func TestDuplexCloseWithStubbornHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		d, peer := serve(t, handler(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			<-free
			return nil, nil
		}), &rpc.DuplexOptions{Grace: 3 * time.Second})
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		synctest.Wait()
		start := time.Now()
		if err := d.Close(); err == nil {
			t.Error("Close says nothing of the handler")
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("Close took %v", took)
		}
		close(free)
		<-d.Done()
	})
}
