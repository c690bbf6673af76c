package server_test

import (
	"context"
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
		`"at":{"type":"string","format":"date-time"},"raw":true,"bytes":{"type":"string","contentEncoding":"base64"},"any":true,` +
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
