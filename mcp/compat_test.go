package mcp_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestDowngradeNil(t *testing.T) {
	t.Parallel()
	for _, r := range mcp.Revisions() {
		if got := mcp.Downgrade(r.Version, (*mcp.CallToolParams)(nil)); got != (*mcp.CallToolParams)(nil) {
			t.Errorf("%s: %v", r.Version, got)
		}
		if got := mcp.Downgrade(r.Version, nil); got != nil {
			t.Errorf("%s: %v", r.Version, got)
		}
	}
}

func TestDowngrade(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		v    mcp.Version
		of   any
		in   string
		want string
	}{
		{
			"audio becomes text", mcp.V20241105, new(mcp.CallToolResult),
			`{"content":[{"type":"audio","data":"AAA=","mimeType":"audio/wav"}]}`,
			`{"content":[{"type":"text","text":"[audio: audio/wav, 2 bytes]"}]}`,
		},
		{
			"links become text", mcp.V20250326, new(mcp.CallToolResult),
			`{"content":[{"type":"resource_link","uri":"a:b","name":"n","title":"t","description":"d"}]}`,
			`{"content":[{"type":"text","text":"a:b (t): d"}]}`,
		},
		{
			"structured content becomes text", mcp.V20250326, new(mcp.CallToolResult),
			`{"resultType":"complete","content":[],"structuredContent":{"a":1}}`,
			`{"content":[{"type":"text","text":"{\"a\":1}"}]}`,
		},
		{
			"text stands for structured content", mcp.V20250326, new(mcp.CallToolResult),
			`{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}`,
			`{"content":[{"type":"text","text":"one"}]}`,
		},
		{
			"structured null", mcp.V20251125, new(mcp.CallToolResult),
			`{"content":[],"structuredContent":null}`,
			`{"content":[{"type":"text","text":"null"}]}`,
		},
		{
			"structured object stays", mcp.V20250618, new(mcp.CallToolResult),
			`{"content":[],"structuredContent":{}}`, `{"content":[],"structuredContent":{}}`,
		},
		{
			"newest is as it is", mcp.V20260728, new(mcp.CallToolResult),
			`{"resultType":"complete","content":[],"structuredContent":[1]}`, `{"resultType":"complete","content":[],"structuredContent":[1]}`,
		},
		{
			"own _meta stays", mcp.V20241105, new(mcp.Result),
			`{"resultType":"complete","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{}}}`, `{"_meta":{"a":1}}`,
		},
		{
			"_meta that is empty goes", mcp.V20251125, new(mcp.Result),
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, `{}`,
		},
		{
			"title moves to annotations", mcp.V20250326, new(mcp.ListToolsResult),
			`{"ttlMs":1,"cacheScope":"public","tools":[{"name":"n","title":"t","inputSchema":{},"annotations":{"readOnlyHint":true}}]}`,
			`{"tools":[{"name":"n","inputSchema":{},"annotations":{"title":"t","readOnlyHint":true}}]}`,
		},
		{
			"array output schema goes", mcp.V20251125, new(mcp.ListToolsResult),
			`{"tools":[{"name":"n","inputSchema":{},"outputSchema":{"type":"array"}},{"name":"m","inputSchema":{},"outputSchema":{"type":"object"}}]}`,
			`{"tools":[{"name":"n","inputSchema":{}},{"name":"m","inputSchema":{},"outputSchema":{"type":"object"}}]}`,
		},
		{
			"unknown members stay", mcp.V20241105, new(mcp.ListToolsResult),
			`{"tools":[{"name":"n","inputSchema":{},"later":1}],"more":2}`, `{"tools":[{"name":"n","inputSchema":{},"later":1}],"more":2}`,
		},
		{
			"execution is of one revision", mcp.V20260728, new(mcp.ListToolsResult),
			`{"tools":[{"name":"n","inputSchema":{},"execution":{"taskSupport":"optional"}}]}`, `{"tools":[{"name":"n","inputSchema":{}}]}`,
		},
		{
			"URL alone is no elicitation", mcp.V20250618, new(mcp.InitializeParams),
			`{"protocolVersion":"x","capabilities":{"elicitation":{"url":{}},"sampling":{"tools":{}}},"clientInfo":{"name":"c","version":"1"}}`,
			`{"protocolVersion":"x","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}`,
		},
		{
			"both modes are a form", mcp.V20250618, new(mcp.InitializeParams),
			`{"protocolVersion":"x","capabilities":{"elicitation":{"url":{},"form":{}}},"clientInfo":{"name":"c","version":"1"}}`,
			`{"protocolVersion":"x","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`,
		},
		{
			"the tasks extension is modern", mcp.V20251125, new(mcp.InitializeResult),
			`{"protocolVersion":"x","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{},"a.b/c":{}}},"serverInfo":{"name":"c","version":"1"}}`,
			`{"protocolVersion":"x","capabilities":{"extensions":{"a.b/c":{}}},"serverInfo":{"name":"c","version":"1"}}`,
		},
		{
			"several blocks become messages", mcp.V20250618, new(mcp.CreateMessageParams),
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"n","input":{"a":1}}]}],"maxTokens":1,"tools":[],"toolChoice":{}}`,
			`{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"[call of tool n: {\"a\":1}]"}}],"maxTokens":1}`,
		},
		{
			"several texts become one", mcp.V20250618, new(mcp.CreateMessageResult),
			`{"role":"assistant","model":"m","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			`{"role":"assistant","model":"m","content":{"type":"text","text":"a\nb"}}`,
		},
		{
			"the first of several blocks", mcp.V20250618, new(mcp.CreateMessageResult),
			`{"role":"assistant","model":"m","content":[{"type":"image","data":"","mimeType":"i"},{"type":"text","text":"b"}]}`,
			`{"role":"assistant","model":"m","content":{"type":"image","data":"","mimeType":"i"}}`,
		},
		{
			"forms in old words", mcp.V20250618, new(mcp.ElicitParams),
			`{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}],"default":"x"},"b":{"type":"array","items":{"type":"string","enum":["x"]}},"c":{"type":"boolean","default":true}},"required":["a","b"]}}`,
			`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"],"enumNames":["X"]},"c":{"type":"boolean","default":true}},"required":["a"]}}`,
		},
		{
			"an odd form is left alone", mcp.V20250618, new(mcp.ElicitParams),
			`{"message":"m","requestedSchema":{"type":"string"}}`, `{"message":"m","requestedSchema":{"type":"string"}}`,
		},
		{
			"no elicitation IDs in modern", mcp.V20260728, new(mcp.ElicitParams),
			`{"mode":"url","message":"m","url":"https://a","elicitationId":"1","_meta":{"a":1}}`, `{"mode":"url","message":"m","url":"https://a"}`,
		},
		{
			"an answer is no result in modern", mcp.V20260728, new(mcp.ElicitResult),
			`{"resultType":"complete","_meta":{"a":1},"action":"cancel"}`, `{"action":"cancel"}`,
		},
		{
			"no answers in legacy", mcp.V20251125, new(mcp.CallToolParams),
			`{"name":"n","inputResponses":{},"requestState":"x","task":{"ttl":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"x","progressToken":1}}`,
			`{"name":"n","task":{"ttl":1},"_meta":{"progressToken":1}}`,
		},
		{
			"no questions in legacy", mcp.V20251125, new(mcp.ReadResourceResult),
			`{"requestState":"x","contents":[]}`, `{"contents":[]}`,
		},
		{
			"no roots.listChanged in modern", mcp.V20260728, new(mcp.InitializeParams),
			`{"protocolVersion":"x","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}`,
			`{"protocolVersion":"x","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`,
		},
		{
			"progress has no message", mcp.V20241105, new(mcp.ProgressParams),
			`{"progressToken":1,"progress":1,"message":"m"}`, `{"progressToken":1,"progress":1}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := json.Unmarshal([]byte(tt.in), tt.of); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(mcp.Downgrade(tt.v, tt.of))
			if err != nil {
				t.Fatal(err)
			}
			if want := canonical(t, tt.want); canonical(t, string(got)) != want {
				t.Errorf("want %s\ngot  %s", want, canonical(t, string(got)))
			}
			again, err := json.Marshal(tt.of)
			if err != nil || canonical(t, string(again)) != canonical(t, tt.in) {
				t.Errorf("the argument changed: %s, %v", again, err)
			}
		})
	}
}

// TestDowngradeKeepsBlocks says that what needs no change is not copied.
func TestDowngradeKeepsBlocks(t *testing.T) {
	t.Parallel()
	text := mcp.Text("x")
	r := &mcp.CallToolResult{Content: mcp.Contents{text}}
	got := mcp.Downgrade(mcp.V20241105, r).(*mcp.CallToolResult)
	if got != r {
		t.Error("a text was copied")
	}
	r.ResultType = mcp.ResultComplete
	got = mcp.Downgrade(mcp.V20241105, r).(*mcp.CallToolResult)
	if got == r || &got.Content[0] != &r.Content[0] {
		t.Error("want a new result with the same list")
	}
	if v := jsontext.Value(`1`); string(mcp.Downgrade(mcp.V20241105, v).(jsontext.Value)) != "1" {
		t.Error("another type changed")
	}
}
