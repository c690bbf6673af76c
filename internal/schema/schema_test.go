package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenon-mcp/tenon/internal/schema"
)

func mustCompile(t testing.TB, raw string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(raw), unlimited)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s
}

const draft07 = `"$schema":"http://json-schema.org/draft-07/schema#"`

// Each row is a schema, values that fit separated by spaces, and those that do
// not.
var keywordTests = []struct{ name, schema, fit, unfit string }{
	{"true", `true`, `1 null {}`, ``},
	{"false", `false`, ``, `1 null {}`},
	{"empty", `{}`, `1 null {}`, ``},
	{"type", `{"type":"integer"}`, `1 -0 1.0 1e3 1.5e1 100e-2 1e400 12345678901234567890`, `1.5 1e-1 "1" null 123.456e2 1e-400`},
	{"number", `{"type":"number"}`, `1 1.5 -0.0 1e999`, `"1" true`},
	{"types", `{"type":["null","string"]}`, `null "a"`, `1 [] {} true`},
	{"others", `{"type":["boolean","array","object"]}`, `true false [] {}`, `null 1 ""`},
	{"enum", `{"enum":["a",1,null,true,[1,{"b":2,"a":1.0}]]}`, `"a" "\u0061" 1 1.0 10e-1 null true [1.0,{"a":1,"b":2e0}]`, `"b" 2 false [1] [1,{"a":1}] [1,{"a":1,"b":2,"c":3}] {"a":1}`},
	{"many words", `{"enum":["a","b","c","d","e","f","g","h","i","j"]}`, `"a" "j" "\u006a"`, `"k" "" 1`},
	{"no enum", `{"enum":[]}`, ``, `1 ""`},
	{"const", `{"const":9007199254740993}`, `9007199254740993 9007199254740993.0 900719925474099.3e1`, `9007199254740992 "9007199254740993"`},
	{"const zero", `{"const":0}`, `0 -0 0.0 0e5`, `1 false null`},
	{"const object", `{"const":{"\u0061":[]}}`, `{"a":[]}`, `{"a":[0]} {"b":[]} {} []`},
	{"enum and const", `{"enum":[1,2],"const":2}`, `2`, `1`},
	{"minimum", `{"minimum":1.5}`, `1.5 1.50 2 15e-1 "a" null`, `1.49999999999999999999999999 -2 0 -1.5e99`},
	{"maximum", `{"maximum":-9007199254740993}`, `-9007199254740993 -9007199254740994 -1e99`, `-9007199254740992 0 1e-99`},
	{"exclusive", `{"exclusiveMinimum":0,"exclusiveMaximum":1e2}`, `1e-999 99.99 1`, `0 100 -0.0 1e2 100.0 -1`},
	{"huge exponents", `{"maximum":1e999999999999}`, `1e999999999998 1`, `1.1e999999999999 1e9999999999999999999999`},
	{"multipleOf", `{"multipleOf":0.1}`, `0.3 1 0 -7.7 1e300 123456789012345678901234567890.1`, `0.25 1e-2 0.1000000000000000000001`},
	{"multipleOf integer", `{"multipleOf":7}`, `7 14.0 -21 7e100 "a"`, `1 7.5 1e100`},
	{"length", `{"minLength":2,"maxLength":3}`, `"ab" "abc" "éé" "😀😀" "\ud83d\ude00\u00e9" 1`, `"a" "" "abcd" "😀" "\ud83d\ude00" "\u0061"`},
	{"pattern", `{"pattern":"^a\\.\"é"}`, `"a.\"éx" "a.\u0022\u00e9" 1`, `"b" "a"`},
	{"properties", `{"properties":{"a":{"type":"null"},"b":false}}`, `{} {"a":null} {"c":1} [] 1`, `{"a":1} {"\u0061":1} {"b":1}`},
	{"many properties", `{"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{},"j":{"type":"null"}},"additionalProperties":false}`, `{"j":null,"a":1}`, `{"j":1} {"k":1}`},
	{"required", `{"required":["a","b","a"]}`, `{"a":1,"b":2} {"b":1,"\u0061":2,"c":3} 1`, `{} {"a":1} {"a":1,"c":2}`},
	{"additional", `{"properties":{"a":{}},"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"null"}}`, `{"a":1,"xa":1,"c":null}`, `{"xa":null} {"c":1}`},
	{"closed", `{"additionalProperties":false}`, `{} 1`, `{"a":1}`},
	{"patternProperties", `{"patternProperties":{"a":{"minimum":1},"b":{"maximum":3}}}`, `{"ab":2,"c":9} {"a":9,"b":0}`, `{"ab":4} {"ab":0} {"\u0061":0}`},
	{"propertyNames", `{"propertyNames":{"maxLength":1}}`, `{"a":1,"é":2,"\u0061":3} 1`, `{"ab":1}`},
	{"size", `{"minProperties":1,"maxProperties":2}`, `{"a":1} {"a":1,"b":1} []`, `{} {"a":1,"b":1,"c":1}`},
	{"items", `{"items":{"type":"integer"}}`, `[] [1,2.0] {}`, `["a"] [1,null]`},
	{"prefixItems", `{"prefixItems":[{"type":"integer"},true],"items":{"type":"null"}}`, `[] [1] [1,"a",null]`, `["a"] [1,1,1]`},
	{"items length", `{"minItems":1,"maxItems":2}`, `[1] [1,2] "a"`, `[] [1,2,3]`},
	{"uniqueItems", `{"uniqueItems":true}`, `[] [1,"1",true,null] [{"a":1},{"a":2}] [[1],[2]] [1,2,3,4,5,6,7,8,9,"a",true,[1],{"a":[]}]`, `[1,1.0] [{"a":1,"b":2},{"b":2,"a":1}] ["a","\u0061"] [1,2,3,4,5,6,7,8,9,10,0.1e1] [{},[],1,2,3,4,5,6,7,{"a":0,"b":-0},{"b":0.0,"a":0}] [0,1,2,3,4,5,6,7,8,9,-0.0] [[],1,2,3,4,5,6,7,8,9,[]]`},
	{"contains", `{"contains":{"type":"null"}}`, `[null] [1,null] {}`, `[] [1]`},
	{"contains some", `{"contains":{"type":"null"},"minContains":2,"maxContains":3}`, `[null,1,null] [null,null,null]`, `[null] [null,null,null,null]`},
	{"contains none", `{"contains":{"type":"null"},"minContains":0}`, `[] [1] [null]`, ``},
	{"allOf", `{"allOf":[{"minimum":1},{"maximum":2}]}`, `1 2`, `0 3`},
	{"anyOf", `{"anyOf":[{"type":"null"},{"minimum":2,"type":"integer"}]}`, `null 2`, `1 "a"`},
	{"oneOf", `{"oneOf":[{"minimum":1},{"maximum":2}]}`, `0 3`, `1 2`},
	{"not", `{"not":{"type":"null"}}`, `1`, `null`},
	{"if", `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1,"b":1} {"c":1}`, `{"a":1} {}`},
	{"if alone", `{"if":false,"then":false}`, `1`, ``},
	{"then alone", `{"then":false,"else":false}`, `1`, ``},
	{"dependentRequired", `{"dependentRequired":{"a":["b","c"]}}`, `{} {"b":1} {"a":1,"b":1,"c":1}`, `{"a":1} {"a":1,"b":1}`},
	{"dependentSchemas", `{"dependentSchemas":{"a":{"maxProperties":1}}}`, `{"a":1} {"b":1,"c":1} []`, `{"a":1,"b":1}`},
	{"$ref", `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"null"}}}`, `null`, `1`},
	{"$ref percent", `{"$ref":"#/$defs/a%20b","$defs":{"a b":{"type":"null"}}}`, `null`, `1`},
	{"$ref with others", `{"$ref":"#/$defs/a","minimum":1,"$defs":{"a":{"maximum":2}}}`, `1 2`, `0 3`},
	{"$ref to root", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{"next":{"next":{}}}`, `{"next":{"next":1}}`},
	{"$anchor", `{"items":{"$ref":"#n"},"$defs":{"x":{"$anchor":"n","type":"null"}}}`, `[null]`, `[1]`},
	{"$id", `{"items":{"$ref":"#/$defs/r"},"$defs":{"r":{"$id":"https://a.example/r","items":{"$ref":"#/$defs/x"},"$defs":{"x":{"type":"null"}}},"x":{"type":"string"}}}`, `[[null]]`, `[["a"]]`},
	{"$dynamicRef", `{"$dynamicAnchor":"n","type":"array","items":{"$dynamicRef":"#n"}}`, `[] [[],[[]]]`, `[1] [[1]]`},
	{"$dynamicRef of another", `{"$id":"https://a.example/strings","$ref":"#/$defs/list","$defs":{"x":{"$dynamicAnchor":"n","type":"string"},
		"list":{"$id":"https://a.example/list","items":{"$dynamicRef":"#n"},"$defs":{"any":{"$dynamicAnchor":"n"}}}}}`, `[] ["a"]`, `[1]`},
	{"unevaluatedProperties", `{"allOf":[{"properties":{"a":{}}}],"properties":{"b":{}},"unevaluatedProperties":false}`, `{"a":1,"b":1}`, `{"c":1}`},
	{"unevaluated in alternatives", `{"anyOf":[{"properties":{"a":{"type":"null"}},"required":["a"]},{"properties":{"b":{}}}],"unevaluatedProperties":{"type":"string"}}`, `{"a":null,"b":1} {"b":1,"a":"x"} {"c":"x"}`, `{"a":1} {"c":1}`},
	{"unevaluated beside a cousin", `{"allOf":[{"properties":{"a":{}}},{"unevaluatedProperties":false}],"unevaluatedProperties":true}`, `{}`, `{"a":1}`},
	{"unevaluated with dependentSchemas", `{"dependentSchemas":{"a":{"properties":{"a":{}}}},"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1} {"a":1,"b":1}`},
	{"unevaluated inside", `{"allOf":[{"unevaluatedProperties":true}],"unevaluatedProperties":false}`, `{"a":1}`, ``},
	{"unevaluatedItems", `{"prefixItems":[{}],"contains":{"type":"null"},"unevaluatedItems":false}`, `[1,null] [null]`, `[1,null,1] [1,2]`},
	{"format", `{"format":"email","contentSchema":false}`, `"x"`, ``},
	{"unknown keyword", `{"x-mine":{"type":7},"$vocabulary":{}}`, `1`, ``},
	{"draft-07 $ref", `{` + draft07 + `,"$ref":"#/definitions/a","minimum":1,"definitions":{"a":{"maximum":2}}}`, `0`, `3`},
	{"draft-07 items", `{` + draft07 + `,"items":[{"type":"null"}],"additionalItems":{"type":"integer"},"prefixItems":[false]}`, `[null,1]`, `[1] [null,null]`},
	{"draft-07 additionalItems", `{` + draft07 + `,"additionalItems":false}`, `[1]`, ``},
	{"draft-07 dependencies", `{` + draft07 + `,"dependencies":{"a":["b"],"b":{"required":["c"]}},"dependentRequired":{"a":["z"]}}`, `{"a":1,"b":1,"c":1}`, `{"a":1} {"b":1}`},
	{"draft-07 anchor", `{` + draft07 + `,"items":{"$ref":"#n"},"definitions":{"x":{"$id":"#n","type":"null"}}}`, `[null]`, `[1]`},
	{"draft-07 newer keywords", `{` + draft07 + `,"contains":{"type":"null"},"minContains":2,"unevaluatedItems":false}`, `[null,1]`, `[1]`},
	{"older spelling", `{"items":[{"type":"null"}],"additionalItems":false,"dependencies":{"a":["b"]}}`, `[null] {"a":1,"b":1}`, `[1] [null,1] {"a":1}`},
}

func TestKeywords(t *testing.T) {
	t.Parallel()
	for _, tt := range keywordTests {
		s := mustCompile(t, tt.schema)
		for v := range strings.FieldsSeq(tt.fit) {
			if err := s.Validate([]byte(v)); err != nil {
				t.Errorf("%s: %s: %v", tt.name, v, err)
			}
		}
		for v := range strings.FieldsSeq(tt.unfit) {
			e, ok := errors.AsType[*schema.Error](s.Validate([]byte(v)))
			if !ok || len(e.Problems) == 0 || e.Problems[0].Rule == "" || e.Unwrap() != nil {
				t.Errorf("%s: %s: got %+v", tt.name, v, e)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","properties":{
		"n":{"type":"integer","minimum":1,"multipleOf":2},"s":{"type":"string","maxLength":3,"pattern":"^a"},"e":{"enum":["x",2]},
		"l":{"items":{"type":"object","required":["k"]},"minItems":2,"uniqueItems":true},
		"o":{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]},"u":{"anyOf":[{"type":"null"},{"type":"integer","maximum":3}]},
		"v":{"anyOf":[{"minimum":3},{"minimum":4}]},"w":{"anyOf":[{"type":"null"},{"type":"string"}]},"no":{"not":{"const":1}},"f":false,
		"c":{"contains":{"const":1}},"d":{"dependentRequired":{"a":["b"]}},"p":{"propertyNames":{"maxLength":1}},"many":{"oneOf":[{},{}]}
	},"required":["n"],"additionalProperties":false}`
	s := mustCompile(t, form)
	for _, tt := range []struct{ value, want string }{
		{`{"n":2}`, ""},
		{`7`, "value: must be object, not integer"},
		{`{}`, `value: "n" is required`},
		{`{"n":1.5}`, "value.n: must be integer, not number"},
		{`{"n":0}`, "value.n: must be at least 1"},
		{`{"n":3}`, "value.n: must be a multiple of 2"},
		{`{"n":null,"s":"secret"}`, "value.n: must be integer, not null; value.s: must have at most 3 characters"},
		{`{"n":2,"s":"bbb"}`, `value.s: must match the pattern "^a"`},
		{`{"n":2,"e":"secret"}`, `value.e: must be one of "x", 2`},
		{`{"n":2,"l":[{}]}`, `value.l[0]: "k" is required; value.l: must have at least 2 items`},
		{`{"n":2,"l":[{"k":1},{"k":1}]}`, `value.l: must not have the same item twice`},
		{`{"n":2,"o":"secret"}`, `value.o: must be one of "a", "b"`},
		{`{"n":2,"u":4}`, "value.u: must be at most 3"},
		{`{"n":2,"u":"secret"}`, "value.u: must be null or integer, not string"},
		{`{"n":2,"v":1}`, "value.v: fits none of the alternatives"},
		{`{"n":2,"w":1}`, "value.w: must be null or string, not integer"},
		{`{"n":2,"no":1}`, "value.no: is what the schema excludes with not"},
		{`{"n":2,"f":1}`, "value.f: is not allowed"},
		{`{"n":2,"c":[2]}`, "value.c: has no item of the kind that it must contain"},
		{`{"n":2,"d":{"a":1}}`, `value.d: "b" is required beside "a"`},
		{`{"n":2,"p":{"ab":1}}`, `value.p: "ab" is not allowed as a name`},
		{`{"n":2,"many":1}`, "value.many: must fit one of the alternatives only, and fits several"},
		{`{"n":2,"zz":"secret"}`, `value: "zz" is not known here; known are: c, d, e, f, l, many, n, no, o, p, s, u, v, w`},
		{`{"n":2,"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1}`, "5"},
	} {
		err := s.Validate([]byte(tt.value))
		if len(tt.want) == 1 {
			if e, _ := errors.AsType[*schema.Error](err); len(e.Problems) != 5 {
				t.Errorf("%s: %d problems", tt.value, len(e.Problems))
			}
			continue
		}
		if got := text(err); got != tt.want || strings.Contains(got, "secret") {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.value, got, tt.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestErrorFields(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"properties":{"a/b":{"items":{"minLength":2}}}}`)
	e, _ := errors.AsType[*schema.Error](s.Validate([]byte(`{"\u0061/b":["xx","x"]}`)))
	want := []schema.Problem{{Pointer: "/a~1b/1", Rule: "minLength", Text: "must have at least 2 characters"}}
	if d := cmp.Diff(want, e.Problems, cmpopts.IgnoreUnexported(schema.Problem{})); d != "" {
		t.Error(d)
	}
	if got := e.Explain("arguments"); got != "arguments.a/b[1]: must have at least 2 characters" {
		t.Error(got)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, want string }{
		{``, "not valid JSON"},
		{`{`, "not valid JSON"},
		{`{"a":1,"a":2}`, "not valid JSON"},
		{`7`, "malformed"},
		{`{"type":7}`, "malformed"},
		{`{"type":"any"}`, "malformed: type must be"},
		{`{"type":[]}`, "malformed"},
		{`{"properties":{"a":{"type":"strin"}}}`, `at "#/properties/a"`},
		{`{"enum":1}`, "malformed"},
		{`{"minimum":"1"}`, "malformed"},
		{`{"minLength":-1}`, "malformed"},
		{`{"minLength":1.5}`, "malformed"},
		{`{"multipleOf":0}`, "more than 0"},
		{`{"multipleOf":-1}`, "more than 0"},
		{`{"multipleOf":0.12345678901234567891}`, "digits"},
		{`{"required":"a"}`, "malformed: required"},
		{`{"required":[1]}`, "malformed"},
		{`{"properties":[]}`, "malformed: properties must be an object"},
		{`{"properties":{"a":1}}`, "malformed"},
		{`{"allOf":{}}`, "malformed: allOf must be an array"},
		{`{"anyOf":[]}`, "malformed: anyOf"},
		{`{"not":1}`, "malformed"},
		{`{"uniqueItems":1}`, "malformed"},
		{`{"title":1}`, "malformed: title"},
		{`{"dependentRequired":{"a":1}}`, "malformed"},
		{`{"dependencies":{"a":1}}`, "malformed"},
		{`{"$ref":1}`, "malformed"},
		{`{"pattern":1}`, "malformed"},
		{`{"pattern":"(?=a)"}`, "cannot be compiled"},
		{`{"patternProperties":{"(":{}}}`, "cannot be compiled"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `"http://json-schema.org/draft-04/schema#"`},
		{`{"$schema":1}`, "malformed"},
		{`{"$ref":"https://example.com/"}`, "only references inside"},
		{`{"$ref":"x.json#/a"}`, "only references inside"},
		{`{"$ref":"#/$defs/a"}`, "where there is no schema"},
		{`{"$ref":"#a"}`, "where there is no schema"},
		{`{"$dynamicRef":"#a"}`, "where there is no schema"},
		{`{"$ref":"#/properties","properties":{}}`, "where there is no schema"},
		{`{"$ref":"#"}`, "would not end"},
		{`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`, "would not end"},
		{`{"$dynamicAnchor":"a","if":{"$dynamicRef":"#a"}}`, "would not end"},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "twice"},
		{`{"$id":"#a"}`, "fragment"},
		{`{"items":{"items":{"items":{"items":{}}}}}`, "Limits.SchemaDepth (3)"},
		{`{"allOf":[{},{},{},{},{},{},{},{},{},{}]}`, "Limits.Subschemas (8)"},
		{`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{},{}]}}}`, "Limits.Subschemas (8)"},
		{`{"title":"` + strings.Repeat("x", 300) + `"}`, "Limits.SchemaBytes (300)"},
	} {
		_, err := schema.Compile([]byte(tt.schema), schema.Limits{Bytes: 300, Depth: 3, Subschemas: 8})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.schema, err, tt.want)
		}
	}
}

// What one level of a value can double ends all the same.
func TestTooCostly(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["x"]},{"properties":{"a":{"$ref":"#"}},"required":["y"]}]}`)
	v := strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64)
	if err := s.Validate([]byte(v)); !errors.Is(err, schema.ErrTooCostly) {
		t.Errorf("doubling: %v", err)
	}
	s = mustCompile(t, `{"pattern":"(x+x+){500}y"}`)
	if err := s.Validate([]byte(`"` + strings.Repeat("x", 1<<20) + `"`)); !errors.Is(err, schema.ErrTooCostly) {
		t.Errorf("pattern: %v", err)
	}
	s = mustCompile(t, `{"items":{"$ref":"#"}}`)
	if err := s.Validate([]byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))); err != nil {
		t.Errorf("deep: %v", err)
	}
	if err := s.Validate([]byte(strings.Repeat("[", 1e6))); err == nil {
		t.Error("endless: no error")
	}
	s = mustCompile(t, `{"uniqueItems":true}`)
	many := "[" + strings.Repeat(`{"a":[1,2,"x"],"b":{}},`, 20_000) + "1]"
	if err := s.Validate([]byte(many)); err == nil || errors.Is(err, schema.ErrTooCostly) {
		t.Errorf("many equal items: %v", err)
	}
}

func FuzzValidate(f *testing.F) {
	for _, tt := range keywordTests {
		f.Add(tt.schema, strings.ReplaceAll(tt.fit+" "+tt.unfit, "\n", " "))
	}
	f.Add(`{"items":{"$ref":"#"}}`, `[[[`)
	f.Fuzz(func(t *testing.T, raw, value string) {
		s, err := schema.Compile([]byte(raw), schema.Limits{Bytes: 1 << 16, Depth: 64, Subschemas: 1000})
		if err != nil {
			return
		}
		// Neither panics nor hangs, whether it is JSON or not.
		if e, ok := errors.AsType[*schema.Error](s.Validate([]byte(value))); ok && len(e.Problems) == 0 {
			t.Errorf("no problem in %v", e)
		}
	})
}
