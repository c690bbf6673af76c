package rpc_test

import (
	"context"
	"io"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
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

func request(t testing.TB, method string, params any) *rpc.Request {
	t.Helper()
	req, err := rpc.NewRequest(method, params)
	if err != nil {
		t.Fatal(err)
	}
	return req
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
			defer server.Close()
			client := rpc.NewDuplex(t.Context(), b, handler(echo), nil)
			defer client.Close()
			var res jsontext.Value
			if err := client.Call(t.Context(), request(t, "x", map[string]string{"a": "b"}), &res); err != nil {
				t.Fatal(err)
			}
			if want := `{"got":{"n":1},"sent":{"a":"b"}}`; string(res) != want {
				t.Errorf("result %s, want %s", res, want)
			}
		})
	}
}

var streams = map[string]func() (rpc.Stream, rpc.Stream){
	"pipe":  rpc.Pipe,
	"lines": func() (rpc.Stream, rpc.Stream) { return linePair(rpc.Limits{}) },
}
