package rpc_test

import (
	"testing"

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
