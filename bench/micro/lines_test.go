package micro_test

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// inFlight is how many calls a talker has under way, as the harness has.
const inFlight = 64

// A talker is the other end of a server on a line stream: it sends a line, then n
// requests, and takes answers.
type talker struct {
	mu      sync.Mutex
	taken   sync.Cond
	line    []byte
	request string // but for the beginning, which has the ID
	n       int
	open    int    // requests that are not answered
	answer  []byte // the last one, or more
}

func newTalker(first, request string, n int) *talker {
	t := &talker{line: []byte(first), request: request, n: n}
	t.taken.L = &t.mu
	return t
}

func (t *talker) Read(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.open == inFlight {
		t.taken.Wait()
	}
	n := 0
	for t.open < inFlight && len(t.line) > 0 && len(t.line) <= len(b)-n {
		n += copy(b[n:], t.line)
		t.open++
		t.line = t.line[:0]
		if t.n--; t.n >= 0 {
			t.line = strconv.AppendInt(append(t.line, `{"jsonrpc":"2.0","id":`...), int64(t.n), 10)
			t.line = append(t.line, t.request...)
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (t *talker) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answer = append(t.answer[:0], b...)
	t.open -= bytes.Count(b, []byte("\n"))
	t.taken.Signal()
	return len(b), nil
}

func (t *talker) TryWrite(b []byte) (int, error) { return t.Write(b) }

// serveLines answers n calls that come as lines.
func serveLines(tb testing.TB, v mcp.Version, k call, n int) {
	tb.Helper()
	const first = `{"jsonrpc":"2.0","id":"","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}` + "\n"
	request := `,"method":"tools/call","params":{"name":"` + k.tool + `","arguments":` + k.arguments
	if v.Modern() {
		request += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	t := newTalker(first, request+"}}\n", n)
	d := rpc.NewDuplex(context.Background(), rpc.NewLineStream(t, t, nil, rpc.Limits{}), newServer(tb), &rpc.DuplexOptions{Drain: -1})
	<-d.Done()
	if err := d.Err(); err != nil {
		tb.Fatal(err)
	}
	if !bytes.Contains(t.answer, []byte(k.want)) {
		tb.Fatalf("got %.200s", t.answer)
	}
}

// BenchmarkLines is a server on a line stream whose other end costs nothing.
func BenchmarkLines(b *testing.B) {
	for _, era := range eras() {
		for _, k := range calls() {
			b.Run(era.name+"/"+k.name, func(b *testing.B) {
				b.ReportAllocs()
				serveLines(b, era.version, k, b.N)
			})
		}
	}
}
