package mcp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Select is a field in which one of values is chosen.
func Select(values ...string) PrimitiveSchema {
	return PrimitiveSchema{Type: "string", Enum: values}
}

// SelectTitled is a field in which one of options is chosen; since 2025-11-25.
// A client of 2025-06-18 is sent the choices in the way of [SelectNamed].
func SelectTitled(options ...EnumOption) PrimitiveSchema {
	return PrimitiveSchema{Type: "string", OneOf: options}
}

// SelectNamed is SelectTitled in the way of 2025-06-18, which later revisions
// have too, but deprecated.
func SelectNamed(options ...EnumOption) PrimitiveSchema {
	s := PrimitiveSchema{Type: "string"}
	s.Enum, s.EnumNames = splitOptions(options)
	return s
}

// MultiSelect is a field in which any of values are chosen; since 2025-11-25.
// MinItems and MaxItems say how many. A client of 2025-06-18 is not sent it.
func MultiSelect(values ...string) PrimitiveSchema {
	return PrimitiveSchema{Type: "array", Items: &EnumItems{Type: "string", Enum: values}}
}

// MultiSelectTitled is MultiSelect with titles.
func MultiSelectTitled(options ...EnumOption) PrimitiveSchema {
	return PrimitiveSchema{Type: "array", Items: &EnumItems{AnyOf: options}}
}

// WithDefault returns the field with a default, which is encoded as JSON: ""
// and an empty list are defaults too. What cannot be encoded is none, which
// [CheckForm] says.
func (s PrimitiveSchema) WithDefault(v any) PrimitiveSchema {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = jsontext.Value("null")
	}
	s.Default = raw
	return s
}

// CheckForm says what a form must not have (spec: client/elicitation, requested
// schema): nested objects, lists that are no choices, choices of nothing, titles
// that are missing, defaults that are no value of the field. The error names the
// field.
func CheckForm(schema jsontext.Value) error {
	if len(schema) == 0 {
		return errors.New("form schema: there is none: FormSchema() makes one without fields")
	}
	fields, err := ParseForm(schema)
	if err != nil {
		return err
	}
	for i := range fields {
		if err := fields[i].Schema.check(); err != nil {
			return fmt.Errorf("form schema: field %q: %w", fields[i].Name, err)
		}
	}
	return nil
}

func (s *PrimitiveSchema) check() error {
	switch s.Type {
	case "string", "number", "integer", "boolean":
		if s.Items != nil {
			return fmt.Errorf("items are for the type array, and it is %s", s.Type)
		}
	case "array":
		if s.Items == nil {
			return errors.New("a list needs items to choose from")
		}
	default:
		return fmt.Errorf("a field is a string, number, integer, boolean, or an array of choices, and it is %q", s.Type)
	}
	if err := s.checkChoices(); err != nil {
		return err
	}
	switch s.Format {
	case "", "email", "uri", "date", "date-time":
	default:
		return fmt.Errorf("the format is email, uri, date or date-time, and it is %q", s.Format)
	}
	if s.Default != nil && !s.takes(s.Default) {
		return errors.New("the default is not a value of the field")
	}
	return nil
}

func (s *PrimitiveSchema) checkChoices() error {
	options, values := s.OneOf, s.Enum
	if s.Items != nil {
		options, values = s.Items.AnyOf, s.Items.Enum
	}
	switch {
	case options == nil && values == nil && s.Items != nil,
		options != nil && len(options) == 0, values != nil && len(values) == 0:
		return errors.New("there is nothing to choose from")
	case (options != nil || values != nil) && s.Type != "string" && s.Type != "array":
		return fmt.Errorf("choices are strings, and it is a field of the type %s", s.Type)
	case s.EnumNames != nil && len(s.EnumNames) != len(s.Enum):
		return fmt.Errorf("enumNames has %d names for %d values", len(s.EnumNames), len(s.Enum))
	}
	if slices.ContainsFunc(options, func(o EnumOption) bool { return o.Title == "" }) {
		return errors.New("a choice has no title")
	}
	return nil
}

// takes reports whether v is a value of the field, as far as its type and its
// choices go.
func (s *PrimitiveSchema) takes(v jsontext.Value) bool {
	var err error
	var chosen []string
	switch s.Type {
	case "string":
		chosen = make([]string, 1)
		err = json.Unmarshal(v, &chosen[0])
		if v.Kind() != '"' {
			return false
		}
	case "array":
		if v.Kind() != '[' {
			return false
		}
		err = json.Unmarshal(v, &chosen)
	case "boolean":
		return v.Kind() == 't' || v.Kind() == 'f'
	default:
		return v.Kind() == '0'
	}
	choices := s.Choices()
	return err == nil && (choices == nil || !slices.ContainsFunc(chosen, func(c string) bool {
		return !slices.ContainsFunc(choices, func(o EnumOption) bool { return o.Const == c })
	}))
}
