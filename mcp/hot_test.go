package mcp

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
)

// What the fast forms make of a text is what the JSON package makes of it.
func FuzzHotReading(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"name":"echo"}`, `{"name":"echo","arguments":{"text":"a\"b"}}`, `{"name":"é\n","arguments":null}`,
		`{"name":1}`, `{"name":"a","_meta":{"progressToken":1}}`, `{"name":"a","_meta":[]}`, `{"_meta":{"progressToken":1.5}}`,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}},"name":"a"}`,
		`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1","title":"t"},"traceparent":"x"}}`,
		`{"_meta":{"io.modelcontextprotocol/logLevel":"info","a/b":{"c": [1, 2]}}}`, `{"_meta":null}`, ` { "name" : "a" } `,
		`{"content":[{"type":"text","text":"a"}],"isError":true}`, `{"content":[{"type":"text","text":"a\n\u00e9"},{"text":"b","type":"text"}],"structuredContent":{"a":[1]}}`,
		`{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}`, `{"content":{"type":"text","text":"a"}}`,
		`{"content":[{"type":"text","text":"\ud800"}]}`, `{"content":[{"type":"text"}]}`, `{"content":[{"type":"image","data":"","mimeType":"a"}]}`,
		`{"content":[{"type":"text","text":"a","annotations":{}}],"isError":1}`, `{"resultType":"input_required","requestState":"s"}`, `{"content":null,"structuredContent":null}`,
		`{"name":"a","task":{"ttl":1}}`, `{"name":"a","inputResponses":{"k":{}},"requestState":"s"}`, `{"name":"a","x":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := rpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+string(b)+`}`), rpc.Limits{})
		req, ok := m.(*rpc.Request)
		if err != nil || !ok || req.Params == nil {
			t.Skip("params of a received request are a valid object")
		}
		params := req.Params
		same := cmp.Options{cmp.Comparer(sameJSON), cmp.AllowUnexported(rpc.ID{})}

		var fast, slow CallToolParams
		fastErr, slowErr := DecodeParams(req, &fast, nil), json.Unmarshal(params, &slow)
		slow.Meta.strip()
		if (fastErr == nil) != (slowErr == nil) {
			t.Fatalf("%s: fast %v, slow %v", b, fastErr, slowErr)
		}
		if diff := cmp.Diff(slow, fast, same); slowErr == nil && diff != "" {
			t.Errorf("%s: (-slow +fast)\n%s", b, diff)
		}

		var fastResult, slowResult CallToolResult
		fastErr, slowErr = DecodeResult(params, &fastResult), json.Unmarshal(params, &slowResult, received)
		if (fastErr == nil) != (slowErr == nil) {
			t.Fatalf("%s: fast %v, slow %v", b, fastErr, slowErr)
		}
		if diff := cmp.Diff(slowResult, fastResult, same); slowErr == nil && diff != "" {
			t.Errorf("%s: (-slow +fast)\n%s", b, diff)
		}

		var meta RequestMeta
		metaErr := meta.Read(req)
		var p struct {
			Meta RequestMeta `json:"_meta"`
		}
		slowErr = json.Unmarshal(params, &p)
		if (metaErr == nil) != (slowErr == nil) {
			t.Fatalf("%s: fast %v, slow %v", b, metaErr, slowErr)
		}
		if diff := cmp.Diff(p.Meta, meta, same); slowErr == nil && diff != "" {
			t.Errorf("%s: (-slow +fast)\n%s", b, diff)
		}
		var again CallToolParams
		if metaErr == nil && DecodeParams(req, &again, &meta) == nil {
			if diff := cmp.Diff(fast, again, same); diff != "" {
				t.Errorf("%s: (-without meta +with it)\n%s", b, diff)
			}
		}
	})
}

// sameJSON compares as JSON: spaces are kept by one side and not by the other.
func sameJSON(a, b jsontext.Value) bool {
	x, y := a.Clone(), b.Clone()
	return (len(a) == 0) == (len(b) == 0) && (len(a) == 0 || x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y))
}

func TestHotWriting(t *testing.T) {
	t.Parallel()
	state := "s"
	for _, r := range []*CallToolResult{
		{},
		{Content: Contents{Text("a\n\"é"), Text("")}},
		{Content: Contents{Text("bad \xff")}, IsError: true},
		{Content: Contents{&TextContent{Text: "a", Meta: Meta{"k": jsontext.Value("1")}}, &ImageContent{Data: []byte{1}, MIMEType: "image/png"}}},
		{Result: Result{ResultType: ResultComplete, Meta: Meta{"b": jsontext.Value(`{"x": 1}`), "a": jsontext.Value("null")}}, StructuredContent: jsontext.Value("{\n\"a\": [1]}")},
		{StructuredContent: jsontext.Value("null")},
		{Result: Result{Extra: jsontext.Value(`{"z":1}`)}, Content: Contents{Text("a")}},
		{Result: Result{ResultType: ResultInputRequired}, Questions: Questions{RequestState: &state}},
		{Questions: Questions{RequestState: &state}},
	} {
		got, err := r.AppendJSON([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(r, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(got[1:], want) {
			t.Errorf("%s, want %s", got[1:], want)
		}
	}
	for _, r := range []*CallToolResult{
		{Content: Contents{nil}},
		{StructuredContent: jsontext.Value("{")},
		{Result: Result{Meta: Meta{"a": jsontext.Value("")}}},
	} {
		if got, err := r.AppendJSON([]byte("x")); err == nil || string(got) != "x" {
			t.Errorf("%+v: %s, %v", r, got, err)
		}
	}
}

func TestHotParams(t *testing.T) {
	t.Parallel()
	state := "s"
	for _, p := range []*CallToolParams{
		{},
		{Name: "a\n\"é"},
		{Name: "a", Arguments: jsontext.Value("{\n\"a\": [1]}")},
		{Name: "a", Params: Params{Meta: Meta{"b": jsontext.Value(`{"x": 1}`), "a": jsontext.Value("null")}}},
		{Name: "a", Params: Params{Extra: jsontext.Value(`{"z":1}`)}},
		{Name: "a", Answers: Answers{RequestState: &state}},
		{Name: "a", Task: &TaskMetadata{}},
	} {
		got, err := p.AppendJSON([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(p, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(got[1:], want) {
			t.Errorf("%s, want %s", got[1:], want)
		}
	}
	for _, p := range []*CallToolParams{
		{Name: "\xff"},
		{Arguments: jsontext.Value("{")},
		{Arguments: jsontext.Value("")},
		{Params: Params{Meta: Meta{"a": jsontext.Value("}")}}},
	} {
		if got, err := p.AppendJSON([]byte("x")); err == nil || string(got) != "x" {
			t.Errorf("%+v: %s, %v", p, got, err)
		}
	}
}

func TestHotProgress(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -7, 0.1, 1e21, 1 << 53, 1e-9, 123456789.25, math.MaxFloat64} {
		p := &ProgressParams{ProgressToken: StringToken("a\"b"), Progress: f, Total: &f, Message: "half\n"}
		got, err := p.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		var back ProgressParams
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if back.Progress != f || *back.Total != f || back.Message != p.Message || back.ProgressToken != p.ProgressToken {
			t.Errorf("%s is not %+v", got, p)
		}
	}
	if got, err := (&ProgressParams{ProgressToken: IntToken(1), Progress: math.Inf(1)}).AppendJSON(nil); err == nil {
		t.Errorf("infinite progress: %s", got)
	}
}

const modernCall = `{"name":"echo","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}`

func BenchmarkReadCallToolParams(b *testing.B) {
	req := &rpc.Request{Params: jsontext.Value(modernCall)}
	b.ReportAllocs()
	for b.Loop() {
		var p CallToolParams
		if err := DecodeParams(req, &p, nil); err != nil {
			b.Fatal(err)
		}
		var m RequestMeta
		if err := m.Read(req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendCallToolResult(b *testing.B) {
	r := &CallToolResult{Result: Result{ResultType: ResultComplete, Meta: Meta{MetaServerInfo: jsontext.Value(`{"name":"s","version":"1"}`)}}, Content: Contents{Text("hello")}}
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = r.AppendJSON(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendProgress(b *testing.B) {
	total := 10.0
	p := &ProgressParams{ProgressToken: IntToken(1), Progress: 3, Total: &total}
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = p.AppendJSON(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
