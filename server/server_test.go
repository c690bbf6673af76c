package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

type echoIn struct {
	Message string `json:"message" jsonschema:"what to say"`
	Times   int    `json:"times,omitzero"`
}

func echo(_ context.Context, in echoIn) (string, error) {
	return strings.Repeat(in.Message, max(in.Times, 1)), nil
}

func withEcho(opts *server.Options) *server.Server {
	s := newServer(opts)
	server.AddTool(s, mcp.Tool{Name: "echo"}, echo)
	return s
}

func TestThinPath(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		w := dial(t, withEcho(nil))
		open(w)
		list := decode[mcp.ListToolsResult](t, w.must("tools/list", params("")))
		if len(list.Tools) != 1 || list.Tools[0].Name != "echo" {
			t.Fatalf("tools: %+v", list.Tools)
		}
		got := w.must("tools/call", params(`"name":"echo","arguments":{"message":"hi","times":2}`))
		if text(t, got) != "hihi" {
			t.Fatalf("result: %s", got)
		}
	})
}

func TestInitialize(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[mcp.Version]mcp.Version{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "{{x}}": "2025-11-25",
	} {
		t.Run(string(wanted), func(t *testing.T) {
			t.Parallel()
			w := dial(t, withEcho(&server.Options{Instructions: "be nice"}))
			res := decode[mcp.InitializeResult](t, w.initialize(wanted, "{}"))
			if res.ProtocolVersion != want || res.ServerInfo.Name != "test" || res.Instructions != "be nice" {
				t.Errorf("got %+v", res)
			}
			if res.Capabilities.Tools == nil || !res.Capabilities.Tools.ListChanged || res.Capabilities.Prompts != nil {
				t.Errorf("capabilities: %v", res.Capabilities.Names())
			}
			w.wants(rpc.CodeInvalidRequest, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		})
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	w := dial(t, withEcho(&server.Options{Instructions: "be nice"}))
	raw := w.must("server/discover", modern(""))
	res := decode[mcp.DiscoverResult](t, raw)
	if len(res.SupportedVersions) != 5 || res.SupportedVersions[0] != mcp.V20260728 || res.Instructions != "be nice" {
		t.Errorf("got %s", raw)
	}
	if res.ResultType != mcp.ResultComplete || res.TTLMs == nil || *res.TTLMs != 0 || res.Scope != mcp.CachePrivate {
		t.Errorf("no hints in %s", raw)
	}
	if i := res.Meta.ServerInfo(); i == nil || i.Name != "test" {
		t.Errorf("no server info in %s", raw)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := dial(t, withEcho(nil))
	e := w.wants(rpc.CodeInvalidRequest, "tools/list", "")
	if !strings.Contains(e.Message, "initialize") {
		t.Errorf("message does not say what to do: %s", e.Message)
	}
	if got := w.must("ping", ""); got != "{}" {
		t.Errorf("ping: %s", got)
	}
	for _, removed := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"} {
		w.wants(rpc.CodeMethodNotFound, removed, modern(`"protocolVersion":"2025-11-25","level":"info","uri":"a:b"`))
	}
	w.wants(rpc.CodeMethodNotFound, "no/such", modern(""))
	w.wants(rpc.CodeMethodNotFound, "prompts/list", modern("")) // nothing of the kind is offered
	w.wants(rpc.CodeInvalidParams, "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`)
	w.wants(rpc.CodeInvalidParams, "tools/list", `{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}`)
	w.wants(rpc.CodeInvalidParams, "tools/list", "{"+meta("{}", `,"io.modelcontextprotocol/logLevel":"loud"`)+"}")
	e = w.wants(mcp.CodeUnsupportedVersion, "no/such", strings.Replace(modern(""), "2026-07-28", "1900-01-01", 1))
	data, err := mcp.ErrorData[mcp.VersionData](e)
	if err != nil || data.Requested != "1900-01-01" || len(data.Supported) != 5 {
		t.Errorf("data: %+v, %v", data, err)
	}

	w.initialize(mcp.V20251125, "{}")
	w.wants(rpc.CodeMethodNotFound, "no/such", "")
	w.wants(rpc.CodeMethodNotFound, "server/discover", "")
	w.wants(rpc.CodeMethodNotFound, "prompts/list", "")
	w.wants(rpc.CodeInvalidParams, "tools/call", "")
	w.wants(rpc.CodeInvalidParams, "tools/call", `{"arguments":{}}`)
	w.wants(rpc.CodeInvalidParams, "tools/call", `{"name":"echo","arguments":[]}`)
	w.wants(rpc.CodeInvalidParams, "tools/call", `{"name":"nope"}`)
	w.must("tools/list", modern("")) // a session changes nothing for modern requests
}
