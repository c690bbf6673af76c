package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// A handler is stuck and 100,000 notifications come: none is lost, they come in
// order, and the reply to a call is there when the last of them is.
func TestDuplexFloodOfNotifications(t *testing.T) {
	t.Parallel()
	const flood = 100_000
	for name, pair := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair()
			started := make(chan struct{})
			server := rpc.NewDuplex(t.Context(), a, handler(func(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
				for k := range flood {
					n := &rpc.Request{Method: "n", Params: fmt.Appendf(nil, `{"k":%d}`, k)}
					if err := peer.Notify(ctx, n); err != nil {
						return nil, err
					}
				}
				return nil, nil
			}), nil)
			defer closeDuplex(t, server)
			seen := 0
			client := rpc.NewDuplex(t.Context(), b, handler(func(ctx context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
				if req.Method == "stuck" {
					close(started)
					<-ctx.Done()
					return nil, nil
				}
				if want := strconv.Itoa(seen); string(req.Param("k")) != want {
					t.Errorf("notification %s, want %s", req.Params, want)
				}
				seen++
				return nil, nil
			}), nil)
			defer closeDuplex(t, client)
			go server.Call(t.Context(), request(t, "stuck", nil), nil)
			<-started
			if err := client.Call(t.Context(), request(t, "flood", nil), nil); err != nil {
				t.Fatal(err)
			}
			if seen != flood {
				t.Errorf("%d notifications", seen)
			}
		})
	}
}

func TestDuplexBoundsRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most, ran atomic.Int64
		next := make(chan struct{})
		var conn rpc.Conn
		d, peer := serve(t, binder(func(_ context.Context, c rpc.Conn) rpc.Handler {
			conn = c
			return rpc.HandlerFunc(func(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
				most.Store(max(most.Load(), running.Add(1)))
				ran.Add(1)
				<-next
				running.Add(-1)
				return nil, nil
			})
		}), &rpc.DuplexOptions{Limits: rpc.Limits{InFlight: 2, WaitingRequests: 3}})
		for id := range 6 {
			peer.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id))
		}
		peer.want(`{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"too many requests: 2 in flight and 3 waiting; wait for answers before sending more"}}`)
		synctest.Wait()
		conn.Cancel(rpc.IntID(3), errors.New("cancelled while it waits"))
		close(next)
		got := map[string]bool{}
		for range 4 {
			line, _ := peer.out.ReadString('\n')
			got[line] = true
		}
		for _, id := range []int{0, 1, 2, 4} {
			if !got[fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", id)] {
				t.Errorf("no answer to %d in %v", id, got)
			}
		}
		peer.send(`{"jsonrpc":"2.0","id":5,"method":"x"}`)
		peer.want(`{"jsonrpc":"2.0","id":5,"result":{}}`)
		if most.Load() != 2 || ran.Load() != 5 {
			t.Errorf("%d ran, %d at once", ran.Load(), most.Load())
		}
		closeDuplex(t, d)
	})
}

func TestDuplexBoundsWaitingBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(slow), &rpc.DuplexOptions{Limits: rpc.Limits{InFlight: 1, WaitingBytes: 10_000}})
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		peer.send(`{"jsonrpc":"2.0","id":2,"method":"slow","params":{"a":"` + strings.Repeat("x", 9000) + `"}}`)
		peer.send(`{"jsonrpc":"2.0","id":3,"method":"slow","params":{"a":"` + strings.Repeat("x", 9000) + `"}}`)
		peer.want(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"too many requests: 1 in flight and 1 waiting; wait for answers before sending more"}}`)
		closeDuplex(t, d)
	})
}

// The other side floods with requests and reads nothing. Its responses and
// notifications are read all the same; goroutines stay few; Close works.
func TestDuplexPeerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var notified atomic.Int64
		d, peer := serve(t, handler(func(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
			if req.ID.IsZero() {
				notified.Add(1)
			}
			return nil, nil
		}), nil)
		calls := make(chan error, 1)
		go func() { calls <- d.Call(t.Context(), request(t, "x", nil), nil) }()
		peer.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		for id := range 20_000 {
			peer.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id))
		}
		peer.send(`{"jsonrpc":"2.0","method":"n"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if err := <-calls; err != nil {
			t.Error(err)
		}
		if notified.Load() != 1 {
			t.Error("the notification was not handled")
		}
		if n := runtime.NumGoroutine(); n > 900 {
			t.Errorf("%d goroutines", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.Call(ctx, request(t, "x", nil), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call that cannot be written: %v", err)
		}
		start := time.Now()
		closeDuplex(t, d)
		if took := time.Since(start); took > 0 {
			t.Errorf("Close took %v", took)
		}
	})
}

// A peer that goes on flooding over all limits, and never reads, is left.
func TestDuplexGivesUpOnFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(echo), &rpc.DuplexOptions{Limits: rpc.Limits{QueuedRefusals: 10}})
		go func() {
			for {
				if _, err := io.WriteString(peer.in, "garbage\n"); err != nil {
					return
				}
			}
		}()
		<-d.Done()
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), "flood") {
			t.Errorf("ended with %v", err)
		}
		if err := d.Call(t.Context(), request(t, "x", nil), nil); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("call: %v", err)
		}
	})
}

// A flood whose refusals are read, if slowly, goes on.
func TestDuplexFloodOfGarbage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(echo), &rpc.DuplexOptions{Limits: rpc.Limits{QueuedRefusals: 10}})
		go func() {
			for range 1000 {
				peer.send("garbage")
			}
			peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		}()
		answers := 0
		for {
			line, err := peer.out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if answers++; strings.Contains(line, "result") {
				break
			}
		}
		synctest.Wait()
		if answers < 900 {
			t.Errorf("%d answers", answers)
		}
		go io.Copy(io.Discard, peer.out)
		synctest.Wait()
		closeDuplex(t, d)
	})
}

// What no call waits for is dropped: with a warning where no call ever had the
// ID, and not in a log without end.
func TestDuplexStrayResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d, peer := serve(t, handler(echo), &rpc.DuplexOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		calls := make(chan error, 1)
		go func() { calls <- d.Call(ctx, request(t, "x", nil), nil) }()
		peer.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		if err := <-calls; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		peer.send(`{"jsonrpc":"2.0","id":1,"result":{}}`) // late
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		peer.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		if log.Len() > 0 {
			t.Errorf("log: %s", log.String())
		}
		for range 10_000 {
			peer.send(`{"jsonrpc":"2.0","id":"1","result":{}}`)
		}
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		peer.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		closeDuplex(t, d)
		if lines := strings.Count(log.String(), "\n"); lines < 1 || lines > 20 || !strings.Contains(log.String(), `id="\"1\""`) {
			t.Errorf("%d lines: %s", lines, log.String())
		}
	})
}
