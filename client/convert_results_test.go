package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	picture := &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}
	text := func(s string) *mcp.CallToolResult { return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(s)}} }
	failed := text("no")
	failed.IsError = true
	structured := text(`{ "a": 1 }`)
	structured.StructuredContent = jsontext.Value(`{"a":1}`)
	differs := text("one")
	differs.StructuredContent = jsontext.Value(`{"a":1}`)
	file := func(r mcp.ResourceContents) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: mcp.Contents{&mcp.EmbeddedResource{Resource: r}}}
	}
	one := func(wrap string) func(string) string { return func(s string) string { return fmt.Sprintf(wrap, s) } }
	wraps := map[client.ModelFormat]func(string) string{
		client.OpenAIResponses: one(`{"call_id":"1","output":%s,"type":"function_call_output"}`),
		client.OpenAIChat:      one(`{"content":%s,"role":"tool","tool_call_id":"1"}`),
		client.Anthropic:       one(`{"content":[{"content":%s,"tool_use_id":"1","type":"tool_result"}],"role":"user"}`),
		client.Gemini:          one(`{"parts":[{"functionResponse":{"id":"1","name":"t",%s}}],"role":"user"}`),
	}
	tests := []struct {
		name                             string
		res                              *mcp.CallToolResult
		responses, chat, anthropic, gemi string // "" = not looked at
	}{
		{"text", text("hi"), `"hi"`, `"hi"`, `[{"text":"hi","type":"text"}]`, `"response":{"output":"hi"}`},
		{"nothing", &mcp.CallToolResult{}, `""`, `""`, `[]`, `"response":{"output":""}`},
		{"structured", structured, `"{ \"a\": 1 }"`, `"{ \"a\": 1 }"`, `[{"text":"{ \"a\": 1 }","type":"text"}]`, `"response":{"output":{"a":1}}`},
		{
			"structured and text", differs, `[{"text":"one","type":"input_text"},{"text":"{\"a\":1}","type":"input_text"}]`,
			`[{"text":"one","type":"text"},{"text":"{\"a\":1}","type":"text"}]`, `[{"text":"one","type":"text"},{"text":"{\"a\":1}","type":"text"}]`,
			`"response":{"output":["one",{"a":1}]}`,
		},
		{"error", failed, `"Error: no"`, `"Error: no"`, "", `"response":{"error":"no"}`},
		{
			"picture", &mcp.CallToolResult{Content: mcp.Contents{picture}}, `[{"image_url":"data:image/png;base64,cG5n","type":"input_image"}]`, "",
			`[{"source":{"data":"cG5n","media_type":"image/png","type":"base64"},"type":"image"}]`,
			`"parts":[{"inlineData":{"data":"cG5n","mimeType":"image/png"}}],"response":{"output":""}`,
		},
		{
			"pdf", file(mcp.ResourceContents{URI: "file:///a/b.pdf", MIMEType: "application/pdf", Blob: []byte("pdf")}),
			`[{"file_data":"data:application/pdf;base64,cGRm","filename":"b.pdf","type":"input_file"}]`, "",
			`[{"source":{"data":"cGRm","media_type":"application/pdf","type":"base64"},"title":"file:///a/b.pdf","type":"document"}]`,
			`"parts":[{"inlineData":{"data":"cGRm","mimeType":"application/pdf"}}],"response":{"output":""}`,
		},
		{
			"text of a resource", file(mcp.ResourceContents{URI: "a:b", Text: "x"}), `"x"`, `"x"`,
			`[{"source":{"data":"x","media_type":"text/plain","type":"text"},"title":"a:b","type":"document"}]`, `"response":{"output":"x"}`,
		},
		{
			"link", &mcp.CallToolResult{Content: mcp.Contents{&mcp.ResourceLink{URI: "a:b", Name: "n"}}}, `"{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\"}"`,
			"", "", `"response":{"output":{"name":"n","type":"resource_link","uri":"a:b"}}`,
		},
	}
	for _, tt := range tests {
		want := map[client.ModelFormat]string{client.OpenAIResponses: tt.responses, client.OpenAIChat: tt.chat, client.Anthropic: tt.anthropic, client.Gemini: tt.gemi}
		for f, w := range want {
			m, call := oneCall(t, f)
			got, err := m.Messages(client.Outcome{Call: call, Result: tt.res})
			if w == "" {
				continue
			}
			if err != nil || len(got) != 1 || !sameJSON(t, string(got[0]), wraps[f](w)) {
				t.Errorf("%s: %s: %s, %v; want %s", tt.name, f, got, err, wraps[f](w))
			}
		}
	}
	m, call := oneCall(t, client.Anthropic)
	if got, _ := m.Messages(client.Outcome{Call: call, Result: failed}); !strings.Contains(string(got[0]), `"is_error":true`) {
		t.Errorf("error of Anthropic: %s", got)
	}
}

// oneCall is a call of the tool t.
func oneCall(t *testing.T, f client.ModelFormat) (*client.ModelTools, client.ModelCall) {
	t.Helper()
	m, err := client.ConvertTools(f, tools([]string{"t"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := m.Calls(callOf(f, "t", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	return m, calls[0]
}

// TestSeveralOutcomes has the answers of one round together, and pictures of
// Chat Completions after all of them.
func TestSeveralOutcomes(t *testing.T) {
	t.Parallel()
	res := &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("look"), &mcp.ImageContent{Data: []byte("p"), MIMEType: "image/jpeg"}}}
	for f, want := range map[client.ModelFormat]int{client.OpenAIResponses: 2, client.OpenAIChat: 3, client.Anthropic: 1, client.Gemini: 1} {
		m, call := oneCall(t, f)
		got, err := m.Messages(client.Outcome{Call: call, Result: res}, client.Outcome{Call: call, Result: res})
		if err != nil || len(got) != want {
			t.Errorf("%s: %s, %v", f, got, err)
		}
		if last := string(got[len(got)-1]); f == client.OpenAIChat && (!strings.Contains(last, `"role":"user"`) || strings.Count(last, "image_url\":{") != 2) {
			t.Errorf("pictures: %s", last)
		}
		if got, err := m.Messages(); err != nil || len(got) != 0 {
			t.Errorf("%s: nothing: %s, %v", f, got, err)
		}
		if _, err := m.Messages(client.Outcome{Call: call}); err == nil {
			t.Errorf("%s: a call without a result", f)
		}
	}
}

func TestWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		m, call := oneCall(t, f)
		got, err := m.Messages(client.Outcome{Call: call, Result: &mcp.CallToolResult{Content: mcp.Contents{
			mcp.Text("before"),
			&mcp.AudioContent{Data: []byte("w"), MIMEType: "audio/wav"},
			&mcp.ImageContent{Data: []byte("<svg/>"), MIMEType: "image/svg+xml"},
			&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a:b", Blob: []byte{0}}},
		}}})
		e, ok := errors.AsType[*client.ConvertError](err)
		if !ok || e.Tool != "t" || e.Place != "content/1" || !strings.Contains(err.Error(), "image/svg+xml cannot be shown") || !strings.Contains(err.Error(), "content/3") {
			t.Errorf("%s: %v", f, err)
		}
		if len(got) != 1 || !strings.Contains(string(got[0]), "before") || !strings.Contains(string(got[0]), "[sound (audio/wav)") {
			t.Errorf("%s: %s", f, got)
		}
	}
}

func ExampleConvertTools() {
	tools := []mcp.Tool{{
		Name:        "files/search",
		Description: "Search files",
		InputSchema: jsontext.Value(`{"type":"object","properties":{"for":{"type":"string","minLength":2},"limit":{"type":"integer"}},"required":["for"]}`),
	}}
	m, err := client.ConvertTools(client.OpenAIResponses, tools, &client.ConvertOptions{Strict: true})
	if err != nil {
		fmt.Println(err)
	}
	name, _ := m.Name("files/search")
	fmt.Println(name)

	calls, err := m.Calls(fmt.Appendf(nil,
		`[{"type":"function_call","call_id":"c1","name":%q,"arguments":"{\"for\":\"oak\",\"limit\":null}"}]`, name))
	if err != nil {
		fmt.Println(err)
		return
	}
	call := calls[0]
	fmt.Println(call.Params.Name, call.Params.Arguments)

	res := &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("oak.txt")}} // as CallTool returns it
	messages, err := m.Messages(client.Outcome{Call: call, Result: res})
	fmt.Println(string(messages[0]), err)
	// Output:
	// files_search_068d68d0
	// files/search {"for":"oak"}
	// {"call_id":"c1","output":"oak.txt","type":"function_call_output"} <nil>
}
