package interop_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

const clientV2 = "js/client-v2.mjs"

// TestNPMClients has the clients of npm use tenon's server.
func TestNPMClients(t *testing.T) {
	t.Parallel()
	needNode(t)
	tests := []struct {
		name    string
		args    []string // before the target
		sse     bool     // HTTP+SSE instead of Streamable HTTP
		version mcp.Version
	}{
		{name: "client modern", args: []string{clientV2, string(mcp.V20260728)}, version: mcp.V20260728},
		{name: "client auto", args: []string{clientV2, "auto"}, version: mcp.V20260728},
		{name: "client legacy", args: []string{clientV2, "legacy"}, version: mcp.V20251125},
		{name: "sdk", args: []string{"js/client-v1.mjs"}, version: mcp.V20251125},
		{name: "sdk http+sse", args: []string{"js/client-v1.mjs"}, sse: true, version: mcp.V20251125},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			target := serveFixture(t)
			if test.sse {
				target = "sse+" + target
			}
			npmConverse(t, append(slices.Clone(test.args), target), test.version)
		})
		if test.sse {
			continue
		}
		t.Run(test.name+" stdio", func(t *testing.T) {
			t.Parallel()
			program, _ := fixtureCommand(t)
			npmConverse(t, append(slices.Clone(test.args), program), test.version)
		})
	}
}

func npmConverse(t *testing.T, args []string, version mcp.Version) {
	t.Helper()
	var got seen
	runNode(t, &got, args...)
	want := wantSeen(version)
	if args[0] == clientV2 {
		want.Missing = rpc.CodeInvalidParams // it shows the code of old revisions as the new one
	}
	if got.Version == "" { // this transport does not tell
		want.Version = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the client saw (-want +got):\n%s", diff)
	}
}

// TestInspector has the command line of the Inspector use tenon's server.
func TestInspector(t *testing.T) {
	t.Parallel()
	needNode(t)
	url := serveFixture(t)
	for _, era := range []string{"legacy", "modern"} {
		inspect := func(t *testing.T, result any, args ...string) {
			t.Helper()
			program := npm("inspector", "clients", "launcher", "build", "index.js")
			base := []string{program, "--cli", url, "--transport", "http", "--protocol-era", era, "--format", "json", "--quiet"}
			var out json.RawMessage
			runNode(t, &out, append(base, args...)...)
			var wrapped struct {
				Result json.RawMessage `json:"result"`
			}
			if json.Unmarshal(out, &wrapped) == nil && wrapped.Result != nil {
				out = wrapped.Result
			}
			if err := json.Unmarshal(out, result); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			inspectAll(t, inspect)
		})
	}
}

func inspectAll(t *testing.T, inspect func(t *testing.T, result any, args ...string)) {
	t.Helper()
	var list struct {
		Tools []struct{ Name string } `json:"tools"`
	}
	inspect(t, &list, "--method", "tools/list")
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(wantSeen(mcp.V20251125).Tools, names); diff != "" {
		t.Errorf("tools/list (-want +got):\n%s", diff)
	}
	var call struct {
		Content           []struct{ Text string } `json:"content"`
		StructuredContent struct{ Sum int }       `json:"structuredContent"`
		Contents          []struct{ Text string } `json:"contents"`
		Messages          []struct {
			Content struct{ Text string } `json:"content"`
		} `json:"messages"`
	}
	inspect(t, &call, "--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=40")
	if call.StructuredContent.Sum != 42 {
		t.Errorf("tools/call: %+v", call)
	}
	inspect(t, &call, "--method", "resources/read", "--uri", "test://greeting")
	if len(call.Contents) != 1 || call.Contents[0].Text != "hello" {
		t.Errorf("resources/read: %+v", call)
	}
	inspect(t, &call, "--method", "prompts/get", "--prompt-name", "greet", "--prompt-args", "name=Ada")
	if len(call.Messages) != 1 || call.Messages[0].Content.Text != "Greet Ada" {
		t.Errorf("prompts/get: %+v", call)
	}
}
