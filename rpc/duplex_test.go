package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type binder func(ctx context.Context, conn rpc.Conn) rpc.Handler

func (b binder) Bind(ctx context.Context, conn rpc.Conn) rpc.Handler { return b(ctx, conn) }

// handler is the Binder of a Handler.
func handler(h rpc.HandlerFunc) rpc.Binder {
	return binder(func(context.Context, rpc.Conn) rpc.Handler { return h })
}

func echo(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) { return req.Params, nil }

// linePair returns two ends of a stream of lines.
func linePair(lim rpc.Limits) (rpc.Stream, rpc.Stream) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return rpc.NewLineStream(ar, aw, closers{ar, aw}, lim), rpc.NewLineStream(br, bw, closers{br, bw}, lim)
}

type closers []io.Closer

func (c closers) Close() error {
	for _, c := range c {
		c.Close()
	}
	return nil
}

var streams = map[string]func() (rpc.Stream, rpc.Stream){
	"pipe":  rpc.Pipe,
	"lines": func() (rpc.Stream, rpc.Stream) { return linePair(rpc.Limits{}) },
}

func request(t testing.TB, method string, params any) *rpc.Request {
	t.Helper()
	req, err := rpc.NewRequest(method, params)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// raw is an other end that speaks text.
type raw struct {
	t   testing.TB
	in  *io.PipeWriter
	out *bufio.Reader
	end io.Closer
}

func (r *raw) send(lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(r.in, line+"\n"); err != nil {
			r.t.Errorf("send: %v", err)
		}
	}
}

func (r *raw) want(lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		got, err := r.out.ReadString('\n')
		if err != nil {
			r.t.Errorf("receive: %v", err)
			return
		}
		if diff := cmp.Diff(line, strings.TrimSuffix(got, "\n")); diff != "" {
			r.t.Error(diff)
		}
	}
}

// serve starts a Duplex whose other end is raw.
func serve(t testing.TB, b rpc.Binder, opts *rpc.DuplexOptions) (*rpc.Duplex, *raw) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var lim rpc.Limits
	if opts != nil {
		lim = opts.Limits
	}
	d := rpc.NewDuplex(context.Background(), rpc.NewLineStream(inR, outW, closers{inR, outW}, lim), b, opts)
	return d, &raw{t: t, in: inW, out: bufio.NewReader(outR), end: outR}
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func closeDuplex(t testing.TB, d *rpc.Duplex) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	select {
	case <-d.Done():
	default:
		t.Error("Close has returned, but not all has ended")
	}
}

func TestDuplexCallsBothWays(t *testing.T) {
	t.Parallel()
	for name, pair := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair()
			server := rpc.NewDuplex(t.Context(), a, handler(func(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
				var got jsontext.Value
				if err := peer.Call(ctx, request(t, "reverse", map[string]int{"n": 1}), &got); err != nil {
					return nil, err
				}
				return map[string]any{"got": got, "sent": req.Params}, nil
			}), nil)
			defer closeDuplex(t, server)
			client := rpc.NewDuplex(t.Context(), b, handler(echo), nil)
			defer closeDuplex(t, client)
			var res jsontext.Value
			req := request(t, "x", map[string]string{"a": "b"})
			if err := client.Call(t.Context(), req, &res); err != nil {
				t.Fatal(err)
			}
			if want := `{"got":{"n":1},"sent":{"a":"b"}}`; string(res) != want {
				t.Errorf("result %s, want %s", res, want)
			}
			if req.ID != rpc.IntID(1) {
				t.Errorf("id %s", req.ID)
			}
		})
	}
}

// slow waits until it is cancelled, and all else is answered at once.
func slow(ctx context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
	if req.Method != "slow" {
		return nil, nil
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestDuplexAnswersInTheOrderOfFinishing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		next := make(chan struct{})
		d, peer := serve(t, handler(func(ctx context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
			if req.Method == "wait" {
				<-next
			}
			return nil, nil
		}), nil)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		peer.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		close(next)
		peer.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		closeDuplex(t, d)
	})
}

func TestDuplexCancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gone := errors.New("user went home")
		causes := make(chan error, 2)
		var conn rpc.Conn
		d, peer := serve(t, binder(func(_ context.Context, c rpc.Conn) rpc.Handler {
			conn = c
			return rpc.HandlerFunc(func(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
				switch req.Method {
				case "cancel":
					id, _ := rpc.ParseID(req.Param("id"))
					conn.Cancel(id, gone)
				case "slow":
					<-ctx.Done()
					causes <- context.Cause(ctx)
					causes <- peer.Notify(context.Background(), &rpc.Request{Method: "late"})
					return "too late", nil
				}
				return nil, nil
			})
		}), nil)
		peer.send(`{"jsonrpc":"2.0","id":"a","method":"slow"}`)
		synctest.Wait() // it runs
		peer.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"unknown"}}`)
		peer.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"a"}}`)
		if err := <-causes; err != gone {
			t.Errorf("cause %v", err)
		}
		if err := <-causes; err != rpc.ErrEnded {
			t.Errorf("notify after cancel: %v", err)
		}
		// Nothing was sent for it, and its ID is free.
		peer.send(`{"jsonrpc":"2.0","id":"a","method":"ping"}`)
		peer.want(`{"jsonrpc":"2.0","id":"a","result":{}}`)
		closeDuplex(t, d)
	})
}

func TestDuplexSendsNothingAfterTheResponse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		peers := make(chan rpc.Peer, 1)
		d, peer := serve(t, handler(func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			peers <- p
			return nil, p.Notify(ctx, &rpc.Request{Method: "progress"})
		}), nil)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		peer.want(`{"jsonrpc":"2.0","method":"progress"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		p := <-peers
		if err := p.Notify(t.Context(), &rpc.Request{Method: "progress"}); err != rpc.ErrEnded {
			t.Errorf("notify: %v", err)
		}
		if err := p.Call(t.Context(), &rpc.Request{Method: "ask"}, nil); err != rpc.ErrEnded {
			t.Errorf("call: %v", err)
		}
		closeDuplex(t, d)
	})
}

// A call that a stray goroutine makes ends with the request it belongs to.
func TestDuplexReverseCallEndsWithRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		errs := make(chan error, 1)
		d, peer := serve(t, handler(func(_ context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			asked := make(chan struct{})
			go func() {
				close(asked)
				errs <- p.Call(context.Background(), &rpc.Request{Method: "ask"}, nil)
			}()
			<-asked
			synctest.Wait()
			return nil, nil
		}), nil)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		go peer.want(`{"jsonrpc":"2.0","id":1,"method":"ask"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if err := <-errs; err != rpc.ErrEnded {
			t.Errorf("call: %v", err)
		}
		closeDuplex(t, d)
	})
}

func TestDuplexDuplicateID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		next := make(chan struct{})
		d, peer := serve(t, handler(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			<-next
			return "first", nil
		}), nil)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"method":"a"}`)
		peer.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"request id 1 is already in flight"}}`)
		peer.send(`{"jsonrpc":"2.0","id":"1","method":"a"}`) // another ID
		close(next)
		got := map[string]bool{}
		for range 2 {
			line, _ := peer.out.ReadString('\n')
			got[line] = true
		}
		want := map[string]bool{`{"jsonrpc":"2.0","id":1,"result":"first"}` + "\n": true, `{"jsonrpc":"2.0","id":"1","result":"first"}` + "\n": true}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"a"}`)
		peer.want(`{"jsonrpc":"2.0","id":1,"result":"first"}`)
		closeDuplex(t, d)
	})
}

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
				if want := fmt.Sprint(seen); string(req.Param("k")) != want {
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
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
		if err := d.Call(ctx, request(t, "x", nil), nil); err != context.DeadlineExceeded {
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
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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

func TestDuplexDrain(t *testing.T) {
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
			bubble(t, func(t *testing.T) {
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
				if took := time.Since(start); took != test.took {
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
	bubble(t, func(t *testing.T) {
		d, peer := serve(t, handler(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			time.Sleep(time.Second) // of the bubble
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
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
		if err := d.Err(); err != cable {
			t.Errorf("ended with %v", err)
		}
	})
}

// The other side is gone when a reply is written: it is the end.
func TestDuplexWriteError(t *testing.T) {
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
		if err := d.Err(); err != stop {
			t.Errorf("ended with %v", err)
		}
		<-c.Done()
		if err := c.Err(); err != nil {
			t.Errorf("the other end ended with %v", err)
		}
	})
}

func TestDuplexCloseWithStubbornHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
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

func TestDuplexHandlerThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		d, peer := serve(t, handler(func(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
			switch req.Method {
			case "panic":
				panic("secret")
			case "exit":
				runtime.Goexit()
			}
			return nil, nil
		}), &rpc.DuplexOptions{Logger: slog.New(slog.NewTextHandler(&log, nil)), Limits: rpc.Limits{InFlight: 1}})
		peer.send(`{"jsonrpc":"2.0","method":"panic"}`)
		for _, method := range []string{"panic", "exit"} {
			peer.send(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			peer.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		}
		closeDuplex(t, d)
		if n := strings.Count(log.String(), "handler panicked"); n != 2 || !strings.Contains(log.String(), "duplex_test.go") {
			t.Errorf("log: %s", log.String())
		}
	})
}

func TestDuplexErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		d, peer := serve(t, handler(func(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
			switch req.Method {
			case "wire":
				return nil, fmt.Errorf("wrapped: %w", rpc.Errorf(7, "seven").WithData(7))
			case "plain":
				return nil, errors.New("secret")
			}
			return func() {}, nil
		}), &rpc.DuplexOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"wire"}`)
		peer.want(`{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"seven","data":7}}`)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"plain"}`)
		peer.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"func"}`)
		peer.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
		closeDuplex(t, d)
		if !strings.Contains(log.String(), "cannot be encoded") {
			t.Errorf("log: %s", log.String())
		}
	})
}

// Nothing that is not a message ends the connection, and none of it is echoed.
func TestDuplexUnreadable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, peer := serve(t, handler(echo), &rpc.DuplexOptions{Limits: rpc.Limits{MessageBytes: 200}})
		const parse, invalid = `{"jsonrpc":"2.0","error":{"code":-32700,`, `{"jsonrpc":"2.0","error":{"code":-32600,`
		for _, test := range []struct{ in, want string }{
			{"garbage", parse + `"message":"not valid JSON: unexpected character at byte 0"}}`},
			{`{"jsonrpc":"2.0","method":"t","params":`, parse + `"message":"not valid JSON: unexpected end at byte 39"}}`},
			{`[1,2`, parse + `"message":"not valid JSON: unexpected end at byte 4"}}`},
			{`"str"`, invalid + `"message":"a message must be an object"}}`},
			{`{"foo":1}`, invalid + `"message":"jsonrpc must be \"2.0\""}}`},
			{"\xff\xfe", parse + `"message":"not valid JSON: unexpected character at byte 0"}}`},
			{`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, invalid + `"message":"id must be a string or an integer"}}`},
			{`{"jsonrpc":"2.0","id":4,"method":"a","params":[]}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"params must be an object"}}`},
			{"Content-Length: 40\r", parse + `"message":"messages are lines of JSON, without Content-Length headers"}}`},
			{strings.Repeat("a", 1_000_000), invalid + `"message":"message is larger than the limit of 200 bytes"}}`},
			{`[{"jsonrpc":"2.0","id":1,"method":"a"}]`, invalid + `"message":"batches are not accepted: send one message at a time"}}`},
			{`{"jsonrpc":"2.0","id":9,"method":"ping"}`, `{"jsonrpc":"2.0","id":9,"result":{}}`},
		} {
			peer.send(test.in)
			peer.want(test.want)
		}
		// These get no answer.
		peer.send(``, "\r", `{"jsonrpc":"2.0","method":"a","params":[]}`, `{"jsonrpc":"2.0","id":7,"result":{},"error":{}}`,
			`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"?"}}`)
		peer.send(`{"jsonrpc":"2.0","id":10,"method":"ping"}`)
		peer.want(`{"jsonrpc":"2.0","id":10,"result":{}}`)
		closeDuplex(t, d)
	})
}

// A client does not answer what its server prints.
func TestDuplexSkipUnreadable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		d, peer := serve(t, handler(echo), &rpc.DuplexOptions{SkipUnreadable: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		peer.send(``, `> npm start`, `🖥️ ready`, `{"msg":"a JSON log line"}`, `[]`)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":2,"method":1}`)
		got := map[string]bool{}
		for range 2 {
			line, _ := peer.out.ReadString('\n')
			got[line] = true
		}
		want := map[string]bool{
			`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n":                                                 true,
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"method must be a string"}}` + "\n": true,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		closeDuplex(t, d)
		if !strings.Contains(log.String(), "cannot be read") || strings.Contains(log.String(), "npm") {
			t.Errorf("log: %s", log.String())
		}
	})
}

// A call whose answer cannot be read fails at once, and not as if the other side
// had sent an error.
func TestDuplexUnreadableResponse(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   error
	}{
		"both":                 {`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, nil},
		"no version":           {`{"id":1,"result":{}}`, nil},
		"not UTF-8":            {`{"jsonrpc":"2.0","id":1,"result":{"a":"` + "\xff" + `"}}`, nil},
		"too large":            {`{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("x", 1000) + `"}}`, rpc.ErrTooLarge},
		"too large, id behind": {`{"result":{"a":"` + strings.Repeat("x", 1000) + `"},"jsonrpc":"2.0","id":1}`, rpc.ErrTooLarge},
		"not what is asked":    {`{"jsonrpc":"2.0","id":1,"result":[]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d, peer := serve(t, handler(echo), &rpc.DuplexOptions{Limits: rpc.Limits{MessageBytes: 500}})
				calls := make(chan error, 1)
				go func() { calls <- d.Call(t.Context(), request(t, "x", nil), new(struct{})) }()
				peer.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
				peer.send(test.answer)
				err := <-calls
				if wire := (*rpc.Error)(nil); err == nil || errors.As(err, &wire) {
					t.Errorf("error %v", err)
				}
				if test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				closeDuplex(t, d)
			})
		})
	}
}

func TestDuplexBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		next := make(chan struct{})
		var notified atomic.Int64
		d, peer := serve(t, binder(func(_ context.Context, conn rpc.Conn) rpc.Handler {
			return rpc.HandlerFunc(func(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
				switch req.Method {
				case "allow":
					conn.AllowBatch(true)
				case "forbid":
					conn.AllowBatch(false)
				case "wait":
					<-next
				case "cancelled":
					conn.Cancel(req.ID, errors.New("cancelled"))
				case "n":
					notified.Add(1)
				}
				return map[string]string{"m": req.Method}, nil
			})
		}), nil)
		peer.send(`{"jsonrpc":"2.0","method":"allow"}`)
		peer.send(`[{"jsonrpc":"2.0","id":1,"method":"wait"},{"jsonrpc":"2.0","method":"n"},7,{"jsonrpc":"2.0","id":1,"method":"a"},` +
			`{"jsonrpc":"2.0","id":2,"method":"b"},{"jsonrpc":"2.0","id":3,"method":"cancelled"},{"jsonrpc":"2.0","id":99,"result":{}}]`)
		peer.send(`[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","method":"n"}]`)
		peer.send(`[8]`)
		peer.want(`[{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message must be an object"}}]`)
		close(next)
		peer.want(`[{"jsonrpc":"2.0","id":1,"result":{"m":"wait"}},{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message must be an object"}},` +
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"request id 1 is already in flight"}},{"jsonrpc":"2.0","id":2,"result":{"m":"b"}}]`)
		if notified.Load() != 3 {
			t.Errorf("%d notifications", notified.Load())
		}
		peer.send(`[]`)
		peer.want(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"a batch must not be empty"}}`)
		peer.send(`{"jsonrpc":"2.0","method":"forbid"}`, `[{"jsonrpc":"2.0","method":"n"}]`)
		peer.want(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not accepted: send one message at a time"}}`)
		closeDuplex(t, d)
	})
}

// What no call waits for is dropped: with a warning where no call ever had the
// ID, and not in a log without end.
func TestDuplexStrayResponses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		d, peer := serve(t, handler(echo), &rpc.DuplexOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		calls := make(chan error, 1)
		go func() { calls <- d.Call(ctx, request(t, "x", nil), nil) }()
		peer.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		if err := <-calls; err != context.DeadlineExceeded {
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

func TestDuplexTap(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	tap := func(_ context.Context, dir rpc.Direction, m rpc.Message) {
		mu.Lock()
		defer mu.Unlock()
		text, _ := rpc.AppendMessage(nil, m)
		seen = append(seen, fmt.Sprint(dir, " ", string(text)))
	}
	a, b := rpc.Pipe()
	server := rpc.NewDuplex(t.Context(), a, handler(echo), nil)
	client := rpc.NewDuplex(t.Context(), b, handler(echo), &rpc.DuplexOptions{Tap: tap})
	for range 2 {
		if err := client.Call(t.Context(), request(t, "x", map[string]int{}), nil); err != nil {
			t.Fatal(err)
		}
	}
	closeDuplex(t, client)
	closeDuplex(t, server)
	want := []string{
		`1 {"jsonrpc":"2.0","id":1,"method":"x","params":{}}`, `0 {"jsonrpc":"2.0","id":1,"result":{}}`,
		`1 {"jsonrpc":"2.0","id":2,"method":"x","params":{}}`, `0 {"jsonrpc":"2.0","id":2,"result":{}}`,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestStreamDialer(t *testing.T) {
	t.Parallel()
	a, b := rpc.Pipe()
	server := rpc.NewDuplex(t.Context(), a, handler(echo), nil)
	defer closeDuplex(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := rpc.StreamDialer{Open: func(context.Context) (rpc.Stream, error) { return b, nil }}.Dial(ctx, rpc.HandlerFunc(echo))
	if err != nil {
		t.Fatal(err)
	}
	cancel() // has no effect on the connection
	if err := conn.Call(t.Context(), request(t, "x", nil), nil); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	refused := errors.New("refused")
	_, err = rpc.StreamDialer{Open: func(context.Context) (rpc.Stream, error) { return nil, refused }}.Dial(t.Context(), nil)
	if err != refused {
		t.Error(err)
	}
}
