package infer_test

import (
	"encoding"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/infer"
	"github.com/tenon-mcp/tenon/internal/schema"
)

// in and out are options without limits.
func in(oneOf ...infer.OneOf) infer.Options {
	return infer.Options{Input: true, OneOf: oneOf, Limits: schema.Limits{Bytes: -1, Depth: -1, Subschemas: -1}}
}

func out(oneOf ...infer.OneOf) infer.Options {
	o := in(oneOf...)
	o.Input = false
	return o
}

func of[T any](t *testing.T, o infer.Options) *infer.Schema {
	t.Helper()
	s, err := infer.Of(reflect.TypeFor[T](), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type (
	Deep struct {
		ID   string `json:"id" jsonschema:"deep"`
		Both int    `json:"both"`
	}
	middle struct {
		*Deep

		Name string `json:"name"`
		Both int    `json:"both,omitzero"`
	}
	other struct {
		Name string
	}
	embedding struct {
		middle
		Named other          `json:"other"`
		Last  bool           `json:"last"`
		Inner other          `json:",embed"`
		Rest  map[string]int `json:",embed"`
	}

	page[T any] struct {
		Items []T      `json:"items"`
		Next  *page[T] `json:"next,omitzero"`
	}
	pair struct {
		Key   string   `json:"key"`
		Other *reverse `json:"other"`
	}
	reverse struct {
		Pairs map[string]pair `json:"pairs"`
	}
	nested map[string]nested
	tags   []string

	celsius float64
	level   int
)

func (celsius) JSONSchema() jsontext.Value {
	return jsontext.Value(`{"type":"number","minimum":-273.15,"description":"in degrees"}`)
}

func (level) MarshalText() ([]byte, error)       { return []byte("low"), nil }
func (l *level) UnmarshalText(text []byte) error { *l = level(len(text)); return nil }

var _ encoding.TextUnmarshaler = new(level)

func TestTypes(t *testing.T) {
	t.Parallel()
	type kinds struct {
		I8    int8            `json:"i8"`
		U     uint            `json:"u"`
		U16   uint16          `json:"u16"`
		F     float32         `json:"f"`
		Three [3]bool         `json:"three"`
		Bytes [2]byte         `json:"bytes"`
		ByInt map[int]string  `json:"byInt"`
		Any   map[string]any  `json:"any"`
		Text  int64           `json:"text,string"`
		Addr  netip.Addr      `json:"addr"`
		When  *time.Time      `json:"when"`
		Link  *url.URL        `json:"link,omitzero"`
		Level level           `json:"level"`
		Raw   *jsontext.Value `json:"raw,omitzero"`
		Anon  struct {
			X int
		} `json:"anon"`
	}
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`
	}
	for _, tt := range []struct {
		name      string
		got, want string
	}{
		{"kinds", text[kinds](t), object(`"i8":{"type":"integer","minimum":-128,"maximum":127},"u":{"type":"integer","minimum":0},`+
			`"u16":{"type":"integer","minimum":0,"maximum":65535},"f":{"type":"number"},`+
			`"three":{"type":"array","items":{"type":"boolean"},"minItems":3,"maxItems":3},"bytes":{"type":"string","contentEncoding":"base64"},`+
			`"byInt":{"type":"object","additionalProperties":{"type":"string"}},"any":{"type":"object","additionalProperties":{}},`+
			`"text":{"type":"string"},"addr":{"type":"string"},"when":{"type":["null","string"],"format":"date-time"},`+
			`"link":{"type":"string","format":"uri-reference"},"level":{"type":"string"},"raw":{},"anon":`+object(`"X":{"type":"integer"}`, `"X"`),
			`"i8","u","u16","f","three","bytes","byInt","any","text","addr","when","level","anon"`)},
		{"embedded", text[embedding](t), `{"type":"object","properties":{"id":{"type":"string","description":"deep"},"name":{"type":"string"},` +
			`"both":{"type":"integer"},"other":` + object(`"Name":{"type":"string"}`, `"Name"`) +
			`,"last":{"type":"boolean"},"Name":{"type":"string"}},"required":["name","other","last","Name"],"additionalProperties":{"type":"integer"}}`},
		{"generic", text[page[Deep]](t), `{"type":"object","properties":{"items":{"type":"array","items":` +
			object(`"id":{"type":"string","description":"deep"},"both":{"type":"integer"}`, `"id","both"`) + `},"next":{"$ref":"#/$defs/pageDeep"}},` +
			`"required":["items"],"additionalProperties":false,"$defs":{"pageDeep":{"type":"object","properties":{"items":{"type":"array","items":` +
			object(`"id":{"type":"string","description":"deep"},"both":{"type":"integer"}`, `"id","both"`) +
			`},"next":{"$ref":"#/$defs/pageDeep"}},"required":["items"],"additionalProperties":false}}}`},
		{"mutual", text[reverse](t), mutual},
		{"nested", text[nested](t), `{"type":"object","additionalProperties":{"$ref":"#/$defs/nested"},"$defs":{"nested":{"type":"object","additionalProperties":{"$ref":"#/$defs/nested"}}}}`},
		{"own", text[[]celsius](t), `{"type":"array","items":{"type":"number","minimum":-273.15,"description":"in degrees"}}`},
		{"nothing", text[struct{}](t), `{"type":"object","additionalProperties":false}`},
		{"any", text[any](t), `{}`},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

const mutual = `{"type":"object","properties":{"pairs":{"type":"object","additionalProperties":{"type":"object","properties":{"key":{"type":"string"},` +
	`"other":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/reverse"}]}},"required":["key","other"],"additionalProperties":false}}},"required":["pairs"],` +
	`"additionalProperties":false,"$defs":{"reverse":{"type":"object","properties":{"pairs":{"type":"object","additionalProperties":{"type":"object",` +
	`"properties":{"key":{"type":"string"},"other":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/reverse"}]}},"required":["key","other"],` +
	`"additionalProperties":false}}},"required":["pairs"],"additionalProperties":false}}}`

func text[T any](t *testing.T) string {
	t.Helper()
	return string(of[T](t, in()).Text)
}

func TestTags(t *testing.T) {
	t.Parallel()
	type T struct {
		Plain    string   `json:"a" jsonschema:"a colour, as people say, x = 1"`
		All      string   `json:"b" jsonschema:"one, of two,enum=red|blue,enum=dark\\|red,default=red,title=Colour,deprecated=true"`
		Keyed    string   `json:"c" jsonschema:"required,description=City, or town,minLength=1, maxLength=5"`
		Escaped  string   `json:"d" jsonschema:"sorted\\,by=name"`
		Number   *float64 `json:"e" jsonschema:"minimum=0.5,exclusiveMaximum=9,multipleOf=0.5,example=1,example=2.5"`
		Pattern  string   `json:"f" jsonschema:"pattern=^\\d{1,3}(,\\d{3})*$,format=number"`
		Items    tags     `json:"g" jsonschema:"enum=a|b,uniqueItems=true,maxItems=2,default=[\"a\"]"`
		Nullable *string  `json:"h" jsonschema:"enum=a|b"`
		Header   string   `json:"i" jsonschema:"where,x-mcp-header=Region"`
		Any      any      `json:"j" jsonschema:"enum=1|two|null"`
		Must     int      `json:"k" jsonschema:"required,default=5"`
		Small    uint8    `json:"l,omitzero" jsonschema:"maximum=10"`
		Tree     *page[T] `json:"m" jsonschema:"a tree"`
		Warm     celsius  `json:"n" jsonschema:"outside,maximum=60"`
	}
	want := `"a":{"type":"string","description":"a colour, as people say, x = 1"},` +
		`"b":{"type":"string","title":"Colour","description":"one, of two","enum":["red","blue","dark|red"],"default":"red","deprecated":true},` +
		`"c":{"type":"string","description":"City, or town","minLength":1,"maxLength":5},"d":{"type":"string","description":"sorted,by=name"},` +
		`"e":{"type":["null","number"],"minimum":0.5,"exclusiveMaximum":9,"multipleOf":0.5,"examples":[1,2.5]},` +
		`"f":{"type":"string","pattern":"^\\d{1,3}(,\\d{3})*$","format":"number"},` +
		`"g":{"type":"array","items":{"type":"string","enum":["a","b"]},"uniqueItems":true,"maxItems":2,"default":["a"]},` +
		`"h":{"type":["null","string"],"enum":["a","b",null]},"i":{"type":"string","description":"where","x-mcp-header":"Region"},` +
		`"j":{"enum":[1,"two",null]},"k":{"type":"integer","default":5},"l":{"type":"integer","minimum":0,"maximum":10},` +
		`"m":{"description":"a tree","anyOf":[{"type":"null"},{"$ref":"#/$defs/pageT2"}]},` +
		`"n":{"type":"number","minimum":-273.15,"description":"outside","maximum":60}},` +
		`"required":["a","c","d","e","f","h","i","j","k","m","n"],`
	s := of[T](t, in())
	got, _, _ := strings.Cut(strings.TrimPrefix(string(s.Text), `{"type":"object","properties":{`), `"additionalProperties":false`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !s.Promises || of[Deep](t, out()).Promises {
		t.Error("tags that restrict are promises, and types are none")
	}
	filled := string(s.Defaults.Fill(jsontext.Value(`{"b":"blue","m":{"items":[{}]}}`)))
	if want := `{"b":"blue","m":{"items":[{"b":"red","g":["a"],"k":5}]},"g":["a"],"k":5}`; filled != want {
		t.Errorf("filled: %s", filled)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`field N: there is no keyword "minimun": there are description, title, enum`: fails[struct {
			N int `jsonschema:"minimun=1"`
		}](in()),
		`there is no keyword "maxlength": write maxLength=`: fails[struct {
			S string `jsonschema:"text,maxlength=1"`
		}](in()),
		`there is no keyword "by"`: fails[struct {
			S string `jsonschema:"sorted,by=name"`
		}](in()),
		`minLength=1: is for string, and the field is integer`: fails[struct {
			N int `jsonschema:"minLength=1"`
		}](in()),
		`minItems=x: must be a number`: fails[struct {
			N []int `jsonschema:"minItems=x"`
		}](in()),
		`minLength=-1: must be at least 0`: fails[struct {
			S string `jsonschema:"minLength=-1"`
		}](in()),
		`maximum=300: must be at most 255`: fails[struct {
			N uint8 `jsonschema:"maximum=300"`
		}](in()),
		`minimum=1.5: must be integer, not number`: fails[struct {
			N int `jsonschema:"minimum=1.5"`
		}](in()),
		`minimum=5: must be at most 3`: fails[struct {
			N int `jsonschema:"maximum=3,minimum=5"`
		}](in()),
		`uniqueItems=yes: must be true or false`: fails[struct {
			N []int `jsonschema:"uniqueItems=yes"`
		}](in()),
		`enum=1|x: must be integer, as JSON`: fails[struct {
			N int `jsonschema:"enum=1|x"`
		}](in()),
		`field N: default=9: must be at most 5`: fails[struct {
			N int `jsonschema:"maximum=5,default=9"`
		}](in()),
		`field S: default=c: must be one of "a", "b"`: fails[struct {
			S string `jsonschema:"default=c,enum=a|b"`
		}](in()),
		`field S: example=["c"]: [0]: must be one of "a", "b"`: fails[struct {
			S []*string `jsonschema:"enum=a|b,example=[\"c\"]"`
		}](in()),
		`field T: default=noon: cannot be read as time.Time`: fails[struct {
			T time.Time `jsonschema:"default=noon"`
		}](in()),
		`pattern at "#"`: fails[struct {
			S string `jsonschema:"pattern=("`
		}](in()),
		`"b" is a second description`: fails[struct {
			S string `jsonschema:"a,description=b"`
		}](in()),
		`minimum is there twice`: fails[struct {
			N int `jsonschema:"minimum=1,minimum=2"`
		}](in()),
		`jsonschema says required, and json that it may be left out`: fails[struct {
			N int `json:"n,omitzero" jsonschema:"required"`
		}](in()),
		`field F: func() has no form in JSON`:                             fails[struct{ F func() }](out()),
		`time.Duration has no form in JSON yet: take a number of seconds`: fails[struct{ D time.Duration }](in()),
		`map[bool]int has keys that are no names in JSON`:                 fails[map[bool]int](in()),
		`maxItems=1: must be at least 2`: fails[struct {
			N []int `jsonschema:"minItems=2,maxItems=1"`
		}](in()),
		`are behind the interface infer_test.shape: list them in Options.OneOf`: fails[struct{ S shape }](in()),
		`the method JSONSchema of infer_test.celsius, which is embedded`: fails[struct {
			celsius
			N int
		}](in()),
		`badOwn.JSONSchema: has a $ref`: fails[badOwn](in()),
		"unsupported `format` tag option": fails[struct {
			T time.Time `json:"t,format:RFC3339"`
		}](in()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

type badOwn struct{}

func (badOwn) JSONSchema() jsontext.Value {
	return jsontext.Value(`{"type":"array","items":{"$ref":"#"}}`)
}

func fails[T any](o infer.Options) error {
	_, err := infer.Of(reflect.TypeFor[T](), o)
	return err
}

type (
	shape  interface{ Area() float64 }
	circle struct {
		Kind string  `json:"kind" jsonschema:"const=circle"`
		R    float64 `json:"r" jsonschema:"default=1"`
	}
	square struct {
		Kind string  `json:"kind" jsonschema:"const=square"`
		Side float64 `json:"side"`
		In   []shape `json:"in,omitzero"`
	}
)

func (c circle) Area() float64  { return c.R * c.R * 3 }
func (s *square) Area() float64 { return s.Side * s.Side }

func TestOneOf(t *testing.T) {
	t.Parallel()
	type drawing struct {
		Shape shape   `json:"shape" jsonschema:"what to draw"`
		URL   url.URL `json:"url,omitzero"`
	}
	list := infer.NewOneOf[shape](circle{}, &square{})
	s := of[drawing](t, in(list))
	if !strings.Contains(string(s.Text), `"shape":{"$ref":"#/$defs/shape","description":"what to draw"}`) && !strings.Contains(string(s.Text), `"anyOf":[{`) {
		t.Error(string(s.Text))
	}
	var d drawing
	args := `{"shape":{"kind":"square","side":2,"in":[{"kind":"circle"},{"kind":"circle","r":3}]},"url":"https://a.b/c?d"}`
	if err := json.Unmarshal([]byte(args), &d, s.Codec...); err != nil {
		t.Fatal(err)
	}
	want := drawing{Shape: &square{Kind: "square", Side: 2, In: []shape{circle{"circle", 1}, circle{"circle", 3}}}, URL: url.URL{Scheme: "https", Host: "a.b", Path: "/c", RawQuery: "d"}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"shape":{"kind":"line"}}`), &d, s.Codec...); err == nil || !strings.Contains(err.Error(), "fits no type behind infer_test.shape") {
		t.Errorf("a line: %v", err)
	}
	raw, err := json.Marshal(want, of[drawing](t, out(list)).Codec...)
	if err != nil || !strings.Contains(string(raw), `"url":"https://a.b/c?d"`) {
		t.Errorf("%s, %v", raw, err)
	}
	for _, o := range []infer.OneOf{{}, infer.NewOneOf[shape](), infer.NewOneOf[shape](nil), infer.NewOneOf(1)} {
		if o.Check() == nil {
			t.Errorf("%v is fine", o)
		}
	}
}
