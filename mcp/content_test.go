package mcp_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

func TestContentErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{`{"content":[{"type":"image","data":"AA","mimeType":"x"}]}`, "image content: /data: is not valid base64"},
		{`{"content":[{"type":"image","data":"AA==\n","mimeType":"x"}]}`, "/data: is not valid base64"},
		{`{"content":[{"type":"image","data":"_-A=","mimeType":"x"}]}`, "/data: is not valid base64"},
		{`{"content":[{"type":"image","data":7}]}`, "/data: must be"},
		{`{"content":[{"type":"text","text":null,"annotations":{"audience":"user"}}]}`, "/annotations/audience: must be an array, not a string"},
		{`{"content":[null]}`, "content must be an object, not null"},
		{`{"content":["x"]}`, "content must be an object, not a string"},
		{`{"content":7}`, "content must be an object, not a number"},
		{`{"content":[{"text":"x"}]}`, `content has no "type"`},
		{`{"content":[{"type":7}]}`, "must be a string, not a number"},
		{`{"content":[{"type":"text","text":"a","text":"b"}]}`, "duplicate"},
		{`{"content":[{"type":"text","text":"a","type":"image"}]}`, "duplicate"},
	}
	for _, tt := range tests {
		err := mcp.DecodeParams(&rpc.Request{Params: jsontext.Value(tt.text)}, new(mcp.CallToolResult), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.text, err, tt.want)
		}
	}
}

func TestContentLenient(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want int
	}{
		{`{}`, 0},
		{`{"content":null}`, 0},
		{`{"content":[]}`, 0},
		{`{"content":{"type":"text","text":"x"}}`, 1},
		{`{"content":[ { "type" : "text" , "text" : "x" } ]}`, 1},
	}
	for _, tt := range tests {
		var r mcp.CallToolResult
		if err := json.Unmarshal([]byte(tt.text), &r); err != nil || len(r.Content) != tt.want {
			t.Errorf("%s: got %v, %v", tt.text, r.Content, err)
		}
	}
}

// TestEmptyLists says that required lists are never null.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	tests := []struct {
		v    any
		want string
	}{
		{&mcp.ListToolsResult{}, `{"tools":[]}`},
		{&mcp.ListResourcesResult{}, `{"resources":[]}`},
		{&mcp.ListResourceTemplatesResult{}, `{"resourceTemplates":[]}`},
		{&mcp.ListPromptsResult{}, `{"prompts":[]}`},
		{&mcp.CallToolResult{}, `{"content":[]}`},
		{mcp.CallToolResult{}, `{"content":[]}`},
		{&mcp.GetPromptResult{}, `{"messages":[]}`},
		{&mcp.ReadResourceResult{}, `{"contents":[]}`},
		{&mcp.CompleteResult{}, `{"completion":{"values":[]}}`},
		{&mcp.ListRootsResult{}, `{"roots":[]}`},
		{&mcp.ListTasksResult{}, `{"tasks":[]}`},
		{&mcp.CreateMessageResult{}, `{"role":"","content":[],"model":""}`},
		{&mcp.Result{}, `{}`},
		{mcp.Tool{Name: "n"}, `{"name":"n","inputSchema":{"type":"object"}}`},
		{mcp.ResourceContents{URI: "a:b"}, `{"uri":"a:b","text":""}`},
		{&mcp.ToolUseContent{ID: "1", Name: "n"}, `{"type":"tool_use","id":"1","name":"n","input":{}}`},
	}
	for _, tt := range tests {
		b, err := json.Marshal(tt.v)
		if err != nil || string(b) != tt.want {
			t.Errorf("%T: got %s, %v", tt.v, b, err)
		}
	}
}

func TestNilContent(t *testing.T) {
	t.Parallel()
	for _, v := range []any{&mcp.CallToolResult{Content: mcp.Contents{nil}}, &mcp.PromptMessage{Role: mcp.RoleUser}, &mcp.SamplingMessage{Content: mcp.OneOrMany{nil}}} {
		if b, err := json.Marshal(v); err == nil {
			t.Errorf("%T: got %s", v, b)
		}
	}
}

// TestBlockAlone decodes a block into its own type.
func TestBlockAlone(t *testing.T) {
	t.Parallel()
	var c mcp.TextContent
	if err := json.Unmarshal([]byte(`{"type":"text","text":"x"}`), &c); err != nil || c.Text != "x" || c.Extra != nil {
		t.Errorf("got %+v, %v", c, err)
	}
	if err := json.Unmarshal([]byte(`{"type":"image","text":"x"}`), &c); err == nil {
		t.Error("an image is text")
	}
}

func TestBigData(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte{0, 255, 'x'}, 1<<20)
	b, err := json.Marshal(&mcp.CallToolResult{Content: mcp.Contents{&mcp.ImageContent{Data: data, MIMEType: "image/png"}}})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(base64.StdEncoding.EncodeToString(data))) {
		t.Error("data is not standard base64")
	}
	var got mcp.CallToolResult
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Content[0].(*mcp.ImageContent).Data, data) {
		t.Error("data changed")
	}
}

// TestDeepContent says that nesting costs its length, not its square: tool
// results inside tool results stay text.
func TestDeepContent(t *testing.T) {
	t.Parallel()
	const depth = 4000
	text := `{"role":"user","content":` + strings.Repeat(`{"type":"tool_result","toolUseId":"1","content":[`, depth) +
		strings.Repeat(`]}`, depth) + `}`
	var m mcp.SamplingMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	inner := m.Content[0].(*mcp.ToolResultContent).Content
	if len(inner) != 1 {
		t.Fatalf("got %d blocks", len(inner))
	}
	if u, ok := inner[0].(*mcp.UnknownContent); !ok || u.Type != "tool_result" {
		t.Errorf("got %T", inner[0])
	}
}

func TestNumbersAreKept(t *testing.T) {
	t.Parallel()
	const numbers = `{"id":9007199254740993,"neg":-9223372036854775808,"u":18446744073709551615,"big":123456789012345678901234567890,"dec":0.1000000000000000055511151231257827,"one":1.0}`
	var p mcp.CallToolParams
	if err := json.Unmarshal([]byte(`{"name":"n","arguments":`+numbers+`}`), &p); err != nil || string(p.Arguments) != numbers {
		t.Errorf("got %s, %v", p.Arguments, err)
	}
	r := mcp.CallToolResult{StructuredContent: jsontext.Value(numbers)}
	b, err := json.Marshal(&r)
	if err != nil || !strings.Contains(string(b), numbers) {
		t.Errorf("got %s, %v", b, err)
	}
	var size mcp.Resource
	if err := json.Unmarshal([]byte(`{"uri":"a:b","name":"n","size":9223372036854775807}`), &size); err != nil || *size.Size != 9223372036854775807 {
		t.Errorf("got %v, %v", size.Size, err)
	}
	if err := json.Unmarshal([]byte(`{"uri":"a:b","name":"n","size":9223372036854775808}`), &size); err == nil {
		t.Error("a size over 64 bits was taken")
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	fields := allFields()
	schema := mcp.FormSchema(fields...)
	got, err := mcp.ParseForm(schema)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := mcp.FormSchema(got...); string(again) != string(schema) {
		t.Errorf("want %s\ngot  %s", schema, again)
	}
	if string(mcp.FormSchema()) != `{"type":"object","properties":{}}` {
		t.Errorf("got %s", mcp.FormSchema())
	}
}

func TestFormErrors(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `7`, `{}`, `{"type":"object"}`, `{"type":"object","properties":[]}`, `{"type":"array","properties":{}}`,
		`{"type":"object","properties":{"a":7}}`, `{"type":"object","properties":{"a":{"type":["string"]}}}`,
	} {
		if got, err := mcp.ParseForm(jsontext.Value(bad)); err == nil {
			t.Errorf("%s: got %v", bad, got)
		}
	}
	bad := mcp.FormSchema(mcp.Field{Name: "a\xff", Schema: mcp.PrimitiveSchema{Type: "string", Default: jsontext.Value(`{`)}})
	if !bad.IsValid() {
		t.Errorf("got %s", bad)
	}
}

func TestChoices(t *testing.T) {
	t.Parallel()
	want := []mcp.EnumOption{{Const: "a", Title: "A"}, {Const: "b", Title: "B"}}
	for _, s := range []mcp.PrimitiveSchema{
		{OneOf: want},
		{Items: &mcp.EnumItems{AnyOf: want}},
		{Enum: []string{"a", "b"}, EnumNames: []string{"A", "B"}},
	} {
		if diff := cmp.Diff(want, s.Choices()); diff != "" {
			t.Error(diff)
		}
	}
	plain := mcp.PrimitiveSchema{Enum: []string{"a", "b"}, EnumNames: []string{"A"}}
	if got := plain.Choices(); got[1].Title != "b" {
		t.Errorf("got %v", got)
	}
	if (&mcp.PrimitiveSchema{Type: "string"}).Choices() != nil {
		t.Error("free text has choices")
	}
}

func TestToolHints(t *testing.T) {
	t.Parallel()
	var none *mcp.ToolAnnotations
	if none.ReadOnly() || !none.Destructive() || none.Idempotent() || !none.OpenWorld() {
		t.Error("the defaults are wrong")
	}
	yes, no := true, false
	a := &mcp.ToolAnnotations{Title: "A", ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no}
	if !a.ReadOnly() || a.Destructive() || !a.Idempotent() || a.OpenWorld() {
		t.Error("the hints are not read")
	}
	for _, tt := range []struct {
		tool mcp.Tool
		want string
	}{
		{mcp.Tool{Name: "n", Title: "T", Annotations: a}, "T"},
		{mcp.Tool{Name: "n", Annotations: a}, "A"},
		{mcp.Tool{Name: "n"}, "n"},
	} {
		if got := tt.tool.DisplayName(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// FuzzCallToolResult decodes results of strangers: no panic, and what was
// decoded can be said again, the same.
func FuzzCallToolResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"x"},{"text":"y","type":"text"}],"isError":true}`,
		`{"content":{"type":"image","data":"AA==","mimeType":"a/b","_meta":{"a":1}}}`,
		`{"content":[{"type":"resource","resource":{"uri":"a:b","blob":""}},{"type":"x","y":[1e400]}],"structuredContent":null}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"m"}},"requestState":""}`,
		`{"content":[{"type":"te\u0078t"}],"a":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r mcp.CallToolResult
		if json.Unmarshal(b, &r) != nil {
			return
		}
		once, err := json.Marshal(&r, json.Deterministic(true))
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		var again mcp.CallToolResult
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		twice, err := json.Marshal(&again, json.Deterministic(true))
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%s\n%s\n%v", once, twice, err)
		}
		for _, rev := range mcp.Revisions() {
			if _, err := json.Marshal(mcp.Downgrade(rev.Version, &r)); err != nil {
				t.Fatalf("%s: %v", rev.Version, err)
			}
		}
	})
}

func BenchmarkCallToolResult(b *testing.B) {
	text := []byte(`{"resultType":"complete","content":[{"type":"text","text":"hello, world"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var r mcp.CallToolResult
			if err := json.Unmarshal(text, &r); err != nil {
				b.Fatal(err)
			}
		}
	})
	r := &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("hello, world")}}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("downgrade", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mcp.Downgrade(mcp.V20250618, r)
		}
	})
}
