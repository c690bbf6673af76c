//go:build !race

package rpc_test

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// The race detector allocates, and so these tests are not built with it.

// allocations fails if one run of f allocates more than most.
func allocations(t *testing.T, most float64, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(1000, f); n > most {
		t.Errorf("%v allocations, want at most %v", n, most)
	}
}

func TestRoundTripAllocations(t *testing.T) { //nolint:paralleltest // it counts
	x, y := rpc.Pipe()
	server := rpc.NewDuplex(t.Context(), x, handler(echo), nil)
	defer server.Close()
	client := rpc.NewDuplex(t.Context(), y, handler(echo), nil)
	defer client.Close()
	params := []byte(`{"name":"echo"}`)
	allocations(t, 12, func() {
		if err := client.Call(t.Context(), &rpc.Request{Method: "tools/call", Params: params}, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// What is encoded has no cost but the text; what is decoded, the message, its ID
// and its method.
func TestWireAllocations(t *testing.T) { //nolint:paralleltest // it counts
	var dst []byte
	for _, m := range []rpc.Message{
		&rpc.Request{ID: rpc.IntID(1), Method: "tools/call", Params: []byte(`{"name":"echo"}`)},
		&rpc.Response{ID: rpc.IntID(1), Result: jsontext.Value(`{"content":[]}`)},
		&rpc.Response{ID: rpc.IntID(1), Error: rpc.Errorf(rpc.CodeInternalError, "it broke")},
	} {
		var err error
		allocations(t, 0, func() {
			if dst, err = rpc.AppendMessage(dst[:0], m); err != nil {
				t.Fatal(err)
			}
		})
		text := slices.Clone(dst)
		allocations(t, 4, func() { // an error is one more, and has a message
			if _, err := rpc.Decode(text, rpc.Limits{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestServeAllocations(t *testing.T) { //nolint:paralleltest // it counts
	const requests = 1000
	// A connection takes some 50.
	allocations(t, 6*requests+100, func() { serveRepeated(t, requests, echo) })
}

func TestProgressAllocations(t *testing.T) { //nolint:paralleltest // it counts
	req := &rpc.Request{Method: "notifications/progress", Params: []byte(`{"progressToken":1,"progress":1}`)}
	serveRepeated(t, 1, func(ctx context.Context, _ *rpc.Request, peer rpc.Peer) (any, error) {
		allocations(t, 1, func() {
			if err := peer.Notify(ctx, req); err != nil {
				t.Error(err)
			}
		})
		return nil, nil
	})
}

func TestLineStreamAllocations(t *testing.T) { //nolint:paralleltest // it counts
	r := &repeated{line: `{"jsonrpc":"2.0","method":"note","params":{"a":1}}` + "\n", n: 1 << 20}
	s := rpc.NewLineStream(r, r, nil, rpc.Limits{})
	allocations(t, 3, func() { // the line, the request, its method
		if _, err := s.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	res := &rpc.Response{ID: rpc.IntID(1)}
	allocations(t, 0, func() {
		if err := s.Write(t.Context(), res); err != nil {
			t.Fatal(err)
		}
	})
}

// Of a long line not much more is allocated than it is long, from the second on.
func TestLongLineAllocations(t *testing.T) { //nolint:paralleltest // it counts
	line := `{"jsonrpc":"2.0","method":"note","params":{"a":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
	s := rpc.NewLineStream(io.MultiReader(strings.NewReader(line), &repeated{line: line, n: 1 << 20}), io.Discard, nil, rpc.Limits{})
	const lines = 20
	var before, after runtime.MemStats
	for k := range lines + 1 {
		if k == 1 {
			runtime.ReadMemStats(&before)
		}
		if _, err := s.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / lines; n > 3<<19 {
		t.Errorf("%d bytes were allocated for a line of %d", n, len(line))
	}
}
