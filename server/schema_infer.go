package server

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// infer returns the JSON Schema of a Go type, as [json.Marshal] writes it and
// [json.Unmarshal] reads it. A field is required unless its tag has omitzero or
// omitempty; the tag "jsonschema" is its description; a struct takes no other
// members than its fields. Only a pointer that is required may be null.
func infer(t reflect.Type) (*jsonschema.Schema, error) {
	in := &inference{known: map[reflect.Type]*jsonschema.Schema{}, on: map[reflect.Type]bool{}, names: map[string]bool{}}
	in.visit(t)
	if in.bad != nil {
		return nil, fmt.Errorf("no schema for %s: %w", t, in.bad)
	}
	root := t
	for root.Kind() == reflect.Pointer {
		root = root.Elem()
	}
	s, err := jsonschema.ForType(root, &jsonschema.ForOptions{TypeSchemas: in.known})
	if err != nil {
		return nil, fmt.Errorf("no schema for %s: %w", t, err)
	}
	for _, r := range in.recursive {
		def, err := in.definition(r)
		if err != nil {
			return nil, fmt.Errorf("no schema for %s: %w", r, err)
		}
		if s.Defs == nil {
			s.Defs = map[string]*jsonschema.Schema{}
		}
		s.Defs[r.name] = def
	}
	if s.Ref != "" { // the root itself is recursive: say what it is without a detour
		for _, r := range in.recursive {
			if s.Ref == r.ref() {
				def, _ := in.definition(r)
				def.Defs = s.Defs
				s = def
				break
			}
		}
	}
	tidy(s, true)
	return s, nil
}

// inference walks the types that a type is made of, for what the inference of
// structs does not know by itself.
type inference struct {
	known     map[reflect.Type]*jsonschema.Schema
	on        map[reflect.Type]bool // the way to the current type; false = left
	recursive []recursiveType
	names     map[string]bool
	bad       error // the first tag that is no description
}

// checkTag refuses what the inference of structs refuses, and says what to do.
func (in *inference) checkTag(f reflect.StructField) {
	tag, ok := f.Tag.Lookup("jsonschema")
	word, _, keyword := strings.Cut(tag, "=")
	if !ok || in.bad != nil || tag != "" && (!keyword || strings.ContainsAny(word, " \t\n")) {
		return
	}
	in.bad = fmt.Errorf("field %s: the tag jsonschema:%q is not a description, which is all it can be: for enum and other keywords "+
		"give the tool a schema, as in InputSchema: jsontext.Value(`{\"type\":\"object\",\"properties\":{\"color\":{\"enum\":[\"red\",\"blue\"]}}}`)",
		f.Name, tag)
}

// recursiveType is a struct that contains itself: it is described once, under
// $defs, and referred to.
type recursiveType struct {
	reflect.Type
	name string
}

func (r recursiveType) ref() string { return "#/$defs/" + r.name }

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	jsonWriter    = reflect.TypeFor[json.MarshalerTo]()
	timeType      = reflect.TypeFor[time.Time]()
)

func (in *inference) visit(t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if in.known[t] != nil {
		return
	}
	if s := leaf(t); s != nil {
		in.known[t] = s
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		if t.Name() == "" {
			in.visit(t.Elem())
			return
		}
		if _, seen := in.on[t]; !seen { // a named one that contains itself is refused later
			in.on[t] = false
			in.visit(t.Elem())
		}
	case reflect.Struct:
		in.visitStruct(t)
	}
}

func (in *inference) visitStruct(t reflect.Type) {
	current, seen := in.on[t]
	switch {
	case current:
		in.recursive = append(in.recursive, recursiveType{t, in.name(t)})
		in.known[t] = &jsonschema.Schema{Ref: in.recursive[len(in.recursive)-1].ref()}
		return
	case seen:
		return
	}
	in.on[t] = true
	for f := range t.Fields() {
		if f.IsExported() || f.Anonymous {
			in.checkTag(f)
			in.visit(f.Type)
		}
	}
	in.on[t] = false
}

// name returns a name for $defs that no other type has.
func (in *inference) name(t reflect.Type) string {
	name := ""
	for _, r := range t.Name() { // a generic type has brackets and paths in it
		if r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			name += string(r)
		}
	}
	unique := name
	for i := 2; unique == "" || in.names[unique]; i++ {
		unique = name + strconv.Itoa(i)
	}
	in.names[unique] = true
	return unique
}

// leaf returns the schema of a type that is written in its own way, or nil.
func leaf(t reflect.Type) *jsonschema.Schema {
	p := reflect.PointerTo(t)
	switch {
	case t == timeType:
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case p.Implements(jsonWriter), p.Implements(jsonMarshaler):
		return &jsonschema.Schema{} // anything: jsontext.Value, or code of its own
	case p.Implements(textMarshaler):
		return &jsonschema.Schema{Type: "string"}
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8:
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	}
	return nil
}

// definition describes a recursive type by its fields. A struct type without
// the name has the same fields and is not taken for the recursive one.
func (in *inference) definition(r recursiveType) (_ *jsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // reflect does not make every struct
			err = errors.New("recursive type with ambiguous fields: give the tool a schema")
		}
	}()
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(r.Type) { // of embedded structs as well
		if f.IsExported() && !f.Anonymous {
			fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
		}
	}
	return jsonschema.ForType(reflect.StructOf(fields), &jsonschema.ForOptions{TypeSchemas: in.known})
}

// tidy takes null out of the types where it is not meant: nil slices are
// written as [], and what is optional is left out instead.
func tidy(s *jsonschema.Schema, optional bool) {
	if s == nil {
		return
	}
	if len(s.Types) > 0 && s.Types[0] == "null" {
		rest := s.Types[1:]
		array := len(rest) == 1 && rest[0] == "array"
		switch {
		case len(rest) == 0 && (optional || s.Ref == ""):
			s.Types = nil
		case len(rest) == 0: // a pointer to a recursive type
			s.AnyOf = []*jsonschema.Schema{{Type: "null"}, {Ref: s.Ref}}
			s.Types, s.Ref = nil, ""
		case array || optional && len(rest) == 1:
			s.Type, s.Types = rest[0], nil
		}
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	for name, p := range s.Properties {
		tidy(p, !required[name])
	}
	for _, d := range s.Defs {
		tidy(d, true)
	}
	tidy(s.Items, false)
	if s.AdditionalProperties != nil && !isFalse(s.AdditionalProperties) {
		tidy(s.AdditionalProperties, false)
	}
}

// isFalse reports whether s is the schema false, in the form it is decoded to.
func isFalse(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.DeepEqual(s, &jsonschema.Schema{Not: &jsonschema.Schema{}})
}

// schemaText encodes a schema that was inferred.
func schemaText(s *jsonschema.Schema) (jsontext.Value, error) {
	b, err := s.MarshalJSON()
	return jsontext.Value(b), err
}
