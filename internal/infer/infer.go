// Package infer makes JSON Schemas of Go types: what [json.Marshal] writes, or
// what [json.Unmarshal] reads, with what the tags "jsonschema" of fields say.
//
// A type is visited once (visit.go). Its fields are those of the JSON package
// (fields.go), with their tags (tag.go, keywords.go). A struct type stands where
// it is used; only one that contains itself is under $defs. What tags say of
// values is checked when all is known (check.go).
package infer

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// Options says what a schema is for.
type Options struct {
	// Input is for values that are read. The zero value is for those that are
	// written.
	Input bool
	// OneOf lists the types that are behind interfaces.
	OneOf []OneOf
	// Limits bounds the schema.
	Limits schema.Limits
}

// Schema is what there is to know of a Go type. It never changes.
type Schema struct {
	// Text is the JSON Schema, an object.
	Text jsontext.Value
	// Type is the one type of JSON that values have, or "".
	Type string
	// Any says that there is nothing to say: any JSON.
	Any bool
	// Promises says that the schema has rules that a value of the type may
	// break, such as those of tags.
	Promises bool
	// Defaults fill what is left out. Nil = there are none.
	Defaults *Defaults
	// Codec has to be given to the JSON package for values of the type. Nil =
	// nothing.
	Codec []json.Options
}

// Of infers the schema of a type. The error names the field that is the reason.
func Of(t reflect.Type, o Options) (*Schema, error) {
	in := &inference{Options: o, found: map[reflect.Type]*found{}, names: map[string]bool{}}
	s, err := in.schema(t)
	if err != nil && strings.HasPrefix(err.Error(), t.String()+":") {
		return nil, fmt.Errorf("no schema for %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("no schema for %s: %w", t, err)
	}
	return s, nil
}

// describer is a type that says its schema itself.
type describer interface{ JSONSchema() jsontext.Value }

func (in *inference) schema(t reflect.Type) (*Schema, error) {
	f, err := in.visit(indirect(t))
	if err != nil {
		return nil, err
	}
	defs, err := in.definitions()
	if err != nil {
		return nil, err
	}
	s := &Schema{
		Text:     f.schema.with(defs).text(),
		Type:     f.schema.kind(),
		Any:      len(f.schema) == 0,
		Promises: in.promises,
		Defaults: f.defaults.orNil(),
	}
	if s.Codec, err = in.codec(defs); err != nil {
		return nil, err
	}
	for _, c := range in.checks {
		if err := c.run(defs, s.Codec, in.Limits); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// definitions returns what is under $defs.
func (in *inference) definitions() (object, error) {
	var defs object
	for _, f := range in.recursive {
		if len(f.schema) == 0 || f.schema.has("$ref") {
			return nil, fmt.Errorf("%s is nothing but itself", f.Type)
		}
		defs.set(f.name, f.schema.text())
	}
	return defs, nil
}

// indirect follows pointers, as far as anybody has them.
func indirect(t reflect.Type) reflect.Type {
	const farEnough = 8
	for range farEnough {
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	return t
}
