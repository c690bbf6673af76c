package server

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/infer"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// ElicitForm asks the user to fill in a T, a struct of strings, numbers,
// booleans, and lists of strings with an enum; its tags say what those of
// tools' parameters say (see [AddTool]). A pointer, a field with omitzero and
// one with a default may be left out; a default that was left out is filled in.
// The T is good where the action is [mcp.ElicitAccept]. See [Call.Elicit] about
// key, and about what a handler that asks must do.
func ElicitForm[T any](ctx context.Context, c *Call, key, message string) (T, mcp.ElicitAction, error) {
	var v T
	if c.era == nil {
		return v, "", ErrNoCall
	}
	f, err := c.session.server.form(reflect.TypeFor[T]())
	if err != nil {
		return v, "", err
	}
	res, err := c.Elicit(ctx, key, &mcp.ElicitParams{Message: message, RequestedSchema: f.text})
	if err != nil || res.Action != mcp.ElicitAccept {
		return v, resAction(res), err
	}
	if err := f.decode(res.Content, &v); err != nil {
		return v, res.Action, &AskError{Key: key, Method: mcp.MethodElicit, Err: err}
	}
	return v, res.Action, nil
}

func resAction(res *mcp.ElicitResult) mcp.ElicitAction {
	if res == nil {
		return ""
	}
	return res.Action
}

// FormFor returns the form of a T, for [mcp.ElicitParams]: see [ElicitForm]. The
// error names the field that a form cannot have.
func FormFor[T any]() (jsontext.Value, error) {
	f, err := newForm(reflect.TypeFor[T](), infer.Options{Input: true, Limits: Limits{}.withDefaults().ofSchemas()})
	if err != nil {
		return nil, err
	}
	return f.text, nil
}

// typedForm is a form made of a Go type.
type typedForm struct {
	text jsontext.Value
	*infer.Schema
}

// form returns the form of a type, which is made once.
func (s *Server) form(t reflect.Type) (*typedForm, error) {
	if f, ok := s.forms.Load(t); ok {
		return f.(*typedForm), nil //nolint:forcetypeassert // nothing else is in there
	}
	f, err := newForm(t, infer.Options{Input: true, Limits: s.opts.Limits.ofSchemas()})
	if err == nil {
		s.forms.Store(t, f)
	}
	return f, err
}

func newForm(t reflect.Type, o infer.Options) (*typedForm, error) {
	found, err := infer.Of(t, o)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if found.Type != "object" {
		return nil, fmt.Errorf("server: %s is no form: it must be a struct", t)
	}
	text, err := asForm(found.Text)
	if err != nil {
		return nil, fmt.Errorf("server: %s is no form: %w", t, err)
	}
	return &typedForm{text, found}, nil
}

// formField is what has null in it in the schema of a pointer.
type formField struct {
	Type  jsontext.Value   `json:"type,omitzero"`
	Enum  []jsontext.Value `json:"enum,omitzero"`
	Extra jsontext.Value   `json:",embed"`
}

// asForm turns the schema of a struct into that of a form, which has fewer
// words.
func asForm(schema jsontext.Value) (jsontext.Value, error) {
	var root struct {
		Required   []string       `json:"required"`
		Properties jsontext.Value `json:"properties"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	var fields []mcp.Field
	for member, v := range rpc.Members(root.Properties) {
		f := mcp.Field{Name: string(member)}
		v, nullable, err := withoutNull(v)
		if err != nil {
			return nil, err
		}
		f.Required = !nullable && slices.Contains(root.Required, f.Name)
		if err := json.Unmarshal(v, &f.Schema); err != nil {
			return nil, fmt.Errorf("field %q: a form has strings, numbers, booleans and lists of choices: %w", f.Name, err)
		}
		if f.Schema.Format == "uri-reference" { // of a url.URL
			f.Schema.Format = "uri"
		}
		fields = append(fields, f)
	}
	text := mcp.FormSchema(fields...)
	if err := mcp.CheckForm(text); err != nil {
		return nil, err
	}
	for _, f := range fields {
		for extra := range rpc.Members(f.Schema.Extra) {
			return nil, fmt.Errorf("field %q: a form has no %s", f.Name, extra)
		}
	}
	return text, nil
}

// withoutNull takes null, which no form has, out of the schema of a pointer. It
// reports whether it was there.
func withoutNull(v jsontext.Value) (jsontext.Value, bool, error) {
	var f formField
	if err := json.Unmarshal(v, &f); err != nil {
		return nil, false, err
	}
	var types []string
	if f.Type.Kind() != '[' {
		return v, false, nil
	}
	if err := json.Unmarshal(f.Type, &types); err != nil {
		return nil, false, err
	}
	rest := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	if len(rest) != 1 || len(rest) == len(types) {
		return v, false, nil
	}
	f.Type = jsontext.Value(strconv.Quote(rest[0]))
	f.Enum = slices.DeleteFunc(f.Enum, func(v jsontext.Value) bool { return v.Kind() == 'n' })
	out, err := json.Marshal(&f)
	return out, true, err
}

func (f *typedForm) decode(content map[string]jsontext.Value, v any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if content == nil {
		raw = []byte("{}")
	}
	if err := json.Unmarshal(f.Defaults.Fill(raw), v, f.Codec...); err != nil {
		return errors.New("the content of the form cannot be read as " + strings.TrimPrefix(reflect.TypeOf(v).String(), "*"))
	}
	return nil
}
