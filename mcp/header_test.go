package mcp_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestHeaderValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ value, header string }{
		{"us-west1", "us-west1"},
		{"", ""},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?BASE64?literal?=", "=?BASE64?literal?="},
		{"=?base64?half", "=?base64?half"},
		{"=?base64?=", "=?base64?="}, // the marks overlap: not a pair
		{"a\tb", "=?base64?YQli?="},
		{"a b", "a b"},
		{"-7", "-7"},
		{"\x7f", "=?base64?fw==?="},
	} {
		if got := mcp.EncodeHeaderValue(tt.value); got != tt.header {
			t.Errorf("EncodeHeaderValue(%q) = %q, want %q", tt.value, got, tt.header)
		}
		got, err := mcp.DecodeHeaderValue(tt.header)
		if err != nil || got != tt.value {
			t.Errorf("DecodeHeaderValue(%q) = %q, %v, want %q", tt.header, got, err, tt.value)
		}
	}
}

func TestDecodeHeaderValueStrict(t *testing.T) {
	t.Parallel()
	for _, v := range []string{
		"=?base64?SGVsbG8?=",    // no padding
		"=?base64?SGVs bG8=?=",  // space
		"=?base64?SGVsbG8_?=",   // URL alphabet: '_'
		"=?base64?SGVsbG9=?=",   // trailing bits
		"=?base64?/w==?=",       // not UTF-8
		"=?base64?SGVs\nbG8=?=", // newline, which Go's decoder skips
		"a\tb", "a\x00b", "é",
	} {
		if got, err := mcp.DecodeHeaderValue(v); err == nil {
			t.Errorf("DecodeHeaderValue(%q) = %q, want an error", v, got)
		}
	}
	if got, err := mcp.DecodeHeaderValue(" \tv \t"); err != nil || got != "v" {
		t.Errorf("whitespace around the value: got %q, %v", got, err)
	}
}

func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"", "a", " a", "é", "=?base64?YQ==?=", "=?base64?=", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := mcp.EncodeHeaderValue(s)
		for i := range len(h) {
			if h[i] < ' ' || h[i] > '~' {
				t.Fatalf("EncodeHeaderValue(%q) = %q is not visible ASCII", s, h)
			}
		}
		got, err := mcp.DecodeHeaderValue(h)
		if err != nil {
			if s != string([]rune(s)) { // not UTF-8: refused on receipt
				return
			}
			t.Fatalf("decode of %q (from %q): %v", h, s, err)
		}
		if got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
		mcp.DecodeHeaderValue(s)
	})
}

func TestParamHeaders(t *testing.T) {
	t.Parallel()
	const ok = `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Count"}}},
		"dry":{"type":"boolean","x-mcp-header":"Method"},
		"x-mcp-header":{"type":"string"},
		"free":{"default":{"x-mcp-header":"no annotation"}}}}`
	got, err := mcp.ParamHeaders(jsontext.Value(ok))
	if err != nil {
		t.Fatal(err)
	}
	want := []mcp.ParamHeader{
		{Path: []string{"deep", "n"}, Name: "Count", Type: "integer"},
		{Path: []string{"dry"}, Name: "Method", Type: "boolean"},
		{Path: []string{"region"}, Name: "Region", Type: "string"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, prop := range map[string]string{
		"empty":       `{"type":"string","x-mcp-header":""}`,
		"space":       `{"type":"string","x-mcp-header":"a b"}`,
		"colon":       `{"type":"string","x-mcp-header":"a:b"}`,
		"control":     `{"type":"string","x-mcp-header":"a\n"}`,
		"non-ASCII":   `{"type":"string","x-mcp-header":"é"}`,
		"escaped key": `{"type":"string","x\u002dmcp-header":""}`,
		"not text":    `{"type":"string","x-mcp-header":1}`,
		"number":      `{"type":"number","x-mcp-header":"A"}`,
		"object":      `{"type":"object","x-mcp-header":"A"}`,
		"no type":     `{"x-mcp-header":"A"}`,
		"type list":   `{"type":["string","null"],"x-mcp-header":"A"}`,
		"items":       `{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`,
		"prefixItems": `{"type":"array","prefixItems":[{"type":"string","x-mcp-header":"A"}]}`,
		"anyOf":       `{"anyOf":[{"type":"string","x-mcp-header":"A"}]}`,
		"in anyOf":    `{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
		"not":         `{"not":{"type":"string","x-mcp-header":"A"}}`,
		"twice":       `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
	} {
		if got, err := mcp.ParamHeaders(jsontext.Value(`{"properties":{"p":` + prop + `}}`)); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
	for name, schema := range map[string]string{
		"root":  `{"type":"string","x-mcp-header":"A"}`,
		"$defs": `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`,
	} {
		if got, err := mcp.ParamHeaders(jsontext.Value(schema)); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

func TestParamHeaderValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typ, arg, want string
		ok             bool
	}{
		{"string", `"a"`, "a", true},
		{"string", `""`, "", true},
		{"string", `null`, "", false},
		{"string", `1`, "", false},
		{"boolean", `true`, "true", true},
		{"integer", `42`, "42", true},
		{"integer", `-7`, "-7", true},
		{"integer", `-0`, "0", true},
		{"integer", `42.0`, "42", true},
		{"integer", `1e2`, "100", true},
		{"integer", `1.5`, "", false},
		{"integer", `9007199254740991`, "9007199254740991", true},
		{"integer", `9007199254740992`, "", false},
		{"integer", `1e300`, "", false},
	} {
		h := mcp.ParamHeader{Path: []string{"o", "v"}, Name: "V", Type: tt.typ}
		got, ok := h.Value(jsontext.Value(`{"x":{"v":9},"o":{"a":[],"v": ` + tt.arg + ` }}`))
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s %s: got %q, %v, want %q, %v", tt.typ, tt.arg, got, ok, tt.want, tt.ok)
		}
	}
	h := mcp.ParamHeader{Path: []string{"v"}, Type: "string"}
	for _, args := range []string{``, `null`, `[]`, `{}`, `{"o":{"v":"x"}}`, `{"v"`} {
		if got, ok := h.Value(jsontext.Value(args)); ok {
			t.Errorf("Value(%s) = %q, want nothing", args, got)
		}
	}
}
