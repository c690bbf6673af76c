package server

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/infer"
	"github.com/tenon-mcp/tenon/internal/schema"
)

// Alternatives lists the types that are behind an interface; [OneOf] makes one.
type Alternatives struct {
	list infer.OneOf
}

// OneOf says which types are behind the interface I, by a value of each, such as
// OneOf[Shape](Circle{}, &Square{}). In [Options.OneOf] it lets In and Out of a
// tool have I: schemas offer the types as anyOf, and arguments are read into the
// first one that they fit. A field that tells the types apart, such as
//
//	Kind string `json:"kind" jsonschema:"const=circle"`
//
// makes that safe.
func OneOf[I any](values ...I) Alternatives {
	return Alternatives{infer.NewOneOf(values...)}
}

// infer returns what there is to know of a Go type.
func (s *Server) infer(t reflect.Type, input bool) (*infer.Schema, error) {
	o := infer.Options{Input: input, Limits: s.opts.Limits.ofSchemas()}
	for _, a := range s.opts.OneOf {
		o.OneOf = append(o.OneOf, a.list)
	}
	return infer.Of(t, o)
}

func (l Limits) ofSchemas() schema.Limits {
	return schema.Limits{Bytes: l.SchemaBytes, Depth: l.SchemaDepth, Subschemas: l.Subschemas}
}

// input prepares reading the arguments of a tool, and gives the tool a schema
// where it has none.
func (s *Server) input(schema *jsontext.Value, t reflect.Type) (*argumentReader, error) {
	given := *schema != nil
	if given {
		if err := checkFields(*schema, t); err != nil {
			return nil, err
		}
	}
	r := newArgumentReader(t)
	found, err := s.infer(t, true)
	if given {
		if err == nil { // or else the type needs the schema that is given
			r.codec = found.Codec
		}
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.codec, r.defaults = found.Codec, found.Defaults
	r.follow(found)
	switch {
	case found.Type == "object":
		*schema = found.Text
	case found.Any:
		*schema = jsontext.Value(`{"type":"object"}`)
	default:
		return nil, fmt.Errorf("arguments are an object: %s must be a struct or a map with string keys", t)
	}
	return r, nil
}

// decodesItself reports whether values of type t have a say in their decoding.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// encodesItself reports the same of encoding.
func encodesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.MarshalerTo]()) || t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
