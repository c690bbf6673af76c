package infer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// spot is where a value of a type is.
type spot struct {
	keywords []keyword
	optional bool // it is left out rather than null
	quoted   bool // a number in a string
}

// use describes a value of a type that is somewhere.
func (in *inference) use(t reflect.Type, s spot) (object, error) {
	nilable := t.Kind() == reflect.Pointer || !in.Input && t.Kind() == reflect.Interface
	if nilable && s.optional { // not so a pointer to a nil pointer
		nilable = t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Pointer
	}
	t = indirect(t)
	f, err := in.visit(t)
	if err != nil {
		return nil, err
	}
	o := f.use()
	if s.quoted {
		o = object{{"type", quote("string")}}
	}
	keywords := s.keywords
	if o.is("array") && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		own, items := split(keywords)
		keywords = own
		if len(items) > 0 {
			if o, err = in.list(t, items); err != nil {
				return nil, err
			}
		}
	}
	c := check{Type: t, input: in.Input, quoted: s.quoted}
	for _, k := range keywords {
		if err := in.apply(&o, &c, k); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", k.name, k.value, err)
		}
	}
	if nilable {
		o = nullable(o)
	}
	if len(keywords) > 0 {
		c.schema = o
		in.checks = append(in.checks, c)
	}
	return o, nil
}

// split tells keywords of an array from those of its items.
func split(keywords []keyword) (own, items []keyword) {
	for _, k := range keywords {
		if k.kinds == nil || slices.Contains(k.kinds, "array") {
			own = append(own, k)
			continue
		}
		items = append(items, k)
	}
	return own, items
}

// apply adds what a keyword says to a schema, and to what there is to check.
func (in *inference) apply(o *object, c *check, k keyword) error {
	if k.kinds != nil && !slices.Contains(k.kinds, o.kind()) {
		kind := o.kind()
		if kind == "" {
			kind = "not of one type"
		}
		return fmt.Errorf("is for %s, and the field is %s", strings.Join(known(k.kinds), " and "), kind)
	}
	in.promises = in.promises || k.restricts()
	switch k.form {
	case formText:
		o.tell(k.name, k.value)
	case formString:
		o.set(k.name, quote(k.value))
	case formFlag:
		if k.value != "true" && k.value != "false" {
			return errors.New("must be true or false")
		}
		o.set(k.name, jsontext.Value(k.value))
	case formNumber, formCount:
		return in.applyNumber(o, k)
	case formValue, formValues:
		return applyValues(o, c, k)
	}
	return nil
}

// restricts reports whether a keyword makes less values fit.
func (k keyword) restricts() bool {
	switch k.name {
	case "default", "example", "format":
		return false
	}
	return k.kinds != nil
}

func known(kinds []string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(s string) bool { return s == "" })
}

func (in *inference) applyNumber(o *object, k keyword) error {
	n := jsontext.Value(k.value)
	if n.Kind() != '0' || !n.IsValid() {
		return errors.New("must be a number")
	}
	if err := fits(n, boundsOf(*o, k), in.Limits); err != nil {
		return err
	}
	o.set(k.name, n)
	return nil
}

// boundsOf returns a schema of the numbers that a keyword may have: what the Go
// type holds, and what agrees with the keywords before it.
func boundsOf(o object, k keyword) object {
	if k.name == "multipleOf" {
		return object{{"exclusiveMinimum", jsontext.Value("0")}}
	}
	if k.form == formNumber {
		bounds := object{{"type", o.get("type")}}
		for _, name := range []string{"minimum", "maximum"} {
			if o.has(name) {
				bounds.set(name, o.get(name))
			}
		}
		return bounds
	}
	bounds := object{{"type", quote("integer")}, {"minimum", jsontext.Value("0")}}
	if what, ok := strings.CutPrefix(k.name, "min"); ok && o.has("max"+what) {
		bounds.set("maximum", o.get("max"+what))
	}
	if what, ok := strings.CutPrefix(k.name, "max"); ok && o.has("min"+what) {
		bounds.set("minimum", o.get("min"+what))
	}
	return bounds
}

// fits checks a value against a schema without references.
func fits(v jsontext.Value, o object, l schema.Limits) error {
	s, err := schema.Compile(o.text(), l)
	if err != nil {
		return err
	}
	return explain(s.Validate(v))
}

// explain shortens an error of a value that is in front of it already.
func explain(err error) error {
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return errors.New(strings.TrimPrefix(e.Explain(""), ": "))
	}
	return err
}

func applyValues(o *object, c *check, k keyword) error {
	texts := []string{k.value}
	if k.form == formValues {
		texts = alternatives(k.value)
	}
	var values []jsontext.Value
	for _, text := range texts {
		v, err := valueOf(text, *o)
		if err != nil {
			return err
		}
		values = append(values, v)
		c.values = append(c.values, namedValue{k.name + "=" + text, v})
	}
	switch k.name {
	case "enum":
		o.set("enum", list(append(itemsOf(o.get("enum")), values...)))
	case "example":
		o.set("examples", list(append(itemsOf(o.get("examples")), values...)))
	default:
		o.set(k.name, values[0])
	}
	return nil
}

// alternatives splits the values of an enum.
func alternatives(text string) []string {
	const bar = "\x00"
	parts := strings.Split(strings.ReplaceAll(text, `\|`, bar), "|")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.TrimSpace(p), bar, "|")
	}
	return parts
}

// valueOf makes JSON of a value in a tag, which is JSON unless it is a string.
func valueOf(text string, o object) (jsontext.Value, error) {
	v := jsontext.Value(text)
	switch kind := o.kind(); {
	case kind == "string":
		return quote(text), nil
	case v.IsValid():
		return v, v.Compact()
	case kind == "" && !o.has("$ref"):
		return quote(text), nil
	case kind == "":
		return nil, errors.New("must be JSON")
	default:
		return nil, fmt.Errorf("must be %s, as JSON", kind)
	}
}

// nullable returns a schema that also takes null.
func nullable(o object) object {
	if len(o) == 0 {
		return o
	}
	null := object{{"type", quote("null")}}.text()
	if several := o.get("anyOf"); several != nil {
		o.set("anyOf", list(append(itemsOf(several), null)))
		return o
	}
	kind := o.get("type")
	if kind == nil || o.has("const") {
		var outside object // what is not about values stays where it is seen
		inside := slices.DeleteFunc(o, func(m member) bool {
			apart := m.name == "title" || m.name == "description" || m.name == "default" || m.name == "examples"
			if apart {
				outside = append(outside, m)
			}
			return apart
		})
		return append(outside, member{"anyOf", list([]jsontext.Value{null, inside.text()})})
	}
	if kind.Kind() != '"' {
		return o
	}
	o.set("type", list([]jsontext.Value{quote("null"), kind}))
	if e := o.get("enum"); e != nil {
		o.set("enum", list(append(itemsOf(e), jsontext.Value("null"))))
	}
	return o
}
