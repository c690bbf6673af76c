package mcp_test

import (
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
