package server

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// Each client gets its own _meta, whoever asked before it.
func TestMetaCache(t *testing.T) {
	t.Parallel()
	var c metaCache
	text := func(name, more string) []byte {
		return []byte(`{"_meta":{"` + mcp.MetaProtocolVersion + `":"2026-07-28","` + mcp.MetaClientCapabilities + `":{"elicitation":{}},"` +
			mcp.MetaClientInfo + `":{"name":"` + name + `","version":"1"}` + more + `}}`)
	}
	long := strings.Repeat("n", 2*cachedMetaBytes)
	for range 2 {
		for _, tt := range []struct{ name, more string }{{"a", ""}, {"a", ""}, {"b", ""}, {"a", `,"progressToken":1`}, {"a", `,"x":1`}, {long, ""}, {long, ""}} {
			params := text(tt.name, tt.more)
			var want mcp.RequestMeta
			got, err := c.read(&rpc.Request{Params: params})
			if err != nil {
				t.Fatal(err)
			}
			_ = want.Read(&rpc.Request{Params: text(tt.name, tt.more)})
			clear(params) // what is kept is a copy
			if got.Client.Name != tt.name || !got.Capabilities.Has("elicitation.form") || got.ProgressToken != want.ProgressToken || (got.Extra == nil) != (want.Extra == nil) {
				t.Errorf("%.10s %s: got %+v", tt.name, tt.more, got)
			}
		}
	}
	if last := c.last.Load(); len(last.text) > cachedMetaBytes {
		t.Errorf("%d bytes are kept", len(last.text))
	}
	for _, params := range []jsontext.Value{nil, jsontext.Value(`{}`)} {
		if meta, err := c.read(&rpc.Request{Params: params}); err != nil || meta.Modern() {
			t.Errorf("%s: %+v, %v", params, meta, err)
		}
	}
}
