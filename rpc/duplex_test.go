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
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var lim rpc.Limits
	if opts != nil {
		lim = opts.Limits
	}
	d := rpc.NewDuplex(context.Background(), rpc.NewLineStream(inR, outW, closers{inR, outW}, lim), b, opts)
	return d, &raw{t: t, in: inW, out: bufio.NewReader(outR), end: outR}
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
		if err := <-causes; !errors.Is(err, gone) {
			t.Errorf("cause %v", err)
		}
		if err := <-causes; !errors.Is(err, rpc.ErrEnded) {
			t.Errorf("notify after cancel: %v", err)
		}
		// Nothing was sent for it, and its ID is free.
		peer.send(`{"jsonrpc":"2.0","id":"a","method":"ping"}`)
		peer.want(`{"jsonrpc":"2.0","id":"a","result":{}}`)
		closeDuplex(t, d)
	})
}

func TestDuplexSendsNothingAfterTheResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		peers := make(chan rpc.Peer, 1)
		d, peer := serve(t, handler(func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			peers <- p
			return nil, p.Notify(ctx, &rpc.Request{Method: "progress"})
		}), nil)
		peer.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		peer.want(`{"jsonrpc":"2.0","method":"progress"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		p := <-peers
		if err := p.Notify(t.Context(), &rpc.Request{Method: "progress"}); !errors.Is(err, rpc.ErrEnded) {
			t.Errorf("notify: %v", err)
		}
		if err := p.Call(t.Context(), &rpc.Request{Method: "ask"}, nil); !errors.Is(err, rpc.ErrEnded) {
			t.Errorf("call: %v", err)
		}
		closeDuplex(t, d)
	})
}

// A call that a stray goroutine makes ends with the request it belongs to.
func TestDuplexReverseCallEndsWithRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
		peer.want(`{"jsonrpc":"2.0","id":1,"method":"ask"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if err := <-errs; !errors.Is(err, rpc.ErrEnded) {
			t.Errorf("call: %v", err)
		}
		closeDuplex(t, d)
	})
}

func TestDuplexDuplicateID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

func TestDuplexHandlerThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	if !errors.Is(err, refused) {
		t.Error(err)
	}
}
