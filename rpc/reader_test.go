package rpc_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// However a handler keeps its goroutine, what comes behind it is read soon.
func TestReaderGoesOn(t *testing.T) {
	t.Parallel()
	for name, block := range map[string]func(ctx context.Context, conn rpc.Conn, peer rpc.Peer){
		"waits":               func(ctx context.Context, _ rpc.Conn, _ rpc.Peer) { <-ctx.Done() },
		"asks":                func(ctx context.Context, _ rpc.Conn, p rpc.Peer) { _ = p.Call(ctx, note("ask"), nil) },
		"asks outside":        func(ctx context.Context, c rpc.Conn, _ rpc.Peer) { _ = c.Call(ctx, note("ask"), nil) },
		"asks on a goroutine": func(ctx context.Context, _ rpc.Conn, p rpc.Peer) { askAside(ctx, p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var conn rpc.Conn
				d, peer := serve(t, binder(func(_ context.Context, c rpc.Conn) rpc.Handler {
					conn = c
					return rpc.HandlerFunc(func(ctx context.Context, req *rpc.Request, p rpc.Peer) (any, error) {
						if req.Method == "block" {
							block(ctx, conn, p)
						}
						return nil, nil
					})
				}), nil)
				start := time.Now()
				go peer.send(`{"jsonrpc":"2.0","id":"a","method":"block"}`, `{"jsonrpc":"2.0","id":"b","method":"ping"}`)
				for {
					line, err := peer.out.ReadString('\n')
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(line, `"b"`) {
						break
					}
				}
				if took := time.Since(start); took > 10*time.Millisecond {
					t.Errorf("took %v", took)
				}
				closeDuplex(t, d)
			})
		})
	}
}

func askAside(ctx context.Context, p rpc.Peer) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.Call(ctx, note("ask"), nil)
	}()
	<-done
}

// A slow handler after many quick ones is noticed, too; those that come next do
// not wait for each other.
func TestReaderAfterManyQuick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(func(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
			if req.Method == "slow" {
				<-time.After(time.Second) // of the bubble
			} else {
				<-time.After(10 * time.Microsecond) // of the bubble
			}
			return nil, nil
		}), nil)
		go func() {
			for id := range 500 {
				peer.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"quick"}`, id))
			}
		}()
		for id := range 500 { // on the reader, so in order
			peer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id))
		}
		start := time.Now()
		go func() {
			for id := range 50 {
				peer.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow"}`, id))
			}
		}()
		for range 50 {
			if _, err := peer.out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > time.Second+5*time.Millisecond {
			t.Errorf("took %v", took)
		}
		closeDuplex(t, d)
	})
}

// Answers to what came together are written together, and no answer waits for a
// message that is not there yet.
func TestReaderAnswersBursts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(echo), nil)
		ping := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
		for _, rest := range []string{"", "\n", " \r\n\n", `{"jsonrpc":"2.0",`, "garbage\n", `{"jsonrpc":"2.0","method":"note"}` + "\n"} {
			go peer.in.Write([]byte(ping(1) + "\n" + ping(2) + "\n" + rest))
			peer.want(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			if strings.HasSuffix(rest, ",") {
				peer.send(`"method":"note"}`)
			}
			if rest == "garbage\n" {
				peer.want(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"not valid JSON: unexpected character at byte 0"}}`)
			}
		}
		closeDuplex(t, d)
	})
}

// Before a slow handler keeps the reader, what was answered is written.
func TestReaderAnswersBeforeSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(slow), nil)
		go peer.in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"slow"}` + "\n"))
		start := time.Now()
		peer.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("took %v", took)
		}
		closeDuplex(t, d)
	})
}

// Progress is sent at once where the handler goes on.
func TestReaderSendsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, peer := serve(t, handler(func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			_ = p.Notify(ctx, note("a"))
			_ = p.Notify(ctx, note("b"))
			<-ctx.Done()
			return nil, nil
		}), nil)
		start := time.Now()
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		peer.want(`{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b"}`)
		if took := time.Since(start); took > 0 {
			t.Errorf("took %v", took)
		}
		closeDuplex(t, d)
	})
}

// A handler that ends its goroutine takes the reader with it, once for each: all
// is answered all the same.
func TestReaderGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		d, peer := serve(t, handler(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			if n.Add(1)%2 == 0 {
				<-time.After(time.Millisecond) // of the bubble
			}
			runtime.Goexit()
			return nil, nil
		}), nil)
		for id := range 300 {
			peer.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id))
			peer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"internal error"}}`, id))
		}
		closeDuplex(t, d)
	})
}
