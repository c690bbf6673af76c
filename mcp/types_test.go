package mcp_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
)

// roundTrip decodes text into v, encodes it, and compares both as JSON.
func roundTrip(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("decode into %T: %v", v, err)
	}
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	if diff := cmp.Diff(canonical(t, text), canonical(t, string(got))); diff != "" {
		t.Errorf("%T (-want +got):\n%s", v, diff)
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	v := jsontext.Value(text)
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		v    any
		text string
	}{
		{"params keep unknown members", new(mcp.CallToolParams), `{"name":"n","arguments":{"a":12345678901234567890},"x":[1],"_meta":{"q":null}}`},
		{"empty cursor", new(mcp.ListToolsParams), `{"cursor":""}`},
		{"empty next cursor", new(mcp.ListToolsResult), `{"tools":[],"nextCursor":""}`},
		{"structured null", new(mcp.CallToolResult), `{"content":[],"structuredContent":null}`},
		{"unknown block", new(mcp.CallToolResult), `{"content":[{"type":"video","data":7}]}`},
		{"type is last", new(mcp.CallToolResult), `{"content":[{"text":"x","type":"text","y":1}]}`},
		{"escaped type", new(mcp.CallToolResult), `{"content":[{"type":"te\u0078t","text":"x"}]}`},
		{"empty text and blob", new(mcp.ReadResourceResult), `{"contents":[{"uri":"a:b","text":""},{"uri":"a:c","blob":""}]}`},
		{"asks", new(mcp.CallToolResult), `{"resultType":"input_required","requestState":""}`},
		{"asks for roots", new(mcp.GetPromptResult), `{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}`},
		{"sampling single", new(mcp.CreateMessageResult), `{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`},
		{"sampling many", new(mcp.SamplingMessage), `{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]},{"type":"tool_use","id":"1","name":"n","input":{}}]}`},
		{"form capability", new(mcp.ClientCapabilities), `{"elicitation":{},"roots":{},"sampling":{"tools":{"later":1}},"other":{}}`},
		{"task forever", new(mcp.CreateTaskResult), `{"resultType":"task","taskId":"1","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}`},
		{"failed task", new(mcp.GetTaskResult), `{"resultType":"complete","taskId":"1","status":"failed","createdAt":"","lastUpdatedAt":"","ttlMs":1,"error":{"code":1,"message":"m"}}`},
		{"legacy task", new(mcp.LegacyGetTaskResult), `{"taskId":"1","status":"failed","createdAt":"","lastUpdatedAt":"","ttl":null}`},
		{"string token", new(mcp.ProgressParams), `{"progressToken":"1","progress":0.5}`},
		{"number token", new(mcp.ProgressParams), `{"progressToken":9007199254740993,"progress":1}`},
		{"cancel without ID", new(mcp.CancelledParams), `{"reason":"r"}`},
		{"prompt message", new(mcp.GetPromptResult), `{"messages":[{"role":"user","content":{"type":"image","data":"AAE=","mimeType":"image/png"},"z":0}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, tt.text, tt.v)
		})
	}
}

// What is not set is left out, and what is set to nothing is not.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	zero := int64(0)
	for _, tt := range []struct {
		v    any
		want string
	}{
		{&mcp.Resource{URI: "a:b", Name: "n", Size: &zero}, `{"uri":"a:b","name":"n","size":0}`},
		{&mcp.Resource{URI: "a:b", Name: "n"}, `{"uri":"a:b","name":"n"}`},
		{&mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "n"}, `{"uriTemplate":"a:{b}","name":"n"}`},
		{&mcp.Prompt{Name: "n"}, `{"name":"n"}`},
		{&mcp.Tool{Name: "n", InputSchema: jsontext.Value(`{}`)}, `{"name":"n","inputSchema":{}}`},
		{&mcp.Implementation{Name: "n", Version: "1"}, `{"name":"n","version":"1"}`},
		{&mcp.DiscoverResult{SupportedVersions: []mcp.Version{"a"}}, `{"supportedVersions":["a"],"capabilities":{}}`},
		{&mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{}, MaxTokens: 1}, `{"messages":[],"maxTokens":1}`},
		{&mcp.ResourceContents{URI: "a:b", Text: "x", Meta: mcp.Meta{}}, `{"uri":"a:b","text":"x","_meta":{}}`},
		{&mcp.ImageContent{Data: []byte{0}, MIMEType: "image/png"}, `{"type":"image","data":"AA==","mimeType":"image/png"}`},
	} {
		got, err := json.Marshal(tt.v)
		if err != nil || canonical(t, string(got)) != canonical(t, tt.want) {
			t.Errorf("%T: got %s, %v, want %s", tt.v, got, err, tt.want)
		}
	}
	for v, kind := range map[any]string{
		new(mcp.Root): "", new(mcp.Tool): "", new(mcp.Prompt): "", new(mcp.Resource): "", new(mcp.ResourceTemplate): "", new(mcp.ResourceContents): "",
		new(mcp.ResourceLink): "resource_link", new(mcp.ToolUseContent): "tool_use", new(mcp.ToolResultContent): "tool_result",
	} {
		m := `"_meta":{"a.b/c":{"d":[1]}}`
		if err := json.Unmarshal([]byte(`{"type":"`+kind+`",`+m+`}`), v); err != nil {
			t.Errorf("%T: %v", v, err)
		}
		if got, err := json.Marshal(v); err != nil || !strings.Contains(string(got), m) {
			t.Errorf("%T: %s, %v", v, got, err)
		}
	}
}
