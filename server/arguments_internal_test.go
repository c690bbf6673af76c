package server

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
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
		if !r.read(args, reflect.ValueOf(&fast).Elem()) {
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
