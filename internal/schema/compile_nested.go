package schema

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// array compiles what is said of arrays. Where items is an array, as draft-07
// has it and many an author of today writes it, it means prefixItems, and
// additionalItems means items.
func (c *compiler) array() {
	rules := &arrayRules{
		min:   c.count("minItems", "must have at least %d items"),
		max:   c.count("maxItems", "must have at most %d items"),
		first: c.subs("items"), rest: c.sub("items"),
		unique: c.bool("uniqueItems"), contains: c.sub("contains"),
		minContains: 1, maxContains: -1,
	}
	if c.members["items"].Kind() == '[' {
		rules.rest = c.sub("additionalItems")
	}
	if !c.graph.draft07 {
		if prefix := c.subs("prefixItems"); prefix != nil {
			rules.first = prefix
		}
		if n := c.count("minContains", "%d"); n.set {
			rules.minContains = n.n
		}
		if n := c.count("maxContains", "%d"); n.set {
			rules.maxContains = n.n
		}
		c.node.unevaluatedItems = c.sub("unevaluatedItems")
		c.node.unevaluatedProperties = c.sub("unevaluatedProperties")
	}
	if rules.min.set || rules.max.set || len(rules.first) > 0 || rules.rest != nil || rules.unique || rules.contains != nil {
		c.node.array = rules
	}
}

func (c *compiler) bool(keyword string) bool {
	raw, ok := c.members[keyword]
	if k := raw.Kind(); ok && k != 't' && k != 'f' {
		c.fail(keyword, "must be true or false")
	}
	return raw.Kind() == 't'
}

func (c *compiler) object() {
	rules := &objectRules{
		min:        c.count("minProperties", "must have at least %d members"),
		max:        c.count("maxProperties", "must have at most %d members"),
		additional: c.sub("additionalProperties"), propertyNames: c.sub("propertyNames"),
	}
	c.properties(rules)
	c.named("patternProperties", func(expr string, _ jsontext.Value, n *node) {
		rules.patterns = append(rules.patterns, patternProperty{c.pattern("patternProperties", expr), n})
	})
	c.named("dependencies", func(name string, raw jsontext.Value, n *node) {
		d := dependent{name: name, node: n}
		if n == nil {
			d.required = c.strings("dependencies", raw)
		}
		rules.dependents = append(rules.dependents, d)
	})
	if !c.graph.draft07 {
		c.named("dependentSchemas", func(name string, _ jsontext.Value, n *node) {
			rules.dependents = append(rules.dependents, dependent{name: name, node: n})
		})
		c.named("dependentRequired", func(name string, raw jsontext.Value, _ *node) {
			rules.dependents = append(rules.dependents, dependent{name: name, required: c.strings("dependentRequired", raw)})
		})
	}
	if rules.min.set || rules.max.set || rules.additional != nil || rules.propertyNames != nil ||
		rules.properties != nil || rules.patterns != nil || rules.dependents != nil {
		c.node.object = rules
	}
}

func (c *compiler) properties(rules *objectRules) {
	known := map[string]bool{}
	c.named("properties", func(name string, _ jsontext.Value, n *node) {
		rules.names.add(name)
		rules.properties = append(rules.properties, property{node: n})
		known[name] = true
	})
	rules.known = knownNames(known)
	raw, ok := c.members["required"]
	if !ok {
		return
	}
	for _, name := range c.strings("required", raw) {
		k := rules.names.add(name)
		if k == len(rules.properties) {
			rules.properties = append(rules.properties, property{})
		}
		if !rules.properties[k].required {
			rules.properties[k].required = true
			rules.required++
		}
	}
}

// named calls fn for each member of a keyword that is an object, in the order
// of the names; n is nil where the member is no schema.
func (c *compiler) named(keyword string, fn func(name string, raw jsontext.Value, n *node)) {
	raw, ok := c.members[keyword]
	if !ok {
		return
	}
	if raw.Kind() != '{' {
		c.fail(keyword, "must be an object")
		return
	}
	members := text(raw).members(0)
	for _, name := range sortedNames(members) {
		fn(name, members[name], c.nodeAt(c.at+"/"+keyword+"/"+escapePointer(name)))
	}
}

func (c *compiler) strings(keyword string, raw jsontext.Value) []string {
	var list []string
	if raw.Kind() != '[' {
		c.fail(keyword, "must be an array of strings")
		return nil
	}
	for _, item := range text(raw).items() {
		if item.Kind() != '"' {
			c.fail(keyword, "must be an array of strings")
			return nil
		}
		list = append(list, text(item).unquoted())
	}
	return slices.Clip(list)
}
