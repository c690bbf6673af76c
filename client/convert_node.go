package client

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// nodeConverter converts one schema, without those in it.
type nodeConverter struct {
	*converter
	target *refTarget
	in     jsonObject
	out    jsonObject
	shape  *shape
	told   []string // for the description
	place  string
	depth  int
}

func (n *nodeConverter) fail(keyword string, err error) error {
	place := n.place
	if keyword != "" {
		place += "/" + pointerToken(keyword)
	}
	return &placeError{place, err}
}

func pointerToken(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

func (n *nodeConverter) convert() error {
	if n.isObject() {
		n.levels++
		defer func() { n.levels-- }()
		if n.maxDepth > 0 && n.levels > n.maxDepth {
			return n.fail("", fmt.Errorf("more than %d objects in each other", n.maxDepth))
		}
	}
	for _, m := range n.in {
		if err := n.keyword(m.name, m.value); err != nil {
			return err
		}
	}
	if n.strict {
		if err := n.close(); err != nil {
			return err
		}
	}
	n.describe()
	if n.bareRefs && n.out.has("$ref") && len(n.out) > 1 {
		if n.out.has("anyOf") {
			return n.fail("$ref", errors.New("cannot stand beside a union"))
		}
		ref := jsonObject{{"$ref", n.out.get("$ref")}}
		n.out = n.out.without("$ref")
		n.out.set("anyOf", listText(ref.text()))
	}
	return nil
}

func (n *nodeConverter) isObject() bool {
	return n.in.has("properties") || hasType(n.in, "object")
}

// hasType reports whether type is, or lists, a type of JSON.
func hasType(o jsonObject, name string) bool {
	v := o.get("type")
	return unquoted(v) == name || slices.Contains(stringsOf(v), name)
}

// keyword converts one member of the schema.
func (n *nodeConverter) keyword(name string, v jsontext.Value) error {
	switch name {
	case "$defs", "definitions", "$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$vocabulary":
		return nil
	case "$dynamicRef", "$recursiveRef":
		return n.fail(name, errors.New("is not followed"))
	case "$ref":
		t, err := n.refer(n.target, unquoted(v))
		if err != nil {
			return n.fail("$ref", err)
		}
		n.out.set("$ref", quoted("#/$defs/"+t.name))
		n.shape.ref = t.shape
		return nil
	}
	if n.anyOf && (name == "oneOf" || name == "allOf" && element(v, 1) == nil) && !n.in.has("anyOf") && !n.out.has("anyOf") {
		name = "anyOf"
	}
	switch {
	case n.cannot.has(name):
		return n.fail(name, errors.New("has no counterpart"))
	case n.keeps != "" && !n.keeps.has(name) || name == "format" && n.formats != "" && !n.formats.has(unquoted(v)):
		n.tell(name, v)
		return nil
	}
	return n.kept(name, v)
}

// kept writes a keyword that the dialect has.
func (n *nodeConverter) kept(name string, v jsontext.Value) error {
	switch name {
	case "properties":
		return n.properties(v)
	case "required":
		n.out.set(name, n.names(v))
		return nil
	case "dependentRequired":
		var o jsonObject
		for _, m := range readObject(v) {
			o.set(n.property(m.name), n.names(m.value))
		}
		n.out.set(name, o.text())
		return nil
	case "patternProperties", "dependentSchemas":
		var o jsonObject
		for _, m := range readObject(v) {
			sub, _, err := n.sub(m.value, name, m.name)
			if err != nil {
				return err
			}
			if name == "dependentSchemas" {
				m.name = n.property(m.name)
			}
			o.set(m.name, sub)
		}
		n.out.set(name, o.text())
		return nil
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return n.list(name, v)
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
		return n.one(name, v)
	case "enum":
		return n.enum(v)
	}
	n.out.set(name, v)
	return nil
}

// sub converts a schema in this one.
func (n *nodeConverter) sub(v jsontext.Value, at ...string) (jsontext.Value, *shape, error) {
	place := n.place
	for _, token := range at {
		place += "/" + pointerToken(token)
	}
	return n.node(n.target, v, place, n.depth+1)
}

func (n *nodeConverter) one(name string, v jsontext.Value) error {
	if v.Kind() == 'f' || v.Kind() == 't' && name == "additionalProperties" {
		if name == "items" && n.keeps != "" { // no items: that is a length
			n.tell(name, v)
			return nil
		}
		n.out.set(name, v)
		return nil
	}
	sub, sh, err := n.sub(v, name)
	if err != nil {
		return err
	}
	n.out.set(name, sub)
	if name == "items" {
		n.shape.items = sh
	}
	return nil
}

func (n *nodeConverter) list(name string, v jsontext.Value) error {
	var items []jsontext.Value
	for item := range rpc.Elements(v) {
		sub, sh, err := n.sub(item, name, strconv.Itoa(len(items)))
		if err != nil {
			return err
		}
		items = append(items, sub)
		if name == "anyOf" && n.allRequired {
			ch := &choice{text: sub, shape: sh, place: n.place}
			n.shape.either = append(n.shape.either, ch)
			n.choices = append(n.choices, ch)
		}
	}
	n.out.set(name, listText(items...))
	return nil
}

func (n *nodeConverter) names(v jsontext.Value) jsontext.Value {
	var items []jsontext.Value
	for _, name := range stringsOf(v) {
		items = append(items, quoted(n.property(name)))
	}
	return listText(items...)
}

func (n *nodeConverter) properties(v jsontext.Value) error {
	required := stringsOf(n.in.get("required"))
	var o jsonObject
	n.shape.members = map[string]memberShape{}
	for _, m := range readObject(v) {
		n.converter.properties++
		sub, sh, err := n.sub(m.value, "properties", m.name)
		if err != nil {
			return err
		}
		member := memberShape{shape: sh}
		if n.allRequired && !slices.Contains(required, m.name) {
			sub, member.optional = nullable(readObject(sub))
			n.drops = n.drops || member.optional
		}
		name := n.property(m.name)
		n.shape.members[name] = member
		o = append(o, objectMember{name, sub})
	}
	if limit := n.maxProperties; limit > 0 && n.converter.properties > limit {
		return n.fail("properties", fmt.Errorf("more than %d properties", limit))
	}
	n.out.set("properties", o.text())
	return nil
}

// nullable returns a schema that null fits too, and whether it did not before.
func nullable(o jsonObject) (jsontext.Value, bool) {
	null := jsontext.Value(`null`)
	if hasType(o, "null") || slices.ContainsFunc(slices.Collect(rpc.Elements(o.get("anyOf"))),
		func(v jsontext.Value) bool { return hasType(readObject(v), "null") }) {
		return o.text(), false
	}
	out := slices.Clone(o)
	switch {
	case o.has("const") || o.has("$ref") || o.has("anyOf") && o.has("type") || !o.has("type") && !o.has("anyOf"):
		inner := o.without("description", "title")
		out = slices.DeleteFunc(out, func(m objectMember) bool { return inner.has(m.name) })
		out.set("anyOf", listText(inner.text(), jsontext.Value(`{"type":"null"}`)))
	case o.has("anyOf"):
		out.set("anyOf", listText(append(slices.Collect(rpc.Elements(o.get("anyOf"))), jsontext.Value(`{"type":"null"}`))...))
	default:
		types := []jsontext.Value{o.get("type")}
		if types[0].Kind() == '[' {
			types = slices.Collect(rpc.Elements(types[0]))
		}
		out.set("type", listText(append(types, quoted("null"))...))
		if o.has("enum") {
			out.set("enum", listText(append(slices.Collect(rpc.Elements(o.get("enum"))), null)...))
		}
	}
	return out.text(), true
}

func (n *nodeConverter) enum(v jsontext.Value) error {
	values := slices.Collect(rpc.Elements(v))
	n.enums += len(values)
	if n.maxEnums > 0 && n.enums > n.maxEnums {
		return n.fail("enum", fmt.Errorf("more than %d values", n.maxEnums))
	}
	if !n.stringEnums {
		n.out.set("enum", v)
		return nil
	}
	if slices.ContainsFunc(values, func(v jsontext.Value) bool { return v.Kind() != '"' && v.Kind() != '0' }) {
		n.tell("enum", v)
		return nil
	}
	n.out.set("enum", v)
	return nil
}

// close holds the schema to what strict modes want of it.
func (n *nodeConverter) close() error {
	if !n.isObject() {
		if !n.out.has("type") && !n.out.has("$ref") && !n.out.has("anyOf") && !n.out.has("enum") && !n.out.has("const") {
			return n.fail("", errors.New("says no type"))
		}
		if hasType(n.out, "array") && !n.out.has("items") {
			return n.fail("", errors.New("says nothing of its items"))
		}
		return nil
	}
	if n.out.has("anyOf") || n.out.has("$ref") {
		return n.fail("", errors.New("has properties beside those of another schema"))
	}
	more := n.in.get("additionalProperties")
	properties := readObject(n.out.get("properties"))
	if more != nil && more.Kind() != 'f' || more == nil && len(properties) == 0 {
		return n.fail("additionalProperties", errors.New("has properties that no name is known of"))
	}
	n.out.set("additionalProperties", jsontext.Value("false"))
	if !n.out.has("properties") {
		n.out.set("properties", jsontext.Value("{}"))
	}
	for _, name := range stringsOf(n.out.get("required")) {
		if !properties.has(name) {
			return n.fail("required", errors.New("names a property that is not there"))
		}
	}
	if n.allRequired {
		var all []jsontext.Value
		for _, m := range properties {
			all = append(all, quoted(m.name))
		}
		n.out.set("required", listText(all...))
	}
	return nil
}

// tell says in the description what the dialect has no keyword for. What is
// for people or programs only is left out.
func (n *nodeConverter) tell(name string, v jsontext.Value) {
	const rules = words(" default examples deprecated format pattern minLength maxLength multipleOf minimum maximum exclusiveMinimum " +
		"exclusiveMaximum minItems maxItems uniqueItems items contains minContains maxContains minProperties maxProperties enum not if then " +
		"else dependentRequired propertyNames unevaluatedItems unevaluatedProperties contentEncoding contentMediaType ")
	switch {
	case name == "const" && n.stringEnums && (v.Kind() == '"' || v.Kind() == '0'):
		n.out.set("enum", listText(v))
	case name == "const" || rules.has(name):
		n.told = append(n.told, name+": "+compact(v))
	}
}

func (n *nodeConverter) describe() {
	if len(n.told) == 0 {
		return
	}
	text := "(" + strings.Join(n.told, "; ") + ")"
	if d := unquoted(n.out.get("description")); d != "" {
		text = d + " " + text
	}
	n.out.set("description", quoted(text))
}
