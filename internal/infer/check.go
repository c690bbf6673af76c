package infer

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// check is what has to hold of a field with a tag: its schema makes sense, and
// the values in the tag fit it and can be read into the Go type.
type check struct {
	reflect.Type
	place  string // the field
	schema object
	input  bool
	quoted bool
	values []namedValue
}

type namedValue struct {
	name string
	jsontext.Value
}

func (c check) run(defs object, codec []json.Options, l schema.Limits) error {
	s, err := schema.Compile(c.schema.with(defs).text(), l)
	if err != nil {
		return fmt.Errorf("%s: %w", c.place, err)
	}
	options := append([]json.Options{json.StringifyNumbers(c.quoted)}, codec...)
	for _, v := range c.values {
		if err := explain(s.Validate(v.Value)); err != nil {
			return fmt.Errorf("%s: %s: %w", c.place, v.name, err)
		}
		if !c.input {
			continue
		}
		if err := json.Unmarshal(v.Value, reflect.New(c.Type).Interface(), options...); err != nil {
			return fmt.Errorf("%s: %s: cannot be read as %s: %w", c.place, v.name, c.Type, err)
		}
	}
	return nil
}

// members yields the members of an object that is valid JSON.
func members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(v))
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			text := name.String()
			value, err := d.ReadValue()
			if err != nil || !yield(text, value.Clone()) {
				return
			}
		}
	}
}

// itemsOf returns the items of an array that is valid JSON, none for nil.
func itemsOf(v jsontext.Value) []jsontext.Value {
	if v == nil {
		return nil
	}
	var items []jsontext.Value
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() != ']' {
		item, err := d.ReadValue()
		if err != nil {
			break
		}
		items = append(items, item.Clone())
	}
	return items
}
