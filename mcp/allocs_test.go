//go:build !race

package mcp

import (
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

// What is kept of a call's params: its name, and what its _meta says.
func TestHotReadingAllocations(t *testing.T) { //nolint:paralleltest // it counts
	req := &rpc.Request{Params: jsontext.Value(modernCall)}
	allocations(t, 2, func() {
		var p CallToolParams
		if err := DecodeParams(req, &p, nil); err != nil {
			t.Fatal(err)
		}
	})
	allocations(t, 3, func() {
		var m RequestMeta
		if err := m.Read(req); err != nil {
			t.Fatal(err)
		}
	})
}

// What is kept of a call's result: its blocks, their text, the _meta.
func TestHotResultAllocations(t *testing.T) { //nolint:paralleltest // it counts
	for text, most := range map[string]float64{
		`{"content":[{"type":"text","text":"hello"}]}`:                                                                                                   2,
		`{"content":[{"type":"text","text":"a\nb"}],"structuredContent":{"sum":5.5}}`:                                                                    3,
		`{"resultType":"complete","content":[{"type":"text","text":"hello"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`: 4,
	} {
		v := jsontext.Value(text)
		allocations(t, most+1, func() { // and the result itself
			if err := DecodeResult(v, new(CallToolResult)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What is written goes into the buffer that is there.
func TestHotWritingAllocations(t *testing.T) { //nolint:paralleltest // it counts
	total, buf := 10.0, make([]byte, 0, 1024)
	for _, m := range []interface{ AppendJSON([]byte) ([]byte, error) }{
		&ProgressParams{ProgressToken: IntToken(1), Progress: 3, Total: &total},
		&CallToolResult{Result: Result{ResultType: ResultComplete, Meta: Meta{MetaServerInfo: jsontext.Value(`{"name":"s","version":"1"}`)}}, Content: Contents{Text("hello")}},
		&CallToolParams{Name: "echo", Arguments: jsontext.Value(`{"text":"hello"}`)},
		&CallToolResult{Content: Contents{Text(`{"sum":5.5}`)}, StructuredContent: jsontext.Value(`{"sum":5.5}`)},
	} {
		allocations(t, 0, func() {
			if _, err := m.AppendJSON(buf); err != nil {
				t.Fatal(err)
			}
		})
	}
}
