package server_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type base struct {
	ID string `json:"id"`
}

type node struct {
	base
	Name string  `json:"name"`
	Kids []*node `json:"kids,omitzero"`
	Next *node   `json:"next"`
}

type color string

func (c color) MarshalText() ([]byte, error) { return []byte(c), nil }

type wide struct {
	base
	Flag     *bool             `json:"flag,omitempty"`
	Null     *int              `json:"null"`
	List     []string          `json:"list"`
	Table    map[string]int    `json:"table,omitzero"`
	At       time.Time         `json:"at,omitzero"`
	Raw      jsontext.Value    `json:"raw,omitzero"`
	Bytes    []byte            `json:"bytes,omitzero"`
	Any      any               `json:"any,omitzero"`
	Color    color             `json:"color,omitzero"`
	Nested   [][]int           `json:"nested,omitzero"`
	Children map[string][]base `json:"children,omitzero"`
	hidden   int               //nolint:unused // it must not be in the schema
}

// schemasOf lists the input schema of a tool that takes and returns T.
func schemasOf[T any](t *testing.T) (in, out string) {
	t.Helper()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(_ context.Context, v T) (T, error) { return v, nil })
	w := dial(t, s)
	tool := decode[mcp.ListToolsResult](t, w.must("tools/list", modern(""))).Tools[0]
	return string(tool.InputSchema), string(tool.OutputSchema)
}

func TestInference(t *testing.T) {
	t.Parallel()
	got, _ := schemasOf[wide](t)
	want := `{"type":"object","properties":{"id":{"type":"string"},"flag":{"type":"boolean"},"null":{"type":["null","integer"]},` +
		`"list":{"type":"array","items":{"type":"string"}},"table":{"type":"object","additionalProperties":{"type":"integer"}},` +
		`"at":{"type":"string","format":"date-time"},"raw":{},"bytes":{"type":"string","contentEncoding":"base64"},"any":{},` +
		`"color":{"type":"string"},"nested":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},` +
		`"children":{"type":"object","additionalProperties":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}}}},` +
		`"required":["id","null","list"],"additionalProperties":false}`
	if diff := cmp.Diff(canonical(t, want), canonical(t, got)); diff != "" {
		t.Error(diff)
	}
	for name, schema := range map[string]string{"struct{}": first(schemasOf[struct{}](t)), "map": first(schemasOf[map[string]any](t)), "raw": first(schemasOf[jsontext.Value](t))} {
		if !strings.Contains(schema, `"type":"object"`) {
			t.Errorf("%s: %s", name, schema)
		}
	}
}

func first(a, _ string) string { return a }

func canonical(t *testing.T, s string) string {
	t.Helper()
	v := jsontext.Value(s)
	if err := v.Canonicalize(); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return string(v)
}

// TestInferredSchemasHold compares inferred schemas with what the encoder
// writes, by a validator that is not ours.
func TestInferredSchemasHold(t *testing.T) {
	t.Parallel()
	yes := true
	three := node{base: base{"a"}, Name: "a", Kids: []*node{{Name: "b"}}, Next: &node{Name: "c"}}
	holds(t, three)
	holds(t, &three)
	holds(t, wide{})
	holds(t, wide{Flag: &yes, Raw: jsontext.Value(`[1]`), Bytes: []byte("x"), Any: 1.5, Color: "red", At: time.Unix(1, 0), Nested: [][]int{nil, {1}}, Children: map[string][]base{"a": nil}})
}

func holds[T any](t *testing.T, v T) {
	t.Helper()
	in, out := schemasOf[T](t)
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{in, out} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:s", doc); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile("mem:s")
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		value, _ := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s does not hold for %s: %v", schema, text, err)
		}
	}
}

type sky interface{ Clear() bool }

type sunny struct {
	Kind string `json:"kind" jsonschema:"const=sunny"`
	Hot  bool   `json:"hot" jsonschema:"default=true"`
}

type rainy struct {
	Kind string `json:"kind" jsonschema:"const=rainy"`
}

func (sunny) Clear() bool  { return true }
func (*rainy) Clear() bool { return false }

type report struct {
	City string  `json:"city" jsonschema:"where, or near it,minLength=2"`
	Days int     `json:"days" jsonschema:"minimum=1,maximum=7,default=3"`
	Sky  sky     `json:"sky,omitzero"`
	From url.URL `json:"from,omitzero"`
}

func TestTagsOfTools(t *testing.T) {
	t.Parallel()
	s := newServer(&server.Options{OneOf: []server.Alternatives{server.OneOf[sky](sunny{}, &rainy{})}})
	server.AddTool(s, mcp.Tool{Name: "read"}, func(_ context.Context, in report) (string, error) {
		return fmt.Sprintf("%s %d %+v %s", in.City, in.Days, in.Sky, &in.From), nil
	})
	server.AddTool(s, mcp.Tool{Name: "write"}, func(_ context.Context, in struct {
		Days int `json:"days"`
	},
	) (report, error) {
		return report{City: "Ulm", Days: in.Days, Sky: sunny{Kind: "sunny"}, From: url.URL{Path: "here"}}, nil
	})
	w := dial(t, s)
	for args, want := range map[string]string{
		`{"city":"Ulm"}`: "Ulm 3 <nil> ",
		`{"city":"Ulm","days":1,"sky":{"kind":"rainy"},"from":"https://a.b/c"}`: "Ulm 1 &{Kind:rainy} https://a.b/c",
		`{"city":"Ulm","sky":{"kind":"sunny"}}`:                                 "Ulm 3 {Kind:sunny Hot:true} ",
		`{"city":"Ulm","days":7.0,"sky":{"kind":"sunny","hot":false}}`:          "Ulm 7 {Kind:sunny Hot:false} ",
		`{"city":"Ulm","days":8}`:                                               "arguments.days: must be at most 7",
		`{"city":"U"}`:                                                          "arguments.city: must have at least 2 characters",
		`{"city":"Ulm","sky":{"kind":"foggy"}}`:                                 "arguments.sky: fits none of the alternatives",
		`{"city":"Ulm","from":"%zz"}`:                                           "arguments.from: cannot be read as",
	} {
		if got := text(t, w.must("tools/call", modern(`"name":"read","arguments":`+args))); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	raw := w.must("tools/call", modern(`"name":"write","arguments":{"days":7}`))
	if got, want := string(decode[mcp.CallToolResult](t, raw).StructuredContent), `{"city":"Ulm","days":7,"sky":{"kind":"sunny","hot":false},"from":"here"}`; got != want {
		t.Errorf("got %s", got)
	}
	if _, err := w.send("tools/call", modern(`"name":"write","arguments":{"days":8}`)); err == nil || !strings.Contains(err.Error(), "does not match its output schema") {
		t.Errorf("what breaks the tag of its type: %v", err)
	}
}
