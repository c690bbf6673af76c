package infer

import (
	"encoding"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// inference walks the types that a type is made of.
type inference struct {
	Options
	found     map[reflect.Type]*found
	names     map[string]bool // under $defs
	recursive []*found
	unions    []*union // interfaces that were met
	urls      bool     // a URL was met
	promises  bool
	checks    []check
}

// found is what was found out about a type.
type found struct {
	reflect.Type
	schema   object
	defaults *Defaults
	done     bool
	name     string // under $defs: "" = it does not contain itself
}

// use returns the schema to write where a value of the type is.
func (f *found) use() object {
	if f.name != "" {
		return object{{"$ref", quote("#/$defs/" + f.name)}}
	}
	return append(object(nil), f.schema...)
}

// visit finds out about a type that is no pointer.
func (in *inference) visit(t reflect.Type) (*found, error) {
	if f := in.found[t]; f != nil {
		if !f.done && f.name == "" {
			f.name = in.name(t)
			in.recursive = append(in.recursive, f)
		}
		return f, nil
	}
	f := &found{Type: t, defaults: &Defaults{}}
	if t.Name() != "" { // what contains itself has a name
		in.found[t] = f
	}
	if err := in.describe(f); err != nil {
		return nil, err
	}
	f.done = true
	in.found[t] = f
	size := 0
	for _, m := range f.schema {
		size += len(m.name) + len(m.value)
	}
	if limit := in.Limits.Bytes; limit >= 0 && size > limit {
		return nil, fmt.Errorf("%s: the schema has more than %d bytes", t, limit)
	}
	return f, nil
}

func (in *inference) describe(f *found) error {
	t := f.Type
	if own, ok := reflect.TypeAssert[describer](reflect.New(t)); ok {
		return in.ownSchema(f, own)
	}
	if u := in.union(t); u != nil {
		return in.describeUnion(f, u)
	}
	if in.writtenItsWay(f) {
		return nil
	}
	var err error
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		f.schema, err = in.list(t, nil)
		if err == nil {
			f.defaults.inner, err = in.defaultsOf(t.Elem())
		}
		return err
	case reflect.Map:
		return in.describeMap(f)
	case reflect.Struct:
		return in.describeStruct(f)
	case reflect.Interface:
		if in.Input && t.NumMethod() > 0 {
			return fmt.Errorf("nothing says which types are behind the interface %s: list them in Options.OneOf", t)
		}
		return nil
	}
	return describeScalar(f)
}

func (in *inference) ownSchema(f *found, own describer) error {
	if f.Kind() == reflect.Struct {
		for field := range f.Fields() {
			if field.Anonymous && reflect.PointerTo(indirect(field.Type)).Implements(reflect.TypeFor[describer]()) {
				return fmt.Errorf("%s: the method JSONSchema of %s, which is embedded, would be about all of it: give the field a name", f.Type, field.Type)
			}
		}
	}
	text := own.JSONSchema()
	s, err := schema.Compile(text, in.Limits)
	switch {
	case err != nil:
		return fmt.Errorf("%s.JSONSchema: %w", f.Type, err)
	case text.Kind() != '{':
		return fmt.Errorf("%s.JSONSchema: schema is not an object", f.Type)
	case s.Refers():
		return fmt.Errorf("%s.JSONSchema: has a $ref, which means something else where the type is used", f.Type)
	}
	in.promises = true
	f.schema = parse(text)
	return nil
}

// writtenItsWay describes types that the JSON package does not write by their
// kind.
func (in *inference) writtenItsWay(f *found) bool {
	t := f.Type
	p := reflect.PointerTo(t)
	anything := p.Implements(reflect.TypeFor[json.MarshalerTo]()) || p.Implements(reflect.TypeFor[json.Marshaler]())
	text := p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextAppender]())
	if in.Input {
		anything = p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]())
		text = p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		f.schema = object{{"type", quote("string")}, {"format", quote("date-time")}}
	case t == reflect.TypeFor[url.URL]():
		in.urls = true
		f.schema = object{{"type", quote("string")}, {"format", quote("uri-reference")}}
	case t.Kind() == reflect.Interface:
		return false
	case anything: // jsontext.Value, or code of its own
	case text:
		f.schema = object{{"type", quote("string")}}
	case isBytes(t):
		f.schema = object{{"type", quote("string")}, {"contentEncoding", quote("base64")}}
	default:
		return false
	}
	return true
}

func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem() == reflect.TypeFor[byte]()
}

// list describes a slice or an array. Rules are for its innermost items.
func (in *inference) list(t reflect.Type, items []keyword) (object, error) {
	o := object{{"type", quote("array")}}
	elem, err := in.use(t.Elem(), spot{keywords: items})
	if err != nil {
		return nil, err
	}
	o.set("items", elem.text())
	if t.Kind() == reflect.Array {
		n := jsontext.Value(strconv.Itoa(t.Len()))
		o.set("minItems", n)
		o.set("maxItems", n)
	}
	return o, nil
}

func (in *inference) describeMap(f *found) error {
	if key := f.Key(); !isKey(key) {
		return fmt.Errorf("%s has keys that are no names in JSON", f.Type)
	}
	values, err := in.use(f.Elem(), spot{})
	if err != nil {
		return err
	}
	f.schema = object{{"type", quote("object")}, {"additionalProperties", values.text()}}
	f.defaults.inner, err = in.defaultsOf(f.Elem())
	return err
}

func isKey(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return true
	}
	switch t.Kind() {
	case reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return false
}

func describeScalar(f *found) error {
	t := f.Type
	bits := 0
	switch t.Kind() {
	case reflect.String:
		f.schema = object{{"type", quote("string")}}
		return nil
	case reflect.Bool:
		f.schema = object{{"type", quote("boolean")}}
		return nil
	case reflect.Float32, reflect.Float64:
		f.schema = object{{"type", quote("number")}}
		return nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		bits = t.Bits()
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Uintptr:
	default:
		return fmt.Errorf("%s has no form in JSON", t)
	}
	if t == reflect.TypeFor[time.Duration]() {
		return errors.New("time.Duration has no form in JSON yet: take a number of seconds, or a type with MarshalText and UnmarshalText")
	}
	f.schema = object{{"type", quote("integer")}}
	switch unsigned := t.Kind() >= reflect.Uint; {
	case unsigned:
		f.schema.set("minimum", jsontext.Value("0"))
		if bits > 0 {
			f.schema.set("maximum", jsontext.Value(strconv.FormatInt(1<<bits-1, 10)))
		}
	case bits > 0:
		f.schema.set("minimum", jsontext.Value(strconv.FormatInt(-1<<(bits-1), 10)))
		f.schema.set("maximum", jsontext.Value(strconv.FormatInt(1<<(bits-1)-1, 10)))
	}
	return nil
}

// name returns a name for $defs that no other type has: the type's, and those
// of its arguments without their packages.
func (in *inference) name(t reflect.Type) string {
	var name []byte
	word := 0
	for _, r := range t.Name() {
		switch {
		case r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z':
			name = append(name, byte(r))
		case r == '.' || r == '/': // what it ends was part of a package's path
			name = name[:word]
		case r == '[' || r == ',' || r == ']' || r == '*':
			word = len(name)
		}
	}
	unique := string(name)
	for i := 2; unique == "" || in.names[unique]; i++ {
		unique = string(name) + strconv.Itoa(i)
	}
	in.names[unique] = true
	return unique
}
