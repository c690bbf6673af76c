package infer

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// OneOf lists the types that are behind an interface. It never changes.
type OneOf struct {
	of    reflect.Type
	types []reflect.Type
	read  func(pick) *json.Unmarshalers
}

// pick reads a value into the first type that it fits.
type pick func(v jsontext.Value, o json.Options) (any, error)

// NewOneOf lists the types of values, zero ones do, as those behind I.
func NewOneOf[I any](values ...I) OneOf {
	o := OneOf{of: reflect.TypeFor[I]()}
	for _, v := range values {
		o.types = append(o.types, reflect.TypeOf(v))
	}
	o.read = func(p pick) *json.Unmarshalers {
		return json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *I) error {
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			picked, err := p(v, d.Options())
			if err != nil {
				return err
			}
			*to, _ = picked.(I) // nil for null
			return nil
		})
	}
	return o
}

// Check says what is wrong with the list.
func (o OneOf) Check() error {
	if o.of == nil || o.of.Kind() != reflect.Interface {
		return errors.New("OneOf is for an interface, as in OneOf[Shape](Circle{}, Square{})")
	}
	if len(o.types) == 0 {
		return fmt.Errorf("OneOf[%s] lists no type", o.of)
	}
	for _, t := range o.types {
		if t == nil {
			return fmt.Errorf("OneOf[%s] has a nil", o.of)
		}
	}
	return nil
}

// union is an interface that was met, with what is behind it.
type union struct {
	OneOf
	alternatives []alternative
}

type alternative struct {
	reflect.Type
	found  *found
	schema *schema.Schema
}

func (in *inference) union(t reflect.Type) *union {
	for _, o := range in.OneOf {
		if o.of == t {
			return &union{OneOf: o}
		}
	}
	return nil
}

func (in *inference) describeUnion(f *found, u *union) error {
	var several []jsontext.Value
	for _, t := range u.types {
		behind, err := in.visit(indirect(t))
		if err != nil {
			return err
		}
		u.alternatives = append(u.alternatives, alternative{Type: t, found: behind})
		several = append(several, behind.use().text())
	}
	in.promises = true // that no other type is behind it
	in.unions = append(in.unions, u)
	f.schema = object{{"anyOf", list(several)}}
	return nil
}

// codec returns what the JSON package needs to know.
func (in *inference) codec(defs object) ([]json.Options, error) {
	if !in.Input {
		if in.urls {
			return URLs(false), nil
		}
		return nil, nil
	}
	var all []*json.Unmarshalers
	if in.urls {
		all = append(all, readURL())
	}
	for _, u := range in.unions {
		for i := range u.alternatives {
			a := &u.alternatives[i]
			s, err := schema.Compile(a.found.use().with(defs).text(), in.Limits)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.Type, err)
			}
			a.schema = s
		}
		all = append(all, u.read(u.pick))
	}
	if len(all) == 0 {
		return nil, nil
	}
	return []json.Options{json.WithUnmarshalers(json.JoinUnmarshalers(all...))}, nil
}

func (u *union) pick(v jsontext.Value, o json.Options) (any, error) {
	if v.Kind() == 'n' {
		return nil, nil //nolint:nilnil // it is null
	}
	for _, a := range u.alternatives {
		if a.schema.Validate(v) != nil {
			continue
		}
		to := reflect.New(indirect(a.Type))
		if err := json.Unmarshal(a.found.defaults.Fill(v), to.Interface(), o); err != nil {
			return nil, err
		}
		if a.Kind() == reflect.Pointer {
			return to.Interface(), nil
		}
		return to.Elem().Interface(), nil
	}
	return nil, fmt.Errorf("fits no type behind %s", u.of)
}

// URLs returns a codec for types of which nothing is known but that a URL may be
// in them.
func URLs(input bool) []json.Options {
	if input {
		return []json.Options{json.WithUnmarshalers(readURL())}
	}
	return []json.Options{json.WithMarshalers(writeURL())}
}

// The JSON package would write a URL as an object of its parts.
func writeURL() *json.Marshalers {
	return json.MarshalToFunc(func(e *jsontext.Encoder, u *url.URL) error {
		return e.WriteToken(jsontext.String(u.String()))
	})
}

func readURL() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, u *url.URL) error {
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		if t.Kind() == 'n' {
			*u = url.URL{}
			return nil
		}
		if t.Kind() != '"' {
			return errors.New("a URL is a string")
		}
		parsed, err := url.Parse(t.String())
		if err != nil {
			return errors.New("not a URL")
		}
		*u = *parsed
		return nil
	})
}
