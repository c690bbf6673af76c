package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// compiler makes the node of one place. The first mistake in the schema is kept
// and ends it.
type compiler struct {
	*place
	graph *graph
	err   error
}

func compile(g *graph, p *place) error {
	c := &compiler{place: p, graph: g}
	p.node.never = p.never
	if p.members == nil {
		return nil
	}
	c.annotations()
	logic := &logicRules{}
	for _, ref := range p.refs {
		c.ref(logic, ref)
	}
	if !g.draft07 || len(p.refs) == 0 {
		c.types()
		c.enum()
		c.number()
		c.string()
		c.array()
		c.object()
		c.logic(logic)
	}
	if used := logic.all != nil || logic.any != nil || logic.one != nil || logic.not != nil ||
		logic.condition != nil || logic.dynamic != nil; used {
		p.node.logic = logic
	}
	return c.err
}

func (c *compiler) fail(keyword, text string) {
	if c.err == nil {
		c.err = malformed(keyword, c.at, text)
	}
}

// annotations finds mistakes in what is not for validation.
func (c *compiler) annotations() {
	for _, kw := range []struct {
		name string
		kind kinds
	}{
		{"$id", str},
		{"$schema", str},
		{"$anchor", str},
		{"$dynamicAnchor", str},
		{"$comment", str},
		{"title", str},
		{"description", str},
		{"format", str},
		{"contentEncoding", str},
		{"contentMediaType", str},
		{"examples", array},
		{"deprecated", boolean},
		{"readOnly", boolean},
		{"writeOnly", boolean},
	} {
		if raw, ok := c.members[kw.name]; ok && text(raw).kindAt(0) != kw.kind {
			c.fail(kw.name, "must be of type "+kw.kind.names()[0])
		}
	}
}

func (c *compiler) ref(l *logicRules, ref reference) {
	targets := c.graph.targets(c.base, ref)
	if len(targets) == 1 {
		l.all = append(l.all, targets[0].node)
		return
	}
	l.dynamic = append(l.dynamic, dynamicRef{anchor: ref.text[1:], node: targets[0].node})
	c.graph.setResources()
}

// setResources tells each node which dynamic anchors are around it.
func (g *graph) setResources() {
	if g.scoped {
		return
	}
	g.scoped = true
	resources := map[string]*resource{}
	for _, p := range g.list {
		if resources[p.base] == nil {
			resources[p.base] = &resource{anchors: map[string]*node{}}
		}
		p.node.resource = resources[p.base]
	}
	for name, places := range g.dynamic {
		for _, p := range places {
			resources[p.base].anchors[name] = p.node
		}
	}
}

func (c *compiler) types() {
	raw, ok := c.members["type"]
	if !ok {
		return
	}
	list := []jsontext.Value{raw}
	if raw.Kind() == '[' {
		list = text(raw).items()
	}
	for _, raw := range list {
		k := slices.Index(kindNames[:], text(raw).asString())
		if k < 0 {
			c.fail("type", "must be null, boolean, integer, number, string, array or object, or an array of those")
			return
		}
		c.node.types |= 1 << k
	}
	if len(list) == 0 {
		c.fail("type", "must not be an empty array")
	}
}

// asString returns what t says where it is a string.
func (t text) asString() string {
	if t.kindAt(0) == str {
		return t.unquoted()
	}
	return ""
}

func (c *compiler) enum() {
	e := c.values("enum")
	if v, ok := c.members["const"]; ok {
		one := newEnum("const", []jsontext.Value{v})
		if e == nil {
			c.node.enum = one
			return
		}
		c.extra(&node{enum: one})
	}
	c.node.enum = e
}

// extra adds a schema that every value has to fit as well.
func (c *compiler) extra(n *node) {
	if c.node.logic == nil {
		c.node.logic = &logicRules{}
	}
	c.node.logic.all = append(c.node.logic.all, n)
}

func (c *compiler) values(keyword string) *enum {
	raw, ok := c.members[keyword]
	if !ok {
		return nil
	}
	if raw.Kind() != '[' {
		c.fail(keyword, "must be an array")
		return nil
	}
	return newEnum(keyword, text(raw).items())
}

func newEnum(keyword string, list []jsontext.Value) *enum {
	e := &enum{rule: keyword, failed: "must be one of " + valueList(list)}
	if keyword == "const" {
		e.failed = "must be " + valueList(list)
	}
	for _, raw := range list {
		t := text(slices.Clone(raw))
		k := t.kindAt(0)
		e.kinds |= k
		switch k {
		case str:
			e.words.add(t.unquoted())
		case number:
			e.others = append(e.others, constant{kind: k, text: t, number: t.parse()})
		default:
			e.others = append(e.others, constant{kind: k, text: t})
		}
	}
	return e
}

// valueList writes what the schema allows; the schema is public.
func valueList(list []jsontext.Value) string {
	const most = 20
	var b strings.Builder
	for i, v := range list[:min(len(list), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(capped(string(v)))
	}
	if len(list) > most {
		b.WriteString(", …")
	}
	return b.String()
}

func (c *compiler) number() {
	rules := &numberRules{}
	for _, b := range []bound{
		{rule: "minimum", equal: true, failed: "at least "},
		{rule: "maximum", equal: true, failed: "at most ", below: true},
		{rule: "exclusiveMinimum", failed: "more than "},
		{rule: "exclusiveMaximum", failed: "less than ", below: true},
	} {
		if d, raw, ok := c.decimal(b.rule); ok {
			b.limit, b.failed = d, "must be "+b.failed+capped(raw)
			rules.bounds = append(rules.bounds, b)
		}
	}
	if d, raw, ok := c.decimal("multipleOf"); ok {
		if d.negative || d.count == 0 {
			c.fail("multipleOf", "must be more than 0")
		}
		if d.count > maxDivisorDigits {
			c.fail("multipleOf", "must not have more than "+strconv.Itoa(maxDivisorDigits)+" digits")
		}
		rules.multiple = &divisor{d, "must be a multiple of " + capped(raw)}
	}
	if len(rules.bounds) > 0 || rules.multiple != nil {
		c.node.number = rules
	}
}

func (c *compiler) decimal(keyword string) (d decimal, raw string, ok bool) {
	v, ok := c.members[keyword]
	if !ok {
		return d, "", false
	}
	if v.Kind() != '0' {
		c.fail(keyword, "must be a number")
		return d, "", false
	}
	return text(slices.Clone(v)).parse(), string(v), true
}

// count compiles a keyword that is a number of things. The text has a %d for
// the number.
func (c *compiler) count(keyword, format string) count {
	d, raw, ok := c.decimal(keyword)
	if !ok {
		return count{}
	}
	if d.negative || !d.isInteger() {
		c.fail(keyword, "must be an integer, and not negative")
	}
	n := math.MaxInt
	if f, err := strconv.ParseFloat(raw, 64); err == nil && f < math.MaxInt32 {
		n = int(f)
	}
	return count{n: n, set: true, failed: fmt.Sprintf(format, n)}
}

func (c *compiler) string() {
	rules := &stringRules{
		min: c.count("minLength", "must have at least %d characters"),
		max: c.count("maxLength", "must have at most %d characters"),
	}
	if raw, ok := c.members["pattern"]; ok {
		if raw.Kind() != '"' {
			c.fail("pattern", "must be a string")
			return
		}
		p := text(raw).unquoted()
		rules.pattern = c.pattern("pattern", p)
		rules.failed = "must match the pattern " + quote(p)
	}
	if rules.min.set || rules.max.set || rules.pattern != nil {
		c.node.str = rules
	}
}

func (c *compiler) pattern(keyword, expr string) *pattern {
	p, err := compilePattern(expr)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("schema cannot be compiled: %s at %s: %w", keyword, quote("#"+c.at), err)
	}
	return p
}

// sub returns the node of a keyword that holds one schema, or nil.
func (c *compiler) sub(keyword string) *node { return c.nodeAt(c.at + "/" + keyword) }

func (c *compiler) nodeAt(at string) *node {
	if p := c.graph.places[at]; p != nil {
		return p.node
	}
	return nil
}

// subs returns the nodes of a keyword that holds a list of schemas.
func (c *compiler) subs(keyword string) []*node {
	raw := c.members[keyword]
	if raw.Kind() != '[' {
		return nil
	}
	var list []*node
	for {
		n := c.nodeAt(c.at + "/" + keyword + "/" + strconv.Itoa(len(list)))
		if n == nil {
			return list
		}
		list = append(list, n)
	}
}

func (c *compiler) logic(l *logicRules) {
	if c.node.logic != nil { // of extra
		l.all = append(l.all, c.node.logic.all...)
	}
	l.all = append(l.all, c.subs("allOf")...)
	l.any = c.alternatives("anyOf")
	l.one = c.alternatives("oneOf")
	l.not = c.sub("not")
	if n := c.sub("if"); n != nil {
		l.condition, l.then, l.els = n, c.sub("then"), c.sub("else")
	}
}

func (c *compiler) alternatives(keyword string) *alternatives {
	if _, ok := c.members[keyword]; !ok {
		return nil
	}
	a := &alternatives{nodes: c.subs(keyword)}
	if len(a.nodes) == 0 {
		c.fail(keyword, "must not be an empty array")
	}
	var consts []jsontext.Value // as forms have them, each with a title
	for i := range a.nodes {
		p := c.graph.places[c.at+"/"+keyword+"/"+strconv.Itoa(i)]
		if v, ok := p.members["const"]; ok {
			consts = append(consts, v)
		}
	}
	if len(consts) == len(a.nodes) {
		a.failed = "must be one of " + valueList(consts)
	}
	return a
}
