package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// The dialects that are understood, in the spelling of the validator. Without
// $schema a schema is of 2020-12 (spec section 4.19).
var dialects = map[string]string{
	"": "",
	"https://json-schema.org/draft/2020-12/schema":  "https://json-schema.org/draft/2020-12/schema",
	"https://json-schema.org/draft/2020-12/schema#": "https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema":        "http://json-schema.org/draft-07/schema#",
	"http://json-schema.org/draft-07/schema#":       "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft-07/schema":       "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft-07/schema#":      "http://json-schema.org/draft-07/schema#",
}

// validator checks values against one compiled schema. It is safe for
// concurrent use.
type validator struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// compile makes a validator of a schema from anywhere. It fetches nothing, and
// refuses what could make validation endless.
func compile(raw jsontext.Value, l Limits) (*validator, error) {
	if over(len(raw), l.SchemaBytes) {
		return nil, fmt.Errorf("schema has %d bytes, more than Limits.SchemaBytes (%d)", len(raw), l.SchemaBytes)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("schema is not valid JSON: %w", err)
	}
	if err := checkGraph(tree, l); err != nil {
		return nil, err
	}
	s := new(jsonschema.Schema)
	if err := s.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("schema is malformed: %w", err)
	}
	dialect, ok := dialects[s.Schema]
	if !ok {
		return nil, fmt.Errorf("schema is of the dialect %q: use JSON Schema 2020-12 or draft-07", capped(s.Schema))
	}
	s.Schema = dialect
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema cannot be compiled: %w", err)
	}
	return &validator{schema: s, resolved: resolved}, nil
}

// compileObject is compile for a schema whose root must be of type object.
func compileObject(raw jsontext.Value, l Limits) (*validator, error) {
	if raw.Kind() != '{' {
		return nil, errors.New(`schema is not an object: for no parameters use {"type":"object"}`)
	}
	v, err := compile(raw, l)
	if err != nil {
		return nil, err
	}
	if v.schema.Type != "object" {
		return nil, errors.New(`schema must have "type":"object" at its root`)
	}
	return v, nil
}

// check validates a value. The error names where the value is wrong, in words
// that start with name, and never repeats any of the value.
func (v *validator) check(name string, raw jsontext.Value) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return decodeError(name, err)
	}
	if v.resolved.Validate(value) == nil {
		return nil
	}
	return v.explain(name, value)
}

// checkGraph bounds a schema before the validator sees it: its depth, its
// number of subschemas, and how many of them one value can be checked against.
// A reference that leads back to itself without going deeper into the value
// would never end; one that leads out of the schema would have to be fetched.
func checkGraph(tree any, l Limits) error {
	g := &schemaGraph{limits: l, nodes: map[string]*schemaNode{}, anchors: map[string][]string{}}
	if err := g.walk(tree, "", "", 0); err != nil {
		return err
	}
	for at := range g.nodes {
		if _, err := g.cost(at); err != nil {
			return err
		}
	}
	return nil
}

// schemaGraph has the subschemas by their JSON pointer.
type schemaGraph struct {
	limits  Limits
	nodes   map[string]*schemaNode
	anchors map[string][]string // "name" of dynamic ones, "base#name" of all
}

type schemaNode struct {
	base    string   // pointer of the nearest schema around that has an $id
	inPlace []string // subschemas for the same value
	refs    []string // as written
	cost    int      // 0 = not known, -1 = being counted
}

// keywords says which keywords hold schemas, and whether they apply to the same
// value as the schema they are in.
var keywords = map[string]struct{ named, inPlace bool }{
	"properties": {named: true}, "patternProperties": {named: true},
	"$defs": {named: true}, "definitions": {named: true},
	"dependentSchemas": {named: true, inPlace: true}, "dependencies": {named: true, inPlace: true},
	"allOf": {inPlace: true}, "anyOf": {inPlace: true}, "oneOf": {inPlace: true}, "not": {inPlace: true},
	"if": {inPlace: true}, "then": {inPlace: true}, "else": {inPlace: true},
	"items": {}, "prefixItems": {}, "additionalItems": {}, "unevaluatedItems": {}, "contains": {},
	"additionalProperties": {}, "unevaluatedProperties": {}, "propertyNames": {}, "contentSchema": {},
}

func (g *schemaGraph) walk(v any, at, base string, depth int) error {
	if over(depth, g.limits.SchemaDepth) {
		return fmt.Errorf("schema is nested deeper than Limits.SchemaDepth (%d)", g.limits.SchemaDepth)
	}
	if over(len(g.nodes)+1, g.limits.Subschemas) {
		return fmt.Errorf("schema has more subschemas than Limits.Subschemas (%d)", g.limits.Subschemas)
	}
	m, ok := v.(map[string]any)
	if id, _ := m["$id"].(string); id != "" && id[0] != '#' {
		base = at
	}
	n := &schemaNode{base: base}
	g.nodes[at] = n
	if !ok {
		return nil
	}
	g.name(m, at, base)
	for _, key := range []string{"$ref", "$dynamicRef"} {
		ref, ok := m[key].(string)
		if !ok {
			continue
		}
		if ref == "" || ref[0] != '#' {
			return fmt.Errorf("schema refers to %q with %s: only references inside the schema (#…) are followed", capped(ref), key)
		}
		n.refs = append(n.refs, ref)
	}
	for key, kw := range keywords {
		member, ok := m[key]
		if !ok {
			continue
		}
		if err := g.member(n, member, at+"/"+key, base, depth+1, kw.named, kw.inPlace); err != nil {
			return err
		}
	}
	return nil
}

// name remembers the anchors of a schema.
func (g *schemaGraph) name(m map[string]any, at, base string) {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		a, _ := m[key].(string)
		if a == "" {
			continue
		}
		g.anchors[base+"#"+a] = append(g.anchors[base+"#"+a], at)
		if key == "$dynamicAnchor" {
			g.anchors[a] = append(g.anchors[a], at)
		}
	}
	if id, _ := m["$id"].(string); len(id) > 1 && id[0] == '#' { // how draft-07 spells $anchor
		g.anchors[base+id] = append(g.anchors[base+id], at)
	}
}

func (g *schemaGraph) member(n *schemaNode, v any, at, base string, depth int, named, inPlace bool) error {
	each := func(v any, at string) error {
		if inPlace {
			n.inPlace = append(n.inPlace, at)
		}
		return g.walk(v, at, base, depth)
	}
	switch v := v.(type) {
	case []any:
		for i, s := range v {
			if err := each(s, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		if !named {
			return each(v, at)
		}
		for name, s := range v {
			if _, list := s.([]any); list { // of names: "dependencies" of draft-07
				continue
			}
			if err := each(s, at+"/"+escapePointer(name)); err != nil {
				return err
			}
		}
	case bool:
		return each(v, at)
	}
	return nil
}

// cost counts the schemas that the value at one place is checked against.
func (g *schemaGraph) cost(at string) (int, error) {
	n := g.nodes[at]
	switch {
	case n.cost > 0:
		return n.cost, nil
	case n.cost < 0:
		return 0, fmt.Errorf("schema refers to itself at %q without going deeper: validation would not end", capped("#"+at))
	}
	n.cost = -1
	next := slices.Clip(n.inPlace)
	for _, ref := range n.refs {
		targets := g.targets(n.base, ref)
		if len(targets) == 0 {
			return 0, fmt.Errorf("schema refers to %q, where there is no schema", capped(ref))
		}
		next = append(next, targets...)
	}
	sum := 1
	for _, to := range next {
		c, err := g.cost(to)
		if err != nil {
			return 0, err
		}
		if sum += c; over(sum, g.limits.Subschemas) {
			return 0, fmt.Errorf("schema checks one value against more than Limits.Subschemas (%d) subschemas", g.limits.Subschemas)
		}
	}
	n.cost = sum
	return sum, nil
}

// targets returns the schemas that a reference may mean: several where it is
// dynamic.
func (g *schemaGraph) targets(base, ref string) []string {
	fragment := ref[1:]
	if fragment == "" || fragment[0] == '/' {
		at := base
		for token := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
			if fragment != "" {
				at += "/" + escapePointer(unescapePointer(token))
			}
		}
		if g.nodes[at] == nil {
			return nil
		}
		return []string{at}
	}
	return slices.Concat(g.anchors[base+"#"+fragment], g.anchors[fragment])
}
