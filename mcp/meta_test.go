package mcp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

func TestReadRequestMeta(t *testing.T) {
	t.Parallel()
	var m mcp.RequestMeta
	err := m.Read(&rpc.Request{Params: jsontext.Value(`{"name":"n","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},
		"io.modelcontextprotocol/logLevel":"info",
		"progressToken":"1","traceparent":"00-a"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != mcp.V20260728 || m.Client.Name != "c" || !m.Capabilities.Has("elicitation.form") ||
		m.LogLevel != mcp.LevelInfo || m.ProgressToken != mcp.StringToken("1") || string(m.Extra) != `{"traceparent":"00-a"}` {
		t.Errorf("got %+v", m)
	}
	if !m.Modern() || m.Check() != nil {
		t.Errorf("modern %v, check %v", m.Modern(), m.Check())
	}
}

func TestRequestMetaErrors(t *testing.T) {
	t.Parallel()
	const version, caps = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`
	tests := []struct{ params, want string }{
		{``, mcp.MetaProtocolVersion},
		{`{}`, mcp.MetaProtocolVersion},
		{`{"_meta":null}`, mcp.MetaProtocolVersion},
		{`{"_meta":{` + caps + `}}`, mcp.MetaProtocolVersion},
		{`{"_meta":{` + version + `}}`, mcp.MetaClientCapabilities},
		{`{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":null}}`, mcp.MetaClientCapabilities},
		{`{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}}`, "must be an object, not an array"},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`, "must be a string, not a number"},
		{`{"_meta":{` + version + `,` + caps + `,"io.modelcontextprotocol/logLevel":"loud"}}`, `unknown log level "loud"`},
		{`{"_meta":{"progressToken":1.5}}`, "progressToken"},
		{`{"_meta":{"progressToken":{}}}`, "progressToken"},
		{`{"_meta":7}`, "must be an object, not a number"},
		{`[]`, "must be an object, not an array"},
	}
	for _, tt := range tests {
		var m mcp.RequestMeta
		err := m.Read(&rpc.Request{Params: jsontext.Value(tt.params)})
		if err == nil {
			err = m.Check()
		}
		if !errors.Is(err, mcp.ErrInvalidParams) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.params, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: the error speaks of Go: %v", tt.params, err)
		}
	}
}

func TestRequestMetaPut(t *testing.T) {
	t.Parallel()
	meta := mcp.Meta{"a": jsontext.Value(`1`), mcp.MetaProtocolVersion: jsontext.Value(`"old"`)}
	want := mcp.RequestMeta{Version: mcp.V20260728, Capabilities: &mcp.ClientCapabilities{}, ProgressToken: mcp.IntToken(3)}
	if err := want.Put(&meta); err != nil {
		t.Fatal(err)
	}
	if string(meta["a"]) != "1" || string(meta[mcp.MetaProtocolVersion]) != `"2026-07-28"` ||
		string(meta[mcp.MetaClientCapabilities]) != "{}" || string(meta[mcp.MetaProgressToken]) != "3" || len(meta) != 4 {
		t.Errorf("got %v", meta)
	}
	var none mcp.Meta
	if err := want.Put(&none); err != nil || len(none) != 3 {
		t.Errorf("got %v, %v", none, err)
	}
}

func TestMetaHelpers(t *testing.T) {
	t.Parallel()
	var m mcp.Meta
	if m.ServerInfo() != nil || !m.SubscriptionID().IsZero() {
		t.Error("an absent key has a value")
	}
	if err := m.Set(mcp.MetaServerInfo, &mcp.Implementation{Name: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := m.Set(mcp.MetaSubscriptionID, rpc.IntID(1)); err != nil {
		t.Fatal(err)
	}
	if m.ServerInfo().Name != "s" || m.SubscriptionID() != rpc.IntID(1) {
		t.Errorf("got %v", m)
	}
	m[mcp.MetaServerInfo] = jsontext.Value(`7`)
	if m.ServerInfo() != nil {
		t.Error("a bad server info is one")
	}
	if err := m.Set("x", func() {}); err == nil {
		t.Error("a function was encoded")
	}
	if ok, err := m.Decode(mcp.MetaServerInfo, new(string)); !ok || err == nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestMetaKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key             string
		valid, reserved bool
	}{
		{"progressToken", true, false},
		{"", true, false},
		{"a", true, false},
		{"-a", false, false},
		{"a_b.c-d", true, false},
		{"com.example/", true, false},
		{"com.example/x", true, false},
		{"com.example/x/y", false, false},
		{"1com.example/x", false, false},
		{"com.example-/x", false, false},
		{"com..example/x", false, false},
		{"/x", false, false},
		{"com.exämple/x", false, false},
		{"io.modelcontextprotocol/x", true, true},
		{"dev.mcp/x", true, true},
		{"com.mcp.tools/x", true, true},
		{"com.example.mcp/x", true, false},
		{"mcp/x", true, false},
	}
	for _, tt := range tests {
		if got := mcp.ValidMetaKey(tt.key); got != tt.valid {
			t.Errorf("%q: valid is %v", tt.key, got)
		}
		if got := mcp.ReservedMetaKey(tt.key); got != tt.reserved {
			t.Errorf("%q: reserved is %v", tt.key, got)
		}
	}
}

func TestProgressTokenIsKey(t *testing.T) {
	t.Parallel()
	m := map[mcp.ProgressToken]int{mcp.IntToken(1): 1, mcp.StringToken("1"): 2}
	var got mcp.ProgressToken
	if err := json.Unmarshal([]byte(`"1"`), &got); err != nil || m[got] != 2 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCapabilityNames(t *testing.T) {
	t.Parallel()
	var c mcp.ClientCapabilities
	if err := json.Unmarshal([]byte(`{"sampling":{"tools":{}},"elicitation":{},"roots":{},"extensions":{"a.b/c.d":{}},"tasks":{"requests":{"elicitation":{"create":{}}}}}`), &c); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"sampling": true, "sampling.tools": true, "sampling.context": false, "sampl": false,
		"elicitation": true, "elicitation.form": true, "elicitation.url": false,
		"roots": true, "roots.listChanged": false,
		"extensions.a.b/c.d": true, "extensions.a.b/c": false, "extensions.a": false,
		"tasks": true, "tasks.list": false, "tasks.requests.elicitation.create": true,
	} {
		if got := c.Has(name); got != want {
			t.Errorf("has %s: %v", name, got)
		}
	}
	if !c.Covers(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}) {
		t.Error("a form is not covered")
	}
	if c.Covers(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: &mcp.Support{}}}) {
		t.Error("a URL is covered")
	}
	s := mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{Subscribe: true}, Tools: &mcp.ListCapability{}}
	if !s.Has("resources") || !s.Has("resources.subscribe") || s.Has("resources.listChanged") || !s.Has("tools") || s.Has("prompts") {
		t.Errorf("got %v", s.Names())
	}
	var url *mcp.ElicitationCapability
	if url.HasForm() || url.HasURL() {
		t.Error("nil can elicit")
	}
	url = &mcp.ElicitationCapability{URL: &mcp.Support{}}
	if url.HasForm() || !url.HasURL() {
		t.Error("URL alone is no form")
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	if !mcp.LevelInfo.Covers(mcp.LevelError) || mcp.LevelError.Covers(mcp.LevelInfo) || mcp.LoggingLevel("").Covers(mcp.LevelEmergency) || mcp.LevelDebug.Covers("loud") {
		t.Error("covers is wrong")
	}
	for _, l := range []mcp.LoggingLevel{mcp.LevelDebug, mcp.LevelInfo, mcp.LevelNotice, mcp.LevelWarning, mcp.LevelError, mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency} {
		if got := mcp.LevelOf(l.Slog()); got != l {
			t.Errorf("%s became %s", l, got)
		}
	}
	if mcp.LevelOf(-100) != mcp.LevelDebug || mcp.LevelOf(100) != mcp.LevelEmergency {
		t.Error("levels beyond the ends")
	}
}
