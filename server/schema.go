package server

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// validator checks values against one compiled schema. It is safe for
// concurrent use.
type validator struct {
	schema *schema.Schema
}

// compile makes a validator of a schema from anywhere. It fetches nothing, and
// refuses what could make validation endless.
func compile(raw jsontext.Value, l Limits) (*validator, error) {
	s, err := schema.Compile(raw, l.ofSchemas())
	if err != nil {
		return nil, err
	}
	return &validator{s}, nil
}

// compileObject is compile for a schema whose root must be of type object.
func compileObject(raw jsontext.Value, l Limits) (*validator, error) {
	if raw.Kind() != '{' {
		return nil, errors.New(`schema is not an object: for no parameters use {"type":"object"}`)
	}
	v, err := compile(raw, l)
	if err != nil {
		return nil, err
	}
	if !v.schema.IsObject() {
		return nil, errors.New(`schema must have "type":"object" at its root`)
	}
	return v, nil
}

// check validates a value, which must be valid JSON. The error names where the
// value is wrong, in words that start with name, and never repeats any of the
// value.
func (v *validator) check(name string, raw jsontext.Value) error {
	err := v.schema.Validate(raw)
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return errors.New(e.Explain(name))
	}
	return err
}
