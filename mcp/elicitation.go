package mcp

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The modes of [ElicitParams].
const (
	ElicitForm = "form"
	ElicitURL  = "url"
)

// ElicitParams ask the user of a client, since 2025-06-18.
type ElicitParams struct {
	Params
	// Mode is ElicitForm, which "" means too, or ElicitURL (2025-11-25).
	Mode    string `json:"mode,omitzero"`
	Message string `json:"message"`
	// RequestedSchema describes the form: a flat object schema, as
	// [FormSchema] makes it. Nil in URL mode.
	RequestedSchema jsontext.Value `json:"requestedSchema,omitzero"`
	// URL is where the user is sent in URL mode.
	URL string `json:"url,omitzero"`
	// ElicitationID goes with URL in 2025-11-25 only.
	ElicitationID string `json:"elicitationId,omitzero"`
	// Task asks for a task (2025-11-25).
	Task *TaskMetadata `json:"task,omitzero"`
}

// ElicitAction is what the user did.
type ElicitAction string

// The three things that a user can do.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline"
	ElicitCancel  ElicitAction = "cancel"
)

// ElicitResult is the user's answer.
type ElicitResult struct {
	Result
	Action ElicitAction `json:"action"`
	// Content has the filled-in fields of an accepted form: strings, numbers,
	// booleans, and lists of strings (2025-11-25).
	Content map[string]jsontext.Value `json:"content,omitzero"`
}

// AcceptForm returns the answer of a user who accepted a form: fields is a
// struct or a map, whose members are what was filled in. Its error is that of
// encoding it.
func AcceptForm(fields any) (*ElicitResult, error) {
	r := &ElicitResult{Action: ElicitAccept}
	b, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(b, &r.Content)
	}
	if err != nil {
		return nil, fmt.Errorf("form content: %w", decodeError(err))
	}
	return r, nil
}

// Decode decodes Content into v, a pointer to a struct or a map. An answer that
// was not accepted has none, and leaves v as it is.
func (r *ElicitResult) Decode(v any) error {
	if r.Content == nil {
		return nil
	}
	b, err := json.Marshal(r.Content)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("form content: %w", decodeError(err))
	}
	return nil
}

// ElicitationCompleteParams tell that a URL elicitation is done (2025-11-25).
type ElicitationCompleteParams struct {
	Params
	ElicitationID string `json:"elicitationId"`
}

// Field is one field of a form.
type Field struct {
	Name     string
	Required bool
	Schema   PrimitiveSchema
}

// PrimitiveSchema describes a field: a string, a number, a boolean, a choice
// or a list of choices. Which members count depends on Type.
type PrimitiveSchema struct {
	// Type is "string", "number", "integer", "boolean" or "array".
	Type        string `json:"type"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// Format of a string is "email", "uri", "date" or "date-time".
	Format    string   `json:"format,omitzero"`
	MinLength *int64   `json:"minLength,omitzero"`
	MaxLength *int64   `json:"maxLength,omitzero"`
	Minimum   *float64 `json:"minimum,omitzero"`
	Maximum   *float64 `json:"maximum,omitzero"`
	// Enum makes a string a choice.
	Enum []string `json:"enum,omitzero"`
	// EnumNames are the titles of Enum, in the old way (2025-06-18).
	EnumNames []string `json:"enumNames,omitzero"`
	// OneOf makes a string a choice with titles; since 2025-11-25.
	OneOf []EnumOption `json:"oneOf,omitzero"`
	// Items are the choices of an array; since 2025-11-25.
	Items    *EnumItems `json:"items,omitzero"`
	MinItems *int64     `json:"minItems,omitzero"`
	MaxItems *int64     `json:"maxItems,omitzero"`
	// Default is a value of the type; nil is none. Before 2025-11-25 only
	// booleans have one.
	Default jsontext.Value `json:"default,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// EnumOption is a choice with a title.
type EnumOption struct {
	Const string         `json:"const"`
	Title string         `json:"title"`
	Extra jsontext.Value `json:",embed"`
}

// EnumItems are the choices of a list.
type EnumItems struct {
	// Type is "string" where Enum is set.
	Type string   `json:"type,omitzero"`
	Enum []string `json:"enum,omitzero"`
	// AnyOf are choices with titles.
	AnyOf []EnumOption   `json:"anyOf,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// Choices returns what can be chosen, in whichever way the schema says it;
// nil where anything can be. A choice without a title has its value as title.
func (s *PrimitiveSchema) Choices() []EnumOption {
	options, values := s.OneOf, s.Enum
	if s.Items != nil {
		options, values = s.Items.AnyOf, s.Items.Enum
	}
	if options != nil {
		return options
	}
	var out []EnumOption
	for i, v := range values {
		o := EnumOption{Const: v, Title: v}
		if i < len(s.EnumNames) {
			o.Title = s.EnumNames[i]
		}
		out = append(out, o)
	}
	return out
}

// FormSchema returns the schema of a form with these fields, in their order.
func FormSchema(fields ...Field) jsontext.Value {
	b := []byte(`{"type":"object","properties":{`)
	var required []string
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := jsontext.AppendQuote(nil, f.Name) // bad UTF-8 is replaced
		b = append(append(b, name...), ':')
		schema, err := json.Marshal(&f.Schema)
		if err != nil { // Default or Extra is no JSON; the field stays, without them
			schema, _ = json.Marshal(map[string]string{"type": f.Schema.Type})
		}
		b = append(b, schema...)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	b = append(b, '}')
	if required != nil {
		if list, err := json.Marshal(required); err == nil {
			b = append(append(b, `,"required":`...), list...)
		}
	}
	return append(b, '}')
}

// ParseForm returns the fields of a form's schema, in their order.
func ParseForm(schema jsontext.Value) ([]Field, error) {
	var root struct {
		Type       string         `json:"type"`
		Properties jsontext.Value `json:"properties"`
		Required   []string       `json:"required"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("form schema: %w", decodeError(err))
	}
	if root.Type != "object" || root.Properties.Kind() != '{' {
		return nil, errors.New(`form schema: must have the type "object" and properties`)
	}
	required := make(map[string]bool, len(root.Required))
	for _, name := range root.Required {
		required[name] = true
	}
	d := jsontext.NewDecoder(bytes.NewReader(root.Properties))
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("form schema: %w", err)
	}
	var fields []Field
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("form schema: %w", err)
		}
		f := Field{Name: name.String()}
		f.Required = required[f.Name]
		if err := json.UnmarshalDecode(d, &f.Schema); err != nil {
			return nil, fmt.Errorf("form schema: field %q: %w", f.Name, decodeError(err))
		}
		fields = append(fields, f)
	}
	return fields, nil
}
