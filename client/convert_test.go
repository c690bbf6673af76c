package client_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func formats() []client.ModelFormat {
	return []client.ModelFormat{client.OpenAIResponses, client.OpenAIChat, client.Anthropic, client.Gemini}
}

func toolOf(name, schema string) mcp.Tool {
	return mcp.Tool{Name: name, Description: "d", InputSchema: jsontext.Value(schema)}
}

// TestDefinitions has what each format makes of one schema.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	const plain = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"string","minLength":2},"b":{"type":"integer"}},"required":["a"]}`
	const plainOut = `{"type":"object","properties":{"a":{"type":"string","minLength":2},"b":{"type":"integer"}},"required":["a"]}`
	const told = `{"type":"string","description":"(minLength: 2)"}`
	tests := []struct {
		name, format string
		strict       bool
		in, want     string
	}{
		{"responses", "openai-responses", false, plain, `[{"type":"function","name":"t","description":"d","parameters":` + plainOut + `,"strict":false}]`},
		{"chat", "openai-chat", false, plain, `[{"type":"function","function":{"name":"t","description":"d","parameters":` + plainOut + `,"strict":false}}]`},
		{"anthropic", "anthropic", false, plain, `[{"name":"t","description":"d","input_schema":` + plainOut + `}]`},
		{"gemini", "gemini", false, plain, `[{"functionDeclarations":[{"name":"t","description":"d","parametersJsonSchema":{"type":"object","properties":{"a":` + told + `,"b":{"type":"integer"}},"required":["a"]}}]}]`},
		{
			"strict openai", "openai-responses", true, plain,
			`[{"type":"function","name":"t","description":"d","parameters":{"type":"object","properties":{"a":` + told + `,"b":{"type":["integer","null"]}},"required":["a","b"],"additionalProperties":false},"strict":true}]`,
		},
		{
			"strict anthropic", "anthropic", true, plain,
			`[{"name":"t","description":"d","input_schema":{"type":"object","properties":{"a":` + told + `,"b":{"type":"integer"}},"required":["a"],"additionalProperties":false},"strict":true}]`,
		},
		{"not strict", "anthropic", true, `{"type":"object","additionalProperties":{"type":"string"}}`, `[{"name":"t","description":"d","input_schema":{"type":"object","additionalProperties":{"type":"string"},"properties":{}}}]`},
		{"no arguments", "openai-responses", false, `{"type":"object"}`, `[{"type":"function","name":"t","description":"d","parameters":{"type":"object","properties":{}},"strict":false}]`},
		{"no arguments, gemini", "gemini", false, `{"type":"object"}`, `[{"functionDeclarations":[{"name":"t","description":"d"}]}]`},
		{
			"root union", "anthropic", false, `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`[{"name":"t","description":"d","input_schema":{"type":"object","properties":{"arguments":{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}},"required":["arguments"],"additionalProperties":false}}]`,
		},
		{
			"names of properties", "anthropic", false, `{"type":"object","properties":{"$top":{"type":"integer"},"a-b.c":{}},"required":["$top"]}`,
			`[{"name":"t","description":"d","input_schema":{"type":"object","properties":{"_top_81bf98e4":{"type":"integer"},"a-b.c":{}},"required":["_top_81bf98e4"]}}]`,
		},
		{
			"references", "openai-chat", false, `{"type":"object","properties":{"n":{"$ref":"#/definitions/a%20b~1c"},"r":{"$ref":"#"}},"definitions":{"a b/c":{"type":"string"},"unused":{}}}`,
			`[{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object","properties":{"n":{"$ref":"#/$defs/a_20b_1c_bd5dcb78"},"r":{"$ref":"#/$defs/root"}},"$defs":{"a_20b_1c_bd5dcb78":{"type":"string"},"root":{"type":"object","properties":{"n":{"$ref":"#/$defs/a_20b_1c_bd5dcb78"},"r":{"$ref":"#/$defs/root"}}}}},"strict":false}}]`,
		},
		{
			"draft-07", "anthropic", false, `{"type":"object","properties":{"p":{"type":"array","items":[{"type":"string"}],"additionalItems":false}},"dependencies":{"p":["q"]}}`,
			`[{"name":"t","description":"d","input_schema":{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"string"}],"items":false}},"dependentRequired":{"p":["q"]}}}]`,
		},
		{
			"gemini's words", "gemini", false,
			`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]},"b":{"const":"x"},"c":{"allOf":[{"$ref":"#/$defs/d"}],"description":"text"},"e":{"enum":[true]},"f":{"type":"string","format":"uuid","x-mcp-header":"H"}},"$defs":{"d":{"type":"integer"}}}`,
			`[{"functionDeclarations":[{"name":"t","description":"d","parametersJsonSchema":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"enum":["x"]},"c":{"anyOf":[{"$ref":"#/$defs/d"}],"description":"text"},"e":{"description":"(enum: [true])"},"f":{"type":"string","description":"(format: \"uuid\")"}},"$defs":{"d":{"type":"integer"}}}}]}]`,
		},
		{"recursive is not strict for anthropic", "anthropic", true, `{"type":"object","properties":{"n":{"$ref":"#"}},"additionalProperties":false}`, `[{"name":"t","description":"d","input_schema":{"type":"object","properties":{"n":{"$ref":"#/$defs/root"}},"additionalProperties":false,"$defs":{"root":{"type":"object","properties":{"n":{"$ref":"#/$defs/root"}},"additionalProperties":false}}}}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := client.ConvertTools(client.ModelFormat(tt.format), []mcp.Tool{toolOf("t", tt.in)}, &client.ConvertOptions{Strict: tt.strict})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.Definitions()); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestWhatCannotBeSaid(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, format, schema, want string }{
		{"allOf", "gemini", `{"type":"object","properties":{"a/b":{"allOf":[{"type":"string"},{"minLength":1}]}}}`, `client: tool "bad" for gemini at /properties/a~1b/allOf: has no counterpart`},
		{"elsewhere", "anthropic", `{"type":"object","properties":{"a":{"$ref":"https://a.b/c"}}}`, `client: tool "bad" for anthropic at /properties/a/$ref: $ref "https://a.b/c" does not lead to a place in the schema`},
		{"nowhere", "openai-chat", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}`, `client: tool "bad" for openai-chat at /properties/a/$ref: $ref "#/$defs/x" leads nowhere`},
		{"no schema", "openai-chat", `true`, `client: tool "bad" for openai-chat: the input schema is not an object`},
		{"no JSON", "openai-chat", `{"a":`, `client: tool "bad" for openai-chat: the input schema is no JSON`},
		{"too deep", "openai-chat", strings.Repeat(`{"not":`, 100) + "{}" + strings.Repeat("}", 100), `more than 64 schemas in each other`},
		{"too big", "openai-chat", `{"type":"object","description":"` + strings.Repeat("a", 1<<18) + `"}`, `client: tool "bad" for openai-chat: the input schema has more than 262144 bytes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := client.ConvertTools(client.ModelFormat(tt.format), []mcp.Tool{toolOf("bad", tt.schema), toolOf("good", `{"type":"object"}`)}, nil)
			e, ok := errors.AsType[*client.ConvertError](err)
			if !ok || e.Tool != "bad" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if _, ok := m.Name("good"); !ok {
				t.Error("the good tool is not there")
			}
			if _, ok := m.Name("bad"); ok {
				t.Error("the bad tool is there")
			}
		})
	}
	if _, err := client.ConvertTools("other", nil, nil); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("format that is not known: %v", err)
	}
}

// TestNames has names of every kind map to such that all providers take, and
// back, also where a tool is named as another one is mapped.
func TestNames(t *testing.T) {
	t.Parallel()
	names := []string{"a", "a.b", "a/b", "a b", "a:b", "1", "-", "_", "é", "é\n", "", strings.Repeat("n", 64), strings.Repeat("n", 65), strings.Repeat("n", 66)}
	first, err := client.ConvertTools(client.Gemini, tools(names), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names { // the worst that somebody could think of
		name, _ := first.Name(n)
		if name != n {
			names = append(names, name)
		}
	}
	for _, f := range formats() {
		m, err := client.ConvertTools(f, tools(names), nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, n := range names {
			name, ok := m.Name(n)
			if !ok || seen[name] || !good(name) {
				t.Errorf("%s: %q is %q", f, n, name)
			}
			seen[name] = true
			calls, err := m.Calls(callOf(f, name, `{"x":null}`))
			if err != nil || len(calls) != 1 || calls[0].Err != nil || calls[0].Params.Name != n || string(calls[0].Params.Arguments) != `{"x":null}` {
				t.Errorf("%s: call of %q: %+v, %v", f, name, calls, err)
			}
		}
	}
	m, err := client.ConvertTools(client.Gemini, tools([]string{"a", "b", "a"}), nil)
	if err == nil || !strings.Contains(err.Error(), `tool "a" for gemini: two tools have this name`) || strings.Count(string(m.Definitions()), `"name"`) != 2 {
		t.Errorf("twice the same: %v, %s", err, m.Definitions())
	}
	m, err = client.ConvertTools(client.Anthropic, tools([]string{"a", "b", "c"}), &client.ConvertOptions{Only: []string{"b"}})
	if err != nil || strings.Count(string(m.Definitions()), `"name"`) != 1 {
		t.Errorf("Only: %v, %s", err, m.Definitions())
	}
}

func tools(names []string) []mcp.Tool {
	var list []mcp.Tool
	for _, n := range names {
		list = append(list, mcp.Tool{Name: n})
	}
	return list
}

func good(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" &&
		!strings.ContainsAny(name[:1], "0123456789-")
}

// callOf is a call as the model of a format says it.
func callOf(f client.ModelFormat, name, args string) jsontext.Value {
	quoted, _ := json.Marshal(args)
	switch f {
	case client.OpenAIResponses:
		return fmt.Appendf(nil, `[{"type":"reasoning","id":"r","summary":[]},{"type":"function_call","id":"fc","call_id":"1","name":%q,"arguments":%s}]`, name, quoted)
	case client.OpenAIChat:
		return fmt.Appendf(nil, `[{"id":"1","type":"function","function":{"name":%q,"arguments":%s}}]`, name, quoted)
	case client.Anthropic:
		return fmt.Appendf(nil, `[{"type":"text","text":"hm"},{"type":"tool_use","id":"1","name":%q,"input":%s}]`, name, args)
	default:
		return fmt.Appendf(nil, `[{"text":"hm"},{"functionCall":{"id":"1","name":%q,"args":%s},"thoughtSignature":"s"}]`, name, args)
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		m, err := client.ConvertTools(f, tools([]string{"t"}), nil)
		if err != nil {
			t.Fatal(err)
		}
		for args, want := range map[string]string{`{"a":[1]}`: `{"a":[1]}`, `{}`: `{}`, `null`: `{}`} {
			calls, err := m.Calls(callOf(f, "t", args))
			if err != nil || len(calls) != 1 || calls[0].ID != "1" || calls[0].Err != nil || string(calls[0].Params.Arguments) != want {
				t.Errorf("%s: %s: %+v, %v", f, args, calls, err)
			}
		}
		for _, args := range []string{`[1]`, `7`} {
			calls, err := m.Calls(callOf(f, "t", args))
			if err != nil || len(calls) != 1 || calls[0].Err == nil {
				t.Errorf("%s: %s: %+v, %v", f, args, calls, err)
			}
		}
		calls, err := m.Calls(callOf(f, "other", `{}`))
		if err != nil || len(calls) != 1 || !errors.Is(calls[0].Err, client.ErrUnknownTool) {
			t.Errorf("%s: unknown: %+v, %v", f, calls, err)
		}
		messages, err := m.Messages(client.Outcome{Call: calls[0]})
		if err != nil || len(messages) != 1 || !strings.Contains(string(messages[0]), "there is no such tool") {
			t.Errorf("%s: answer to unknown: %s, %v", f, messages, err)
		}
		for _, bad := range []string{``, `[`, `[{"type":7}]`, `{"name":`} {
			if calls, err := m.Calls(jsontext.Value(bad)); err == nil {
				t.Errorf("%s: %q: %+v", f, bad, calls)
			}
		}
	}
}

// TestRoundTrip makes schemas at random, and values as a model would for what
// becomes of them: given back, they fit the original, says a validator that is
// not ours.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	const seeds, values = 150, 6
	for seed := range uint64(seeds) {
		r := &schemaMaker{rand.New(rand.NewPCG(seed, 7))}
		text := r.root()
		original := foreign(t, text)
		for _, f := range formats() {
			for _, strict := range []bool{false, true} {
				m, err := client.ConvertTools(f, []mcp.Tool{toolOf("t", text)}, &client.ConvertOptions{Strict: strict})
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, text, err)
				}
				changed := schemaIn(t, m.Definitions())
				check := foreign(t, mustMarshal(t, changed))
				for range values {
					v := mustMarshal(t, r.value(changed, changed, 6))
					if err := check.Validate(decoded(t, v)); err != nil {
						t.Fatalf("seed %d: %s: the test's value %s does not fit %s: %v", seed, f, v, mustMarshal(t, changed), err)
					}
					calls, err := m.Calls(callOf(f, "t", v))
					if err != nil || calls[0].Err != nil {
						t.Fatalf("seed %d: %s: %s: %v, %v", seed, f, v, err, calls)
					}
					if err := original.Validate(decoded(t, string(calls[0].Params.Arguments))); err != nil {
						t.Fatalf("seed %d: %s: strict %v: %s became %s, which does not fit\n%s: %v", seed, f, strict, v, calls[0].Params.Arguments, text, err)
					}
				}
			}
		}
	}
}

type schemaMaker struct{ *rand.Rand }

// root has a definition that may contain itself, and at times a union.
func (r *schemaMaker) root() string {
	object := strings.TrimSuffix(r.object(3, ""), "}")
	return object + `,"$defs":{"d":` + r.object(1, "") + `}}`
}

func (r *schemaMaker) object(depth int, kind string) string {
	var members, required []string
	if kind != "" {
		members, required = []string{fmt.Sprintf(`"kind":{"const":%q}`, kind)}, []string{`"kind"`}
	}
	for _, name := range []string{"a", "$b", "c d", "ключ", "e.f", "0"} {
		if r.IntN(2) == 0 {
			continue
		}
		members = append(members, fmt.Sprintf("%q:%s", name, r.schema(depth-1)))
		if r.IntN(2) == 0 {
			required = append(required, fmt.Sprintf("%q", name))
		}
	}
	return `{"type":"object","properties":{` + strings.Join(members, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`
}

func (r *schemaMaker) schema(depth int) string {
	leaves := []string{
		`{"type":"string"}`, `{"type":["integer","null"]}`, `{"type":"boolean","description":"b"}`, `{"enum":["x","y"],"type":"string"}`,
		`{"const":"k"}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
	}
	if depth <= 0 {
		return leaves[r.IntN(len(leaves))]
	}
	switch r.IntN(6) {
	case 0:
		return r.object(depth, "")
	case 1:
		return `{"type":"array","items":` + r.schema(depth-1) + `}`
	case 2: // told apart by a property
		return `{"oneOf":[` + r.object(depth, "one") + `,` + r.object(depth, "two") + `]}`
	case 3: // it may contain itself, but only where it can be left out
		return `{"type":"array","items":{"$ref":"#/$defs/d"}}`
	}
	return leaves[r.IntN(len(leaves))]
}

// value makes a value that fits a schema with the keywords of this test.
func (r *schemaMaker) value(root, s map[string]any, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return r.value(root, root["$defs"].(map[string]any)[name].(map[string]any), depth-1)
	}
	if of, ok := s["anyOf"].([]any); ok {
		return r.value(root, of[r.IntN(len(of))].(map[string]any), depth)
	}
	if of, ok := s["oneOf"].([]any); ok {
		return r.value(root, of[r.IntN(len(of))].(map[string]any), depth)
	}
	if v, ok := s["const"]; ok {
		return v
	}
	if of, ok := s["enum"].([]any); ok {
		return of[r.IntN(len(of))]
	}
	kind, _ := s["type"].(string)
	if several, ok := s["type"].([]any); ok {
		kind = several[r.IntN(len(several))].(string)
	}
	switch kind {
	case "object":
		properties, _ := s["properties"].(map[string]any)
		out := map[string]any{}
		required, _ := s["required"].([]any)
		for name, p := range properties {
			must := false
			for _, n := range required {
				must = must || n == name
			}
			if must || depth > 0 && r.IntN(2) == 0 {
				out[name] = r.value(root, p.(map[string]any), depth-1)
			}
		}
		return out
	case "array":
		list := []any{}
		for range r.IntN(3) {
			if depth > 0 {
				list = append(list, r.value(root, s["items"].(map[string]any), depth-1))
			}
		}
		return list
	case "string":
		return "s"
	case "integer":
		return 3
	case "boolean":
		return true
	}
	return nil
}

func foreign(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:s", decoded(t, text)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:s")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// schemaIn finds the one schema in definitions.
func schemaIn(t *testing.T, definitions jsontext.Value) map[string]any {
	t.Helper()
	var list []any
	if err := json.Unmarshal(definitions, &list); err != nil {
		t.Fatal(err)
	}
	d := list[0].(map[string]any)
	if f, ok := d["functionDeclarations"].([]any); ok {
		d = f[0].(map[string]any)
	}
	if f, ok := d["function"].(map[string]any); ok {
		d = f
	}
	for _, member := range []string{"parameters", "input_schema", "parametersJsonSchema"} {
		if s, ok := d[member].(map[string]any); ok {
			return s
		}
	}
	return map[string]any{"type": "object"}
}

// FuzzConvertTools has no schema, call or result of a stranger do harm: what is
// written is JSON, and arguments are an object.
func FuzzConvertTools(f *testing.F) {
	f.Add(`{"type":"object","properties":{"$a":{"$ref":"#/properties/b"},"b":{"oneOf":[{"type":"null"}]}}}`, `{"_a_0":null}`)
	f.Add(`{"$ref":"#"}`, `{"arguments":{}}`)
	f.Add(`{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"arguments":{"a":[null]}}`)
	f.Add(`{"type":"object","properties":{"":{"items":[true],"enum":[null,{}]}},"dependencies":{"a":7}}`, `[]`)
	f.Add(`{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"type":"object","properties":{"b":{"type":"string"}}}]}},"additionalProperties":false}`, `{"a":{"b":null}}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		for _, format := range formats() {
			for _, strict := range []bool{false, true} {
				m, err := client.ConvertTools(format, []mcp.Tool{toolOf("t", schema)}, &client.ConvertOptions{Strict: strict})
				if !m.Definitions().IsValid() {
					t.Fatalf("%s: %q: %s", format, schema, m.Definitions())
				}
				if err != nil {
					continue
				}
				calls, err := m.Calls(callOf(format, "t", args))
				if err != nil || len(calls) != 1 || calls[0].Err != nil {
					continue
				}
				if got := calls[0].Params.Arguments; !got.IsValid() || got.Kind() != '{' {
					t.Fatalf("%s: %q: %q became %s", format, schema, args, got)
				}
			}
		}
	})
}
