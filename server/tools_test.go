package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

type point struct {
	X int64   `json:"x"`
	Y float64 `json:"y,omitzero"`
}

func TestTypedResults(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "string"}, func(context.Context, struct{}) (string, error) { return "a", nil })
	server.AddTool(s, mcp.Tool{Name: "struct"}, func(context.Context, struct{}) (point, error) { return point{X: math.MaxInt64}, nil })
	server.AddTool(s, mcp.Tool{Name: "pointer"}, func(context.Context, struct{}) (*point, error) { return &point{X: 1}, nil })
	server.AddTool(s, mcp.Tool{Name: "map"}, func(context.Context, struct{}) (map[string]int, error) { return map[string]int{"b": 2, "a": 1}, nil })
	server.AddTool(s, mcp.Tool{Name: "slice"}, func(context.Context, struct{}) ([]string, error) { return nil, nil })
	server.AddTool(s, mcp.Tool{Name: "number"}, func(context.Context, struct{}) (int, error) { return 7, nil })
	server.AddTool(s, mcp.Tool{Name: "raw"}, func(context.Context, struct{}) (jsontext.Value, error) { return jsontext.Value(`{"z":1}`), nil })
	server.AddTool(s, mcp.Tool{Name: "nothing"}, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	server.AddTool(s, mcp.Tool{Name: "content"}, func(context.Context, struct{}) (mcp.Content, error) { return mcp.Text("c"), nil })
	server.AddTool(s, mcp.Tool{Name: "block"}, func(context.Context, struct{}) (*mcp.TextContent, error) { return mcp.Text("d"), nil })
	server.AddTool(s, mcp.Tool{Name: "contents"}, func(context.Context, struct{}) ([]mcp.Content, error) {
		return []mcp.Content{mcp.Text("e"), mcp.Text("f")}, nil
	})
	server.AddTool(s, mcp.Tool{Name: "whole"}, func(context.Context, struct{}) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("g")}, IsError: true}, nil
	})
	for _, tc := range []struct{ tool, text, modern, legacy string }{
		{"string", "a", "", ""},
		{"struct", `{"x":9223372036854775807}`, `{"x":9223372036854775807}`, `{"x":9223372036854775807}`},
		{"pointer", `{"x":1}`, `{"x":1}`, `{"x":1}`},
		{"map", `{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{"slice", `[]`, `[]`, ""},
		{"number", `7`, `7`, ""},
		{"raw", `{"z":1}`, `{"z":1}`, `{"z":1}`},
		{"nothing", "", "", ""},
		{"content", "c", "", ""},
		{"block", "d", "", ""},
		{"contents", "ef", "", ""},
		{"whole", "g", "", ""},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			t.Parallel()
			w := dial(t, s)
			raw := w.must("tools/call", modern(`"name":"`+tc.tool+`"`))
			if got := decode[mcp.CallToolResult](t, raw); text(t, raw) != tc.text || string(got.StructuredContent) != tc.modern {
				t.Errorf("modern: %s", raw)
			}
			if !strings.Contains(raw, `"content":[`) {
				t.Errorf("no content in %s", raw)
			}
			w.initialize(mcp.V20251125, "{}")
			raw = w.must("tools/call", `{"name":"`+tc.tool+`","arguments":null}`)
			if got := decode[mcp.CallToolResult](t, raw); text(t, raw) != tc.text || string(got.StructuredContent) != tc.legacy {
				t.Errorf("legacy: %s", raw)
			}
			if strings.Contains(raw, "resultType") || strings.Contains(raw, "serverInfo") {
				t.Errorf("modern members in %s", raw)
			}
		})
	}
}

type orderIn struct {
	City  string            `json:"city" jsonschema:"where"`
	Limit int               `json:"limit,omitzero"`
	Small int8              `json:"small,omitzero"`
	When  time.Time         `json:"when,omitzero"`
	Tags  []string          `json:"tags,omitzero"`
	Blob  []byte            `json:"blob,omitzero"`
	Extra map[string]string `json:"extra,omitzero"`
	At    *point            `json:"at,omitzero"`
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "order"}, func(_ context.Context, in orderIn) (string, error) {
		return fmt.Sprintf("%s %d %s", in.City, in.Limit, in.Blob), nil
	})
	w := dial(t, s)
	for _, tc := range []struct {
		args, want string
		isError    bool
	}{
		{`{"city":"a","limit":3}`, "a 3 ", false},
		{`{"city":"a","limit":30.0}`, "a 30 ", false},
		{`{"city":"a","limit":3e1}`, "a 30 ", false},
		{`{"city":"a","limit":9007199254740993}`, "a 9007199254740993 ", false},
		{`{"city":"a","blob":"aGk="}`, "a 0 hi", false},
		{`{"city":"a","limit":30.5}`, "arguments.limit: must be integer, not number", true},
		{`{"city":"a","limit":"30"}`, "arguments.limit: must be integer, not string", true},
		{`{"city":"a","limit":1e400}`, "arguments.limit", true},
		{`{"city":"a","limit":9223372036854775808}`, "arguments.limit: cannot be read as an integer of 64 bits", true},
		{`{"city":"a","small":200}`, "arguments.small: must be at most 127", true},
		{`{}`, `arguments: "city" is required`, true},
		{`{"city":null}`, "arguments.city: must be string, not null", true},
		{`{"city":"a","town":"secret"}`, `arguments: "town" is not known here; known are: at, blob, city, extra, limit, small, tags, when`, true},
		{`{"city":"a","tags":["x",7]}`, "arguments.tags[1]: must be string, not integer", true},
		{`{"city":"a","at":{"x":"secret"}}`, "arguments.at.x: must be integer, not string", true},
		{`{"city":"a","when":"secret"}`, "arguments.when: cannot be read", true},
		{`{"city":7,"limit":"secret"}`, "arguments.city: must be string, not integer; arguments.limit: must be integer, not string", true},
		{`{"City":"secret"}`, "is required", true},
	} {
		raw := w.must("tools/call", modern(`"name":"order","arguments":`+tc.args))
		res := decode[mcp.CallToolResult](t, raw)
		if got := text(t, raw); res.IsError != tc.isError || !strings.Contains(got, tc.want) || strings.Contains(got, "secret") {
			t.Errorf("%s: got %q, want %q", tc.args, got, tc.want)
		}
	}
}

func TestToolErrors(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	s := newServer(&server.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	add := func(name string, f func() error) {
		server.AddTool(s, mcp.Tool{Name: name}, func(context.Context, struct{}) (string, error) { return "", f() })
	}
	add("plain", func() error { return errors.New("no such city") })
	add("wire", func() error { return fmt.Errorf("wrapped: %w", rpc.Errorf(-7, "mine")) })
	add("panic", func() error { panic("top secret") })
	w := dial(t, s)
	raw := w.must("tools/call", modern(`"name":"plain"`))
	if !decode[mcp.CallToolResult](t, raw).IsError || text(t, raw) != "no such city" {
		t.Errorf("plain: %s", raw)
	}
	w.wants(-7, "tools/call", modern(`"name":"wire"`))
	if e := w.wants(rpc.CodeInternalError, "tools/call", modern(`"name":"panic"`)); strings.Contains(e.Error(), "secret") {
		t.Errorf("the client was told %v", e)
	}
	w.conn.Close()
	if got := logs.String(); !strings.Contains(got, "top secret") || !strings.Contains(got, "tools_test.go") {
		t.Errorf("log lacks the panic or its stack: %s", got)
	}
}

const anyObject = `{"type":"object"}`

func TestSchemasRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 80) + "true" + strings.Repeat("}}", 80)
	var double strings.Builder
	for i := range 30 {
		fmt.Fprintf(&double, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	for name, tc := range map[string]struct{ schema, want string }{
		"none":          {``, "not an object"},
		"null":          {`null`, "not an object"},
		"true":          {`true`, "not an object"},
		"no type":       {`{}`, `"type":"object"`},
		"array":         {`{"type":"array"}`, `"type":"object"`},
		"bad json":      {`{`, "JSON"},
		"null required": {`{"type":"object","required":"a"}`, "malformed"},
		"bad pattern":   {`{"type":"object","properties":{"a":{"pattern":"(?=a)"}}}`, "compiled"},
		"external ref":  {`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`, "only references inside"},
		"file ref":      {`{"type":"object","properties":{"a":{"$ref":"other.json#/x"}}}`, "only references inside"},
		"missing ref":   {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}`, "there is no schema"},
		"dialect":       {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "draft-04"},
		"deep":          {deep, "Limits.SchemaDepth"},
		"self":          {`{"type":"object","allOf":[{"$ref":"#"}]}`, "would not end"},
		"loop":          {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`, "would not end"},
		"dynamic loop":  {`{"type":"object","$dynamicAnchor":"x","anyOf":[{"$dynamicRef":"#x"}]}`, "would not end"},
		"explosion":     {`{"type":"object","$ref":"#/$defs/d0","$defs":{` + double.String() + `"d30":{}}}`, "Limits.Subschemas"},
		"header":        {`{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, "x-mcp-header"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(nil)
			err := s.AddTool(mcp.Tool{Name: "bad", InputSchema: jsontext.Value(tc.schema)}, nop)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "bad") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func nop(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, nil }

func TestSchemasTaken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ schema, good, bad string }{
		"draft-07":  {`{"$schema":"http://json-schema.org/draft-07/schema","type":"object","properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"number"}}}`, `{"a":1}`, `{"a":"x"}`},
		"2020-12":   {`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"prefixItems":[{"const":1}]}}}`, `{"a":[1]}`, `{"a":[2]}`},
		"tree":      {`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}}}`, `{"kids":[{"kids":[]}]}`, `{"kids":[{"kids":1}]}`},
		"anchor":    {`{"type":"object","properties":{"a":{"$ref":"#n"}},"$defs":{"x":{"$anchor":"n","type":"null"}}}`, `{"a":null}`, `{"a":1}`},
		"any of":    {`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"integer","minimum":3}]}}}`, `{"a":3}`, `{"a":1}`},
		"condition": {`{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		"enum":      {`{"type":"object","properties":{"a":{"enum":["x",2,null]}}}`, `{"a":2}`, `{"a":"y"}`},
		"bounds":    {`{"type":"object","properties":{"a":{"type":"string","minLength":2,"pattern":"^b"}},"additionalProperties":{"type":"boolean"}}`, `{"a":"bb","z":true}`, `{"a":"b","z":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(nil)
			if err := s.AddTool(mcp.Tool{Name: "t", InputSchema: jsontext.Value(tc.schema)}, nop); err != nil {
				t.Fatal(err)
			}
			w := dial(t, s)
			if raw := w.must("tools/call", modern(`"name":"t","arguments":`+tc.good)); decode[mcp.CallToolResult](t, raw).IsError {
				t.Errorf("good: %s", raw)
			}
			raw := w.must("tools/call", modern(`"name":"t","arguments":`+tc.bad))
			if !decode[mcp.CallToolResult](t, raw).IsError || !strings.HasPrefix(text(t, raw), "arguments") {
				t.Errorf("bad: %s", raw)
			}
			list := decode[mcp.ListToolsResult](t, w.must("tools/list", modern("")))
			if string(list.Tools[0].InputSchema) != tc.schema {
				t.Errorf("schema was changed to %s", list.Tools[0].InputSchema)
			}
		})
	}
}

func TestOutputSchema(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	results := map[string]*mcp.CallToolResult{
		"ok":      {StructuredContent: jsontext.Value(`{"n":1}`)},
		"failed":  {IsError: true, Content: mcp.Contents{mcp.Text("why")}},
		"other":   {IsError: true, StructuredContent: jsontext.Value(`{"error":"x"}`)},
		"missing": {Content: mcp.Contents{mcp.Text("x")}},
		"wrong":   {StructuredContent: jsontext.Value(`{"n":"x"}`)},
	}
	for name, res := range results {
		err := s.AddTool(mcp.Tool{
			Name: name, InputSchema: jsontext.Value(anyObject),
			OutputSchema: jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		}, func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return res, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	w := dial(t, s)
	if raw := w.must("tools/call", modern(`"name":"ok"`)); text(t, raw) != `{"n":1}` {
		t.Errorf("no text beside structured content: %s", raw)
	}
	for _, name := range []string{"failed", "other"} {
		if raw := w.must("tools/call", modern(`"name":"`+name+`"`)); !decode[mcp.CallToolResult](t, raw).IsError {
			t.Errorf("%s: %s", name, raw)
		}
	}
	w.wants(rpc.CodeInternalError, "tools/call", modern(`"name":"missing"`))
	w.wants(rpc.CodeInternalError, "tools/call", modern(`"name":"wrong"`))
	if results["ok"].ResultType != "" || results["ok"].Meta != nil {
		t.Error("the handler's result was changed")
	}
}

func TestGivenSchemaWins(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	given := `{"type":"object","properties":{"message":{"type":"string","maxLength":3}},"$comment":"mine"}`
	server.AddTool(s, mcp.Tool{Name: "echo", InputSchema: jsontext.Value(given)}, echo)
	w := dial(t, s)
	list := decode[mcp.ListToolsResult](t, w.must("tools/list", modern("")))
	if diff := cmp.Diff(given, string(list.Tools[0].InputSchema)); diff != "" {
		t.Error(diff)
	}
	if raw := w.must("tools/call", modern(`"name":"echo","arguments":{"message":"long"}`)); !decode[mcp.CallToolResult](t, raw).IsError {
		t.Error(raw)
	}
}

// A schema of one's own may say less than the type, and say it about types that
// take every member.
func TestGivenSchemaAndType(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	tool := mcp.Tool{Name: "t", InputSchema: jsontext.Value(`{"type":"object","properties":{"message":{"enum":["a","b"]},"never":false}}`)}
	server.AddTool(s, tool, echo)
	server.AddTool(s, tool, func(context.Context, map[string]any) (string, error) { return "", nil })
	server.AddTool(s, tool, func(context.Context, jsontext.Value) (string, error) { return "", nil })
	server.AddTool(s, tool, func(context.Context, *struct {
		Rest map[string]any `json:",embed"`
	},
	) (string, error) {
		return "", nil
	})
}

func TestAddToolPanics(t *testing.T) {
	t.Parallel()
	type enum struct {
		Color string `json:"color" jsonschema:"enun=red,enum=blue"`
	}
	type colored struct {
		Color string `json:"color"`
	}
	for name, f := range map[string]func(*server.Server){
		`enum: field Color: no keyword "enun": there are: pattern`: func(s *server.Server) {
			server.AddTool(s, mcp.Tool{Name: "x"}, func(context.Context, enum) (string, error) { return "", nil })
		},
		`"size": field`: func(s *server.Server) { // there is a field for one of two
			server.AddTool(s, mcp.Tool{Name: "x", InputSchema: jsontext.Value(`{"type":"object","properties":{"color":{"enum":["red"]},"size":{"type":"integer"}}}`)},
				func(context.Context, colored) (string, error) { return "", nil })
		},
		"arguments are an object": func(s *server.Server) {
			server.AddTool(s, mcp.Tool{Name: "x"}, func(context.Context, string) (string, error) { return "", nil })
		},
		"name": func(s *server.Server) { server.AddTool(s, mcp.Tool{}, echo) },
		"chan int": func(s *server.Server) {
			server.AddTool(s, mcp.Tool{Name: "x"}, func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
		},
		"no function": func(s *server.Server) {
			server.AddTool[struct{}, string](s, mcp.Tool{Name: "x"}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				text := fmt.Sprint(recover())
				for part := range strings.SplitSeq(name, ": ") {
					if !strings.Contains(text, part) {
						t.Errorf("panic: %s", text)
					}
				}
			}()
			f(newServer(nil))
		})
	}
}

// bare is a connection that nothing is sent over.
type bare struct{ rpc.Conn }

func (bare) AllowBatch(bool)                            {}
func (bare) Notify(context.Context, *rpc.Request) error { return nil }
func (bare) Close() error                               { return nil }

func TestParamHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	if err := s.AddTool(mcp.Tool{Name: "t", InputSchema: jsontext.Value(`{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"n":{"type":"integer","x-mcp-header":"N"},
		"in":{"type":"object","properties":{"b":{"type":"boolean","x-mcp-header":"B"}}}}}`)}, nop); err != nil {
		t.Fatal(err)
	}
	h := s.Bind(t.Context(), bare{})
	for _, tc := range []struct {
		args    string
		headers map[string]string
		ok      bool
	}{
		{`{}`, nil, true},
		{`{"region":"eu","n":42,"in":{"b":true}}`, map[string]string{"Region": "eu", "N": "42", "B": "true"}, true},
		{`{"region":"eu"}`, map[string]string{"region": " eu "}, true},
		{`{"region":"日"}`, map[string]string{"Region": "=?base64?5pel?="}, true},
		{`{"n":42}`, map[string]string{"N": "42.0"}, true},
		{`{"region":null}`, nil, true},
		{`{"region":""}`, map[string]string{"Region": ""}, true},
		{`{"region":"eu"}`, nil, false},
		{`{"region":"eu"}`, map[string]string{"Region": "EU"}, false},
		{`{"region":"eu"}`, map[string]string{"Region": "=?base64?!?="}, false},
		{`{}`, map[string]string{"Region": "eu"}, false},
		{`{"region":null}`, map[string]string{"Region": "eu"}, false},
		{`{"n":42}`, map[string]string{"N": "43"}, false},
		{`{"n":42}`, map[string]string{"N": "4.2e1"}, false},
	} {
		req := &rpc.Request{ID: rpc.IntID(1), Method: "tools/call", Header: http.Header{}, Params: jsontext.Value(modern(`"name":"t","arguments":` + tc.args))}
		for k, v := range tc.headers {
			req.Header.Set("Mcp-Param-"+k, v)
		}
		_, err := h.Handle(t.Context(), req, bare{})
		if tc.ok != (err == nil) || err != nil && !errors.Is(err, mcp.ErrHeaderMismatch) {
			t.Errorf("%s %v: %v", tc.args, tc.headers, err)
		}
		req.Header = nil
		if _, err := h.Handle(t.Context(), req, bare{}); err != nil {
			t.Errorf("%s without HTTP: %v", tc.args, err)
		}
	}
}
