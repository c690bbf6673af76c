package infer

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// describeStruct describes a struct by its fields.
func (in *inference) describeStruct(f *found) error {
	if err := json.Unmarshal([]byte("{}"), reflect.New(f.Type).Interface()); err != nil { // what is wrong with its tags
		if se, ok := errors.AsType[*json.SemanticError](err); ok && se.Err != nil {
			err = se.Err
		}
		return fmt.Errorf("%s: %w", f.Type, err)
	}
	fields, rest := fieldsOf(f.Type)
	var properties object
	var required []jsontext.Value
	for _, field := range fields {
		place, before := fmt.Sprintf("%s: field %s", field.owner, field.Name), len(in.checks)
		p, must, err := in.property(f, field)
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		for i := before; i < len(in.checks); i++ { // those of other structs have their place already
			in.checks[i].place = cmp.Or(in.checks[i].place, place)
		}
		properties.set(field.member, p.text())
		if must {
			required = append(required, quote(field.member))
		}
	}
	f.schema = object{{"type", quote("object")}}
	if len(properties) > 0 {
		f.schema.set("properties", properties.text())
	}
	if len(required) > 0 {
		f.schema.set("required", list(required))
	}
	if rest == nil {
		f.schema.set("additionalProperties", jsontext.Value("false"))
		return nil
	}
	others, err := in.use(rest, spot{})
	if err != nil {
		return err
	}
	f.schema.set("additionalProperties", others.text())
	f.defaults.inner, err = in.defaultsOf(rest)
	return err
}

// property describes a field of a struct, and says whether it must be there.
func (in *inference) property(f *found, field *field) (o object, must bool, err error) {
	t, err := parseTag(field.Tag.Get("jsonschema"))
	if err != nil {
		return nil, false, err
	}
	if t.required && field.optional {
		return nil, false, errors.New("jsonschema says required, and json that it may be left out")
	}
	if o, err = in.use(field.Type, spot{t.keywords, field.optional, field.quoted}); err != nil {
		return nil, false, err
	}
	inner, err := in.defaultsOf(field.Type)
	if err != nil {
		return nil, false, err
	}
	f.defaults.add(field.member, o.get("default"), inner)
	return o, !field.optional && !field.behind && (!in.Input || t.required || !o.has("default")), nil
}
