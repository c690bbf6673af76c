package server

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
)

type level int

func (l *level) UnmarshalText(text []byte) error {
	*l = level(len(text))
	return nil
}

type kinds struct {
	Text    string         `json:"text"`
	Yes     bool           `json:"yes,omitzero"`
	Real    float64        `json:"real"`
	Small   float32        `json:"small"`
	Int     int            `json:"int"`
	Byte    uint8          `json:"byte"`
	Short   int16          `json:"short"`
	Big     uint64         `json:"big"`
	List    []string       `json:"list"`
	Map     map[string]int `json:"map"`
	Pointer *string        `json:"pointer"`
	Raw     jsontext.Value `json:"raw"`
	Any     any            `json:"any"`
	Level   level          `json:"level"`
	Hidden  int            `json:"-"`
	Untag   string
}

// FuzzArguments compares with the JSON package.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"text":"a\n\u00e9","yes":true,"real":1.5e3,"small":0.1,"int":-7,"byte":255,"short":-32768,"big":18446744073709551615}`,
		`{"list":["a"],"map":{"k":1},"pointer":"p","raw":{"a":1},"any":[1,null],"level":"high","Untag":"u","Hidden":5,"-":6}`,
		`{"text":null,"yes":null,"real":null,"list":null,"pointer":null,"raw":null}`, `{"byte":256}`, `{"short":32768}`, `{"int":1.0}`,
		`{"int":3e1}`, `{"real":1e999}`, `{"small":1e39}`, `{"text":7}`, `{"yes":"true"}`, `{"untag":"u","TEXT":"t"}`, `{"te\u0078t":"x"}`, `[]`, `7`, `{"big":-1}`, `{"int":-0}`, `{"real":-0}`,
	} {
		f.Add(s)
	}
	r := newArgumentReader(reflect.TypeFor[kinds]())
	f.Fuzz(func(t *testing.T, s string) {
		args := jsontext.Value(s)
		if !args.IsValid() || args.Kind() != '{' || args[0] != '{' {
			return
		}
		var fast, slow kinds
		err := json.Unmarshal(args, &slow)
		read, _ := r.read(args, reflect.ValueOf(&fast).Elem())
		if !read {
			return
		}
		if err != nil {
			t.Fatalf("%s is read, but the package says %v", s, err)
		}
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Fatalf("%s: (-package +reader)\n%s", s, diff)
		}
	})
}

// Types that the reader must leave alone, and ones that it must take.
func TestArgumentReaderTypes(t *testing.T) {
	t.Parallel()
	type base struct{ A string }
	for _, tt := range []struct {
		v    any
		want bool
	}{
		{struct{ A string }{}, true},
		{struct {
			A int `json:"a,omitempty"`
		}{}, true},
		{struct{}{}, true},
		{struct{ base }{}, false},
		{struct{ a string }{}, false},
		{struct {
			A int `json:",string"`
		}{}, false},
		{struct {
			A int `json:"'quoted'"`
		}{}, false},
		{struct {
			A time.Time `json:"a,format:DateOnly"`
		}{}, false},
		{time.Time{}, false},
		{map[string]any{}, false},
		{jsontext.Value{}, false},
	} {
		if got := newArgumentReader(reflect.TypeOf(tt.v)).plain; got != tt.want {
			t.Errorf("%T: got %v, want %v", tt.v, got, tt.want)
		}
	}
}

// plainKinds are the kinds whose reading proves that the schema is met.
type plainKinds struct {
	Text  string  `json:"text"`
	Yes   bool    `json:"yes,omitzero"`
	Real  float64 `json:"real,omitempty"`
	Small float32 `json:"small,omitzero"`
	Int   int     `json:"int"`
	Byte  uint8   `json:"byte,omitzero"`
	Short int16   `json:"short,omitzero"`
	Big   uint64  `json:"big,omitzero"`
}

// FuzzProof compares the proof with the validator.
func FuzzProof(f *testing.F) {
	for _, s := range []string{
		`{"text":"a","int":1}`, `{"text":"a"}`, `{"text":"a","int":1,"byte":255,"short":-1,"big":1,"yes":true,"real":1,"small":2.5}`,
		`{"text":"a","int":1.0}`, `{"text":"a","int":1,"more":1}`, `{"text":null,"int":1}`, `{"text":"a","int":1,"byte":-1}`, `{"text":"a","int":1,"short":40000}`,
	} {
		f.Add(s)
	}
	s := New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	var schema jsontext.Value
	r, err := s.input(&schema, reflect.TypeFor[plainKinds]())
	if err != nil || !r.proves {
		f.Fatalf("%v, proves %v", err, r.proves)
	}
	v, err := compileObject(schema, s.opts.Limits)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := jsontext.Value(s)
		if !args.IsValid() || args.Kind() != '{' || args[0] != '{' {
			return
		}
		var in plainKinds
		_, fits := r.read(args, reflect.ValueOf(&in).Elem())
		if err := v.check("arguments", args); fits && err != nil {
			t.Fatalf("%s is taken, but %v", s, err)
		}
	})
}

// A type whose schema says more than its fields is always checked.
func TestNoProof(t *testing.T) {
	t.Parallel()
	s := New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	for _, in := range []any{
		struct {
			A int `json:"a" jsonschema:"minimum=1"`
		}{},
		struct {
			A string `json:"a" jsonschema:"enum=a|b"`
		}{},
		struct {
			A []int `json:"a"`
		}{},
		struct {
			A string `json:"a,omitzero" jsonschema:"default=x"`
		}{},
	} {
		var schema jsontext.Value
		if r, err := s.input(&schema, reflect.TypeOf(in)); err != nil || r.proves {
			t.Errorf("%T: %v, proves %v", in, err, r != nil && r.proves)
		}
	}
}
