package client

import (
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// jsonObject is a JSON object that is read and written anew, its members in order.
type jsonObject []objectMember

type objectMember struct {
	name  string
	value jsontext.Value
}

// readObject reads valid JSON. What is no object has no members.
func readObject(v jsontext.Value) jsonObject {
	var o jsonObject
	for name, value := range rpc.Members(v) {
		o = append(o, objectMember{string(name), value})
	}
	return o
}

func (o jsonObject) get(name string) jsontext.Value {
	for i := range o {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

func (o jsonObject) has(name string) bool { return o.get(name) != nil }

func (o *jsonObject) set(name string, v jsontext.Value) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = v
			return
		}
	}
	*o = append(*o, objectMember{name, v})
}

func (o jsonObject) without(names ...string) jsonObject {
	return slices.DeleteFunc(slices.Clone(o), func(m objectMember) bool { return slices.Contains(names, m.name) })
}

func (o jsonObject) text() jsontext.Value {
	b := []byte{'{'}
	for _, m := range o {
		b = appendMember(b, m.name, m.value)
	}
	return append(b, '}')
}

func listText(items ...jsontext.Value) jsontext.Value {
	b := []byte{'['}
	for i, v := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

func quoted(s string) jsontext.Value { return appendString(nil, s) }

// unquoted returns the text of a JSON string, "" for what is none.
func unquoted(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

func stringsOf(v jsontext.Value) []string {
	var out []string
	for item := range rpc.Elements(v) {
		out = append(out, unquoted(item))
	}
	return out
}

// compact returns v on one line.
func compact(v jsontext.Value) string {
	c := v.Clone()
	if c.Compact() != nil {
		return string(v)
	}
	return string(c)
}

// percentDecoded returns s as it was before it went into a URI.
func percentDecoded(s string) string {
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
}
