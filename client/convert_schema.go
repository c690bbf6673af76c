package client

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
	"github.com/tenon-mcp/tenon/rpc"
)

// converted is the schema of a tool's arguments in the words of a dialect.
type converted struct {
	schema jsontext.Value
	shape  *shape
	strict bool
	empty  bool // there are no arguments
}

// placeError names the place in a schema by a JSON Pointer.
type placeError struct {
	place string
	err   error
}

func (e *placeError) Error() string { return e.place + ": " + e.err.Error() }

// wrapped is the property that a schema goes into whose root is a union.
const wrapped = "arguments"

// maxRefTargets is how many definitions a schema may refer to: generators make
// some dozens.
const maxRefTargets = 1000

// converter writes one schema anew. References become those to $defs, which
// have what is referred to, whatever it was in the original.
type converter struct {
	dialect
	root jsontext.Value
	defs []*refTarget
	// the same by their places
	byPointer map[string]*refTarget
	renamed   map[string]string // original by the model's name
	choices   []*choice
	drops     bool // there is a null to take away
	levels    int

	nodes, properties, enums int
}

// refTarget is what a $ref leads to.
type refTarget struct {
	pointer, name string
	schema        jsontext.Value
	shape         *shape
	refs          []*refTarget // that are in it
}

func convertSchema(d dialect, in jsontext.Value) (converted, error) {
	c := &converter{dialect: d, root: in, renamed: map[string]string{}, byPointer: map[string]*refTarget{}}
	root := readObject(in)
	if len(in) > defaultSchemaBytes {
		return converted{}, &placeError{"", fmt.Errorf("the input schema has more than %d bytes", defaultSchemaBytes)}
	}
	if in.Kind() != '{' {
		return converted{}, &placeError{"", errors.New("the input schema is not an object")}
	}
	union := slices.ContainsFunc([]string{"anyOf", "oneOf", "allOf", "not", "enum", "$ref"}, root.has)
	if !root.has("type") {
		root.set("type", quoted("object"))
	}
	if !union && !root.has("properties") { // which OpenAI insists on
		root.set("properties", jsontext.Value("{}"))
	}
	used := &refTarget{}
	out, sh, err := c.node(used, root.text(), "", 0)
	if err != nil {
		return converted{}, err
	}
	o := readObject(out)
	if union {
		o = jsonObject{
			{"type", quoted("object")},
			{"properties", jsonObject{{wrapped, out}}.text()},
			{"required", listText(quoted(wrapped))},
			{"additionalProperties", jsontext.Value("false")},
		}
		sh = &shape{wraps: true, members: map[string]memberShape{wrapped: {shape: sh}}}
	}
	defs, err := c.definitions()
	if err != nil {
		return converted{}, err
	}
	if len(defs) > 0 {
		o.set("$defs", defs.text())
	}
	more := root.get("additionalProperties")
	empty := !union && string(root.get("properties")) == "{}" && !root.has("patternProperties") && (more == nil || more.Kind() == 'f')
	result := converted{schema: o.text(), strict: d.strict, empty: empty}
	if !union && !c.drops && len(c.renamed) == 0 {
		return result, nil
	}
	result.shape, sh.renamed = sh, c.renamed
	if !c.drops {
		result.shape = &shape{wraps: union, renamed: c.renamed}
	}
	return result, c.compileChoices(defs)
}

// definitions converts what was referred to, and what that refers to.
func (c *converter) definitions() (jsonObject, error) {
	var defs jsonObject
	for i := 0; i < len(c.defs); i++ { //nolint:intrange // it grows
		t := c.defs[i]
		v, sh, err := c.node(t, t.schema, t.pointer, 0)
		if err != nil {
			return nil, err
		}
		*t.shape = *sh
		defs = append(defs, objectMember{t.name, v})
	}
	if c.acyclic {
		for _, t := range c.defs {
			if t.reaches(t, map[*refTarget]bool{}) {
				return nil, &placeError{t.pointer, errors.New("the schema contains itself")}
			}
		}
	}
	return defs, nil
}

func (t *refTarget) reaches(to *refTarget, seen map[*refTarget]bool) bool {
	for _, r := range t.refs {
		if r == to {
			return true
		}
		if !seen[r] {
			seen[r] = true
			if r.reaches(to, seen) {
				return true
			}
		}
	}
	return false
}

// node converts a schema, and says what its values look like.
func (c *converter) node(in *refTarget, v jsontext.Value, place string, depth int) (jsontext.Value, *shape, error) {
	fail := func(format string, args ...any) error { return &placeError{place, fmt.Errorf(format, args...)} }
	c.nodes++
	switch {
	case c.nodes > maxSubschemas:
		return nil, nil, fail("more than %d schemas", maxSubschemas)
	case depth > maxSchemaDepth:
		return nil, nil, fail("more than %d schemas in each other", maxSchemaDepth)
	case v.Kind() == 't' && !c.strict:
		return jsontext.Value("{}"), &shape{}, nil
	case v.Kind() == 'f' && c.keeps == "":
		return v, &shape{}, nil
	case v.Kind() != '{':
		return nil, nil, fail("a schema that says nothing, or that nothing fits, cannot be said")
	}
	n := &nodeConverter{converter: c, target: in, in: inNewWords(readObject(v)), shape: &shape{}, place: place, depth: depth}
	if err := n.convert(); err != nil {
		return nil, nil, err
	}
	return n.out.text(), n.shape, nil
}

// inNewWords says in 2020-12 what draft-07 says otherwise.
func inNewWords(o jsonObject) jsonObject {
	if o.get("items").Kind() == '[' {
		items, more := o.get("items"), o.get("additionalItems")
		o = o.without("items", "additionalItems")
		o.set("prefixItems", items)
		if more != nil {
			o.set("items", more)
		}
	}
	if !o.has("dependencies") {
		return o
	}
	required, schemas := readObject(o.get("dependentRequired")), readObject(o.get("dependentSchemas"))
	for _, m := range readObject(o.get("dependencies")) {
		if m.value.Kind() == '[' {
			required.set(m.name, m.value)
		} else {
			schemas.set(m.name, m.value)
		}
	}
	o = o.without("dependencies")
	if len(required) > 0 {
		o.set("dependentRequired", required.text())
	}
	if len(schemas) > 0 {
		o.set("dependentSchemas", schemas.text())
	}
	return o
}

// refer returns the target of a $ref.
func (c *converter) refer(in *refTarget, ref string) (*refTarget, error) {
	t := &refTarget{pointer: strings.TrimPrefix(ref, "#"), shape: &shape{}}
	if len(t.pointer) == len(ref) || t.pointer != "" && t.pointer[0] != '/' {
		return nil, fmt.Errorf("$ref %q does not lead to a place in the schema", excerpt(ref, 100))
	}
	if other := c.byPointer[t.pointer]; other != nil {
		in.refs = append(in.refs, other)
		return other, nil
	}
	if len(c.defs) == maxRefTargets {
		return nil, fmt.Errorf("leads to one more than %d definitions", maxRefTargets)
	}
	if t.schema = lookUp(c.root, t.pointer); t.schema == nil {
		return nil, fmt.Errorf("$ref %q leads nowhere", excerpt(ref, 100))
	}
	base := t.pointer[strings.LastIndexByte(t.pointer, '/')+1:]
	if base == "" {
		base = "root"
	}
	if !isModelName(base, "") {
		base = mangle(base, "")
	}
	t.name = base
	for i := 2; slices.ContainsFunc(c.defs, func(o *refTarget) bool { return o.name == t.name }); i++ {
		t.name = base + strconv.Itoa(i)
	}
	in.refs = append(in.refs, t)
	c.defs = append(c.defs, t)
	c.byPointer[t.pointer] = t
	return t, nil
}

// property returns what the model calls a property.
func (c *converter) property(name string) string {
	if c.dialect.properties == "*" || isModelName(name, c.dialect.properties) || c.dialect.properties != "" && isPropertyKey(name, c.dialect.properties) {
		return name
	}
	out := mangle(name, c.dialect.properties)
	c.renamed[out] = name
	return out
}

// isPropertyKey is isModelName where the first character may be any.
func isPropertyKey(s, more string) bool {
	return s != "" && len(s) <= maxModelName && !strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r, more) })
}

// compileChoices prepares telling which of several schemas a value fits.
func (c *converter) compileChoices(defs jsonObject) error {
	if !c.drops {
		return nil
	}
	for _, ch := range c.choices {
		o := readObject(ch.text)
		if len(defs) > 0 {
			o.set("$defs", defs.text())
		}
		var err error
		ch.schema, err = schema.Compile(o.text(), schema.Limits{Bytes: -1, Depth: maxSchemaDepth, Subschemas: maxSubschemas})
		if err != nil {
			return &placeError{ch.place, err}
		}
	}
	return nil
}

// lookUp follows a JSON Pointer as it stands in a URI; nil = there is nothing.
func lookUp(v jsontext.Value, pointer string) jsontext.Value {
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = rest; more {
			pointer = "/" + rest
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(percentDecoded(token))
		switch v.Kind() {
		case '{':
			v = readObject(v).get(name)
		case '[':
			i, err := strconv.Atoi(name)
			v = element(v, i)
			if err != nil {
				return nil
			}
		default:
			return nil
		}
	}
	return v
}

func element(v jsontext.Value, i int) jsontext.Value {
	for item := range rpc.Elements(v) {
		if i == 0 {
			return item
		}
		i--
	}
	return nil
}
