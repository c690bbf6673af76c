package infer_test

import (
	"math/rand/v2"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/internal/infer"
)

// TestWhatIsWrittenFits makes types and values at random: what the JSON package
// writes fits both schemas of the type, says a validator that is not ours, and
// can be read again.
func TestWhatIsWrittenFits(t *testing.T) {
	t.Parallel()
	const seeds, values = 100, 5
	for seed := range uint64(seeds) {
		r := &random{rand.New(rand.NewPCG(seed, 1))}
		typ := r.structType(3)
		read, written := compiled(t, typ, in()), compiled(t, typ, out())
		for range values {
			v := reflect.New(typ)
			r.fill(v.Elem(), 4)
			text, err := json.Marshal(v.Interface(), written.Codec...)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, typ, err)
			}
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []validated{read, written} {
				if err := s.other.Validate(doc); err != nil {
					t.Fatalf("seed %d: %s: %s does not fit %s: %v", seed, typ, text, s.Text, err)
				}
			}
			if err := json.Unmarshal(text, reflect.New(typ).Interface(), read.Codec...); err != nil {
				t.Fatalf("seed %d: %s: %s: %v", seed, typ, text, err)
			}
		}
	}
}

type validated struct {
	*infer.Schema
	other *jsonschema.Schema
}

func compiled(t *testing.T, typ reflect.Type, o infer.Options) validated {
	t.Helper()
	s, err := infer.Of(typ, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := infer.Of(typ, o)
	if err != nil || string(again.Text) != string(s.Text) {
		t.Fatalf("%s: %s and %s, %v", typ, s.Text, again.Text, err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(s.Text)))
	if err != nil {
		t.Fatalf("%s: %v", s.Text, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:s", doc); err != nil {
		t.Fatal(err)
	}
	other, err := c.Compile("mem:s")
	if err != nil {
		t.Fatalf("%s: %v", s.Text, err)
	}
	return validated{s, other}
}

type random struct{ *rand.Rand }

// structType returns a struct of fields with tags.
func (r *random) structType(depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range 1 + r.IntN(6) {
		name := "F" + strconv.Itoa(i)
		tag := `json:"` + strings.ToLower(name)
		if r.IntN(3) == 0 {
			tag += ",omitzero"
		}
		if r.IntN(4) == 0 {
			tag += ",omitempty"
		}
		fields = append(fields, reflect.StructField{Name: name, Type: r.typ(depth), Tag: reflect.StructTag(tag + `" jsonschema:"some text"`)})
	}
	return reflect.StructOf(fields)
}

func (r *random) typ(depth int) reflect.Type {
	leaves := []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float64](), reflect.TypeFor[float32](), reflect.TypeFor[string](), reflect.TypeFor[[]byte](), reflect.TypeFor[[3]byte](),
		reflect.TypeFor[time.Time](), reflect.TypeFor[url.URL](), reflect.TypeFor[jsontext.Value](), reflect.TypeFor[any](),
		reflect.TypeFor[level](), reflect.TypeFor[page[Deep]](), reflect.TypeFor[embedding](), reflect.TypeFor[reverse](), reflect.TypeFor[nested](),
	}
	if depth == 0 {
		return leaves[r.IntN(len(leaves))]
	}
	switch r.IntN(8) {
	case 0:
		return reflect.PointerTo(r.typ(depth - 1))
	case 1:
		return reflect.SliceOf(r.typ(depth - 1))
	case 2:
		return reflect.MapOf(reflect.TypeFor[string](), r.typ(depth-1))
	case 3:
		return reflect.MapOf(reflect.TypeFor[int16](), r.typ(depth-1))
	case 4:
		return reflect.ArrayOf(r.IntN(3), r.typ(depth-1))
	case 5:
		return r.structType(depth - 1)
	}
	return leaves[r.IntN(len(leaves))]
}

// fill sets v to anything. At depth 0 what can be nil is.
func (r *random) fill(v reflect.Value, depth int) {
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		*to = time.Unix(r.Int64N(1e10), r.Int64N(1e9)).UTC()
		return
	case *url.URL:
		*to = url.URL{Scheme: "https", Host: "a.b", Path: "/" + r.word(), RawQuery: "q=" + r.word()}
		return
	case *jsontext.Value:
		*to = jsontext.Value([]string{`null`, `[1,"a"]`, `{"a":{}}`, `2.5`}[r.IntN(4)])
		return
	case *any:
		*to = []any{nil, 1.5, "a", []any{true}, map[string]any{"a": nil}}[r.IntN(5)]
		return
	}
	if depth == 0 && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Map || v.Kind() == reflect.Slice) || r.IntN(5) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(r.word())
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.NormFloat64() * 1e6)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		r.items(v, depth)
	case reflect.Array:
		r.items(v, depth)
	case reflect.Map:
		r.table(v, depth)
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() || f.Kind() == reflect.Struct {
				r.field(f, depth)
			}
		}
	default:
		r.integer(v)
	}
}

// field fills the exported fields of what is embedded, too.
func (r *random) field(v reflect.Value, depth int) {
	if v.CanSet() {
		r.fill(v, max(depth-1, 0))
		return
	}
	for _, f := range v.Fields() {
		if f.CanSet() {
			r.fill(f, max(depth-1, 0))
		}
	}
}

func (r *random) items(v reflect.Value, depth int) {
	for i := range v.Len() {
		r.fill(v.Index(i), max(depth-1, 0))
	}
}

func (r *random) table(v reflect.Value, depth int) {
	v.Set(reflect.MakeMap(v.Type()))
	for i := range r.IntN(3) {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if key.Kind() == reflect.String {
			key.SetString("key" + strconv.Itoa(i))
		} else {
			key.SetInt(int64(i))
		}
		r.fill(value, max(depth-1, 0))
		v.SetMapIndex(key, value)
	}
}

func (r *random) integer(v reflect.Value) {
	n := r.Uint64()
	if v.CanInt() {
		v.SetInt(int64(n) >> (64 - v.Type().Bits()))
		return
	}
	v.SetUint(n >> (64 - v.Type().Bits()))
}

func (r *random) word() string { return strings.Repeat("aé\"", r.IntN(3)) }
