package client

import (
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/internal/infer"
	"github.com/tenon-mcp/tenon/internal/schema"
)

// Alternatives lists the types that are behind an interface; [OneOf] makes one.
type Alternatives struct {
	list infer.OneOf
}

// OneOf says which types are behind the interface I, by a value of each, such as
// OneOf[Shape](Circle{}, &Square{}). In [Options.OneOf] it lets the results of
// [CallTool] have I: what a tool returns is read into the first type that it
// fits. A server says the same with the OneOf of its package.
func OneOf[I any](values ...I) Alternatives {
	return Alternatives{infer.NewOneOf(values...)}
}

// codecs have for each Go type what the JSON package does not know of it: a
// [net/url.URL] is a string, and what is behind an interface. So a value is
// written and read as a server's schema of the type says. Types that need
// nothing cost a look into a map.
type codecs struct {
	oneOf       []infer.OneOf
	read, write sync.Map // []json.Options by reflect.Type
}

func (c *codecs) set(all []Alternatives) {
	for _, a := range all {
		c.oneOf = append(c.oneOf, a.list)
	}
}

func (c *codecs) reading(t reflect.Type) []json.Options { return c.of(&c.read, t, true) }

func (c *codecs) writing(t reflect.Type) []json.Options { return c.of(&c.write, t, false) }

func (c *codecs) of(known *sync.Map, t reflect.Type, input bool) []json.Options {
	if found, ok := known.Load(t); ok {
		return found.([]json.Options) //nolint:forcetypeassert // nothing else is in there
	}
	var codec []json.Options
	s, err := infer.Of(t, infer.Options{
		Input: input, OneOf: c.oneOf,
		Limits: schema.Limits{Bytes: defaultSchemaBytes, Depth: maxSchemaDepth, Subschemas: maxSubschemas},
	})
	if err == nil {
		codec = s.Codec
	} else { // it has no schema, which a client need not have
		codec = infer.URLs(input)
	}
	known.Store(t, codec)
	return codec
}
