package rpc_test

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

func BenchmarkRoundTrip(b *testing.B) {
	for name, pair := range streams {
		connect := func(b *testing.B) *rpc.Duplex {
			b.Helper()
			x, y := pair()
			server := rpc.NewDuplex(b.Context(), x, handler(echo), nil)
			client := rpc.NewDuplex(b.Context(), y, handler(echo), nil)
			b.Cleanup(func() { client.Close(); server.Close() })
			return client
		}
		params := []byte(`{"name":"echo","arguments":{"message":"hello"}}`)
		b.Run(name, func(b *testing.B) {
			client := connect(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := client.Call(b.Context(), &rpc.Request{Method: "tools/call", Params: params}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			client := connect(b)
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := client.Call(b.Context(), &rpc.Request{Method: "tools/call", Params: params}, nil); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkAppendMessage(b *testing.B) {
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type result struct {
		Content []content `json:"content"`
	}
	res := &rpc.Response{ID: rpc.IntID(1), Result: &result{[]content{{"text", "a message of ordinary length"}}}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = rpc.AppendMessage(dst[:0], res); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode is a small and a long request, and the answer to one.
func BenchmarkDecode(b *testing.B) {
	long := strings.Repeat("0123456789abcdef", 640)
	for _, tt := range []struct{ name, text string }{
		{"small", typicalRequest},
		{"long", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + long + `"}}}`},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a message of ordinary length"}]}}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			text := []byte(tt.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rpc.Decode(text, rpc.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLineStream(b *testing.B) {
	ctx := b.Context()
	b.Run("read", func(b *testing.B) {
		r := &repeated{line: typicalRequest + "\n", n: math.MaxInt}
		s := rpc.NewLineStream(r, io.Discard, nil, rpc.Limits{})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Read(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		w := &repeated{}
		s := rpc.NewLineStream(w, w, nil, rpc.Limits{})
		res := &rpc.Response{ID: rpc.IntID(1), Result: jsontext.Value(`{"content":[{"type":"text","text":"a message of ordinary length"}]}`)}
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Write(ctx, res); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	for name, unit := range map[string]string{
		"plain": "The quick brown fox jumps over 13 lazy dogs. ",
		"mixed": "The quick brown fox said \"jump\" over 13 lazy dogs; naïve café at 5 µs, path C:\\tmp.\n",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(unit, 100)
			var dst []byte
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = rpc.AppendString(dst[:0], text)
			}
		})
	}
}

// repeated is a stream of so many lines, and swallows what is written.
type repeated struct {
	line string
	n    int
	at   int // in the line
}

func (r *repeated) Read(b []byte) (int, error) {
	n := 0
	for r.n > 0 && n < len(b) {
		k := copy(b[n:], r.line[r.at:])
		n, r.at = n+k, r.at+k
		if r.at == len(r.line) {
			r.at = 0
			r.n--
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*repeated) Write(b []byte) (int, error)    { return len(b), nil }
func (*repeated) TryWrite(b []byte) (int, error) { return len(b), nil }

// serveRepeated answers n requests that come without a pause.
func serveRepeated(tb testing.TB, n int, h rpc.HandlerFunc) {
	tb.Helper()
	r := &repeated{line: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}` + "\n", n: n}
	d := rpc.NewDuplex(context.Background(), rpc.NewLineStream(r, r, nil, rpc.Limits{}), handler(h), &rpc.DuplexOptions{Drain: -1})
	<-d.Done()
	if err := d.Err(); err != nil {
		tb.Fatal(err)
	}
}

func BenchmarkServe(b *testing.B) {
	b.ReportAllocs()
	serveRepeated(b, b.N, echo)
}

func BenchmarkServeProgress(b *testing.B) {
	b.ReportAllocs()
	req := &rpc.Request{Method: "notifications/progress", Params: []byte(`{"progressToken":1,"progress":1}`)}
	serveRepeated(b, 1, func(ctx context.Context, _ *rpc.Request, peer rpc.Peer) (any, error) {
		for range b.N {
			if err := peer.Notify(ctx, req); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}
