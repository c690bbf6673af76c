package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// graph has the places of one schema: each subschema once, by its JSON pointer.
type graph struct {
	limits  Limits
	text    text
	draft07 bool
	places  map[string]*place
	list    []*place            // the same in the order they were read: the root first
	anchors map[string]*place   // by "base#name"
	dynamic map[string][]*place // the dynamic ones by name
	scoped  bool                // there is a $dynamicRef whose meaning depends on the way to it
}

// place is one subschema where it was found.
type place struct {
	at      string                    // JSON pointer
	base    string                    // pointer of the nearest schema around that has an $id
	members map[string]jsontext.Value // nil for true and false
	never   bool                      // false
	node    *node

	inPlace []*place // subschemas for the same value
	refs    []reference
	cost    int // 0 = not known, -1 = being counted
}

type reference struct {
	text    string // as written
	dynamic bool
}

func newGraph(t text, l Limits) *graph {
	return &graph{
		limits: l, text: t, places: map[string]*place{},
		anchors: map[string]*place{}, dynamic: map[string][]*place{},
	}
}

// isDraft07 tells the two dialects apart that are understood. Without $schema a
// schema is of 2020-12 (spec section 4.19).
func isDraft07(dialect string) (draft07, ok bool) {
	switch strings.TrimSuffix(dialect, "#") {
	case "", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft/2020-12/schema":
		return false, true
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		return true, true
	}
	return false, false
}

// read finds all subschemas and bounds the schema: its depth, its number of
// subschemas, and how many of them one value can be checked against. A reference
// that leads back to itself without going deeper into the value would never
// end; one that leads out of the schema would have to be fetched.
func (g *graph) read() error {
	at := g.text.space(0)
	if g.text.at(at) == '{' {
		dialect := ""
		if raw, ok := g.text.members(at)["$schema"]; ok {
			if raw.Kind() != '"' {
				return malformed("$schema", "", "must be a string")
			}
			dialect = text(raw).unquoted()
		}
		draft07, ok := isDraft07(dialect)
		if !ok {
			return fmt.Errorf("schema is of the dialect %s: use JSON Schema 2020-12 or draft-07", quote(dialect))
		}
		g.draft07 = draft07
	}
	if _, err := g.walk(jsontext.Value(g.text[at:]), "", "", 0); err != nil {
		return err
	}
	for _, p := range g.list {
		if _, err := g.cost(p); err != nil {
			return err
		}
	}
	return nil
}

// members returns the members of the object at i.
func (t text) members(i int) map[string]jsontext.Value {
	m := map[string]jsontext.Value{}
	c := t.open(i)
	for c.next(t) {
		end := t.skip(c.value)
		m[string(t.content(c.name, c.nameEnd, c.escaped, nil))] = jsontext.Value(t[c.value:end])
		c.leave(end)
	}
	return m
}

// items returns the items of the array that is t.
func (t text) items() []jsontext.Value {
	list := []jsontext.Value{}
	c := t.open(0)
	for c.next(t) {
		end := t.skip(c.value)
		list = append(list, jsontext.Value(t[c.value:end]))
		c.leave(end)
	}
	return list
}

// unquoted returns what the string that is t says.
func (t text) unquoted() string {
	end, escaped := t.str(0)
	return string(t.content(0, end, escaped, nil))
}

func malformed(keyword, at, text string) error {
	if at != "" {
		text += ", at " + quote("#"+at)
	}
	return fmt.Errorf("schema is malformed: %s %s", keyword, text)
}

// shape says in which forms a keyword holds schemas.
type shape uint8

const (
	single   shape = 1 << iota // a schema
	listed                     // a list of schemas
	named                      // schemas by name
	strings_                   // with single or named: or lists of names, which are no schemas
	inPlace                    // they are for the same value
)

// keywords are those that hold schemas.
var keywords = []struct {
	name  string
	shape shape
}{
	{"properties", named},
	{"patternProperties", named},
	{"$defs", named},
	{"definitions", named},
	{"dependentSchemas", named | inPlace},
	{"dependencies", named | strings_ | inPlace},
	{"allOf", listed | inPlace},
	{"anyOf", listed | inPlace},
	{"oneOf", listed | inPlace},
	{"not", single | inPlace},
	{"if", single | inPlace},
	{"then", single | inPlace},
	{"else", single | inPlace},
	{"items", single | listed},
	{"prefixItems", listed},
	{"additionalItems", single},
	{"unevaluatedItems", single},
	{"contains", single},
	{"additionalProperties", single},
	{"unevaluatedProperties", single},
	{"propertyNames", single},
	{"contentSchema", single},
}

func (g *graph) walk(raw jsontext.Value, at, base string, depth int) (*place, error) {
	if over(depth, g.limits.Depth) {
		return nil, fmt.Errorf("schema is nested deeper than Limits.SchemaDepth (%d)", g.limits.Depth)
	}
	if over(len(g.list)+1, g.limits.Subschemas) {
		return nil, fmt.Errorf("schema has more subschemas than Limits.Subschemas (%d)", g.limits.Subschemas)
	}
	p := &place{at: at, base: base, node: new(node)}
	switch raw.Kind() {
	case 't':
	case 'f':
		p.never = true
	case '{':
		p.members = text(raw).members(0)
	default:
		return nil, malformed("a schema", at, "must be an object, true or false")
	}
	g.places[at] = p
	g.list = append(g.list, p)
	if p.members == nil {
		return p, nil
	}
	if err := g.readRefs(p); err != nil {
		return nil, err
	}
	if err := g.name(p); err != nil {
		return nil, err
	}
	for _, kw := range keywords {
		if member, ok := p.members[kw.name]; ok {
			if err := g.member(p, kw.name, member, kw.shape, depth+1); err != nil {
				return nil, err
			}
		}
	}
	if g.draft07 && len(p.refs) > 0 { // what is beside $ref does not count
		p.inPlace = nil
	}
	return p, nil
}

// string returns a member that is a string, and "" where it is none.
func (p *place) string(keyword string) string {
	if raw := p.members[keyword]; raw.Kind() == '"' {
		return text(raw).unquoted()
	}
	return ""
}

func (g *graph) readRefs(p *place) error {
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		raw, ok := p.members[keyword]
		dynamic := keyword == "$dynamicRef"
		if !ok || dynamic && g.draft07 {
			continue
		}
		if raw.Kind() != '"' {
			return malformed(keyword, p.at, "must be a string")
		}
		ref := p.string(keyword)
		if ref == "" || ref[0] != '#' {
			return fmt.Errorf("schema refers to %s with %s: only references inside the schema (#…) are followed", quote(ref), keyword)
		}
		p.refs = append(p.refs, reference{ref, dynamic})
	}
	return nil
}

// name remembers what a schema is called.
func (g *graph) name(p *place) error {
	id, fragment, _ := strings.Cut(p.string("$id"), "#")
	switch {
	case g.draft07 && len(p.refs) > 0: // beside $ref it does not count
		return nil
	case fragment != "" && !g.draft07:
		return malformed("$id", p.at, "must not have a fragment")
	case id != "":
		p.base = p.at
	}
	if g.draft07 { // its $id does what $anchor came to do
		return g.anchor(p, fragment)
	}
	if a := p.string("$dynamicAnchor"); a != "" {
		g.dynamic[a] = append(g.dynamic[a], p)
		if err := g.anchor(p, a); err != nil {
			return err
		}
	}
	return g.anchor(p, p.string("$anchor"))
}

func (g *graph) anchor(p *place, name string) error {
	key := p.base + "#" + name
	if other := g.anchors[key]; name != "" && other != nil && other != p {
		return malformed("$anchor "+quote(name), p.at, "is there twice")
	}
	g.anchors[key] = p
	return nil
}

// member walks what one keyword holds.
func (g *graph) member(p *place, keyword string, raw jsontext.Value, s shape, depth int) error {
	each := func(raw jsontext.Value, at string) error {
		sub, err := g.walk(raw, at, p.base, depth)
		if err == nil && s&inPlace != 0 {
			p.inPlace = append(p.inPlace, sub)
		}
		return err
	}
	at := p.at + "/" + keyword
	switch kind := raw.Kind(); {
	case kind == '[' && s&listed != 0:
		for i, sub := range text(raw).items() {
			if err := each(sub, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case kind == '{' && s&named != 0:
		members := text(raw).members(0)
		for _, name := range sortedNames(members) {
			if s&strings_ != 0 && members[name].Kind() == '[' {
				continue
			}
			if err := each(members[name], at+"/"+escapePointer(name)); err != nil {
				return err
			}
		}
	case s&single != 0:
		return each(raw, at)
	default:
		return malformed(keyword, p.at, "must be "+map[shape]string{listed: "an array", named: "an object"}[s&(listed|named)])
	}
	return nil
}

func sortedNames(m map[string]jsontext.Value) []string {
	list := make([]string, 0, len(m))
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// cost counts the schemas that the value at one place is checked against.
func (g *graph) cost(p *place) (int, error) {
	switch {
	case p.cost > 0:
		return p.cost, nil
	case p.cost < 0:
		return 0, fmt.Errorf("schema refers to itself at %s without going deeper: validation would not end", quote("#"+p.at))
	}
	p.cost = -1
	next := slices.Clip(p.inPlace)
	for _, ref := range p.refs {
		targets := g.targets(p.base, ref)
		if len(targets) == 0 {
			return 0, fmt.Errorf("schema refers to %s, where there is no schema", quote(ref.text))
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
	p.cost = sum
	return sum, nil
}

// targets returns the schemas that a reference may mean: several where that
// depends on the way to it. The first is the one it means as written.
func (g *graph) targets(base string, ref reference) []*place {
	fragment := ref.text[1:]
	if fragment == "" || fragment[0] == '/' {
		at := base
		for token := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
			if fragment != "" {
				at += "/" + escapePointer(unescapePointer(token))
			}
		}
		if p := g.places[at]; p != nil {
			return []*place{p}
		}
		return nil
	}
	p := g.anchors[base+"#"+fragment]
	if p == nil {
		return nil
	}
	targets := []*place{p}
	if !ref.dynamic || !slices.Contains(g.dynamic[fragment], p) {
		return targets
	}
	for _, other := range g.dynamic[fragment] {
		if other != p {
			targets = append(targets, other)
		}
	}
	return targets
}

func escapePointer(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

func unescapePointer(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		s = u
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}
