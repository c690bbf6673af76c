package infer

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object that is being written, its members in order.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// set adds a member, or changes it where it stands.
func (o *object) set(name string, value jsontext.Value) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{name, value})
}

// tell adds what is for people and models, in front of the rules.
func (o *object) tell(name, text string) {
	i := 0
	for i < len(*o) && ((*o)[i].name == "type" || (*o)[i].name == "title") {
		i++
	}
	if o.has(name) {
		o.set(name, quote(text))
		return
	}
	*o = slices.Insert(*o, i, member{name, quote(text)})
}

func (o object) get(name string) jsontext.Value {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o object) has(name string) bool { return o.get(name) != nil }

// is reports whether the schema is for one type of JSON only, this one.
func (o object) is(kind string) bool { return o.kind() == kind }

// kind returns the one type of JSON that the schema is for, or "".
func (o object) kind() string {
	if t := o.get("type"); t.Kind() == '"' {
		return string(t[1 : len(t)-1])
	}
	return ""
}

func (o object) text() jsontext.Value {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(m.name)...), ':'), m.value...)
	}
	return append(b, '}')
}

// with returns o and $defs.
func (o object) with(defs object) object {
	if len(defs) == 0 {
		return o
	}
	return append(slices.Clip(o), member{"$defs", defs.text()})
}

// parse returns the members of an object that is valid JSON.
func parse(text jsontext.Value) object {
	var o object
	for name, value := range members(text) {
		o = append(o, member{name, value})
	}
	return o
}

func quote(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8
		b, _ = jsontext.AppendQuote(nil, string([]rune(s)))
	}
	return b
}

func list(values []jsontext.Value) jsontext.Value {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
