package schema_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// generator makes schemas and values that often meet: few names, few values.
type generator struct {
	*rand.Rand
	draft07 bool
	defs    int // how many of them there are to refer to
}

func newGenerator(seed uint64) *generator {
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // nothing secret
	return &generator{Rand: r, draft07: r.IntN(4) == 0, defs: r.IntN(4)}
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) name() string {
	return pick(g, `"a"`, `"b"`, `"c"`, `"d"`, `"\u0061"`, `"x/~y"`, `""`, `"é"`)
}

func (g *generator) number() string {
	return pick(g, "0", "1", "1.0", "2", "3", "-1", "0.5", "1e0", "10", "10.0", "0.1", "0.3", "100e-2", "1E+2", "100", "-0", "-0.0", "1.50", "7.5",
		"9007199254740993", "9007199254740992", "9007199254740992.0", "-9007199254740993", "123456789012345678901234567890", "0.1e1", "12345.678e-3")
}

func (g *generator) text() string {
	return pick(g, `""`, `"a"`, `"b"`, `"ab"`, `"é"`, `"\u00e9"`, `"\u0061"`, `"😀"`, `"\ud83d\ude00"`, `"a\nb"`, `"abc"`, `"1"`)
}

func (g *generator) value(depth int) string {
	space := pick(g, "", "", "", " ", "\n\t")
	switch n := g.IntN(10); {
	case n < 1:
		return pick(g, "null", "true", "false")
	case n < 4 || depth == 0:
		return g.number()
	case n < 5:
		return g.text()
	case n < 7:
		items := make([]string, g.IntN(5))
		if g.IntN(8) == 0 {
			items = make([]string, 8+g.IntN(8))
		}
		for i := range items {
			items[i] = g.value(depth - 1)
		}
		return "[" + space + strings.Join(items, space+","+space) + space + "]"
	default:
		seen := map[string]bool{}
		var members []string
		for range g.IntN(6) {
			name := g.name()
			plain, _ := strconv.Unquote(name)
			if seen[plain] {
				continue
			}
			seen[plain] = true
			members = append(members, name+space+":"+space+g.value(depth-1))
		}
		return "{" + space + strings.Join(members, space+","+space) + space + "}"
	}
}

// schema makes a schema with some keywords. Where it is not in place it may
// refer to the root.
func (g *generator) schema(depth int, inPlace bool) string {
	if depth == 0 || g.IntN(12) == 0 {
		return pick(g, "true", "false", "{}", g.simple(), g.simple(), g.simple())
	}
	seen := map[string]bool{}
	var members []string
	add := func(keyword, value string) {
		if !seen[keyword] {
			seen[keyword] = true
			members = append(members, strconv.Quote(keyword)+":"+value)
		}
	}
	for range 1 + g.IntN(3) {
		switch n := g.IntN(10); {
		case n < 2:
			g.assertion(add)
		case n < 5:
			g.forObjects(add, depth)
		case n < 7:
			g.forArrays(add, depth)
		case n < 8:
			g.reference(add, inPlace)
		default:
			g.logic(add, depth)
		}
	}
	if g.draft07 && seen["$ref"] { // what is beside it does not count, which santhosh-tekuri forgets for some
		members = slices.DeleteFunc(members, func(m string) bool { return !strings.HasPrefix(m, `"$ref"`) })
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g *generator) simple() string {
	var members string
	g.assertion(func(keyword, value string) { members = strconv.Quote(keyword) + ":" + value })
	return "{" + members + "}"
}

func (g *generator) kind() string {
	return pick(g, `"null"`, `"boolean"`, `"integer"`, `"number"`, `"string"`, `"array"`, `"object"`)
}

func (g *generator) assertion(add func(keyword, value string)) {
	few := func() string { return strconv.Itoa(g.IntN(4)) }
	switch g.IntN(10) {
	case 0, 1:
		add("type", g.kind())
	case 2:
		if a, b := g.kind(), g.kind(); a != b {
			add("type", "["+a+","+b+"]")
		}
	case 3:
		values := make([]string, 1+g.IntN(4))
		for i := range values {
			values[i] = g.value(2)
		}
		add("enum", "["+strings.Join(values, ",")+"]")
	case 4:
		add("const", g.value(2))
	case 5:
		add(pick(g, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), g.number())
	case 6:
		add("multipleOf", pick(g, "1", "2", "0.5", "0.1", "3", "1.0", "10", "1e-2", "7"))
	case 7:
		add(pick(g, "minLength", "maxLength"), few())
	case 8:
		add("pattern", pick(g, `"^a"`, `"b$"`, `"é"`, `"^.$"`, `"^[a-c]+$"`))
	default:
		add(pick(g, "minItems", "maxItems", "minProperties", "maxProperties"), few())
	}
}

func (g *generator) forObjects(add func(keyword, value string), depth int) {
	each := func(value func() string, names ...string) string {
		list := make([]string, len(names))
		for i, name := range names {
			list[i] = name + ":" + value()
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	sub := func() string { return g.schema(depth-1, false) }
	here := func() string { return g.schema(depth-1, true) }
	list := func() string { return pick(g, `["a"]`, `["a","b"]`, `["é"]`, `[]`, `["x/~y","c"]`) }
	switch g.IntN(9) {
	case 0, 1:
		add("properties", each(sub, `"a"`, `"b"`, `"x/~y"`))
	case 2:
		add("properties", each(sub, `"c"`))
		add("additionalProperties", sub())
	case 3:
		add("required", list())
	case 4:
		add("patternProperties", each(sub, `"^[ab]"`, `"é|d"`))
	case 5:
		add("additionalProperties", sub())
	case 6:
		add("propertyNames", pick(g, `{"maxLength":1}`, `{"pattern":"^[a-c]"}`, `{"enum":["a","b","é"]}`))
	case 7:
		if g.draft07 {
			add("dependencies", pick(g, each(list, `"a"`), each(here, `"b"`)))
			return
		}
		add("dependentRequired", each(list, `"a"`, `"c"`))
	default:
		if g.draft07 {
			return
		}
		if g.IntN(2) == 0 {
			add("dependentSchemas", each(here, `"a"`, `"b"`))
			return
		}
		add("unevaluatedProperties", sub())
	}
}

func (g *generator) forArrays(add func(keyword, value string), depth int) {
	sub := func() string { return g.schema(depth-1, false) }
	switch g.IntN(6) {
	case 0, 1:
		add("items", sub())
	case 2:
		if g.draft07 {
			add("items", "["+sub()+","+sub()+"]")
			add("additionalItems", sub())
			return
		}
		add("prefixItems", "["+sub()+","+sub()+"]")
	case 3:
		add("uniqueItems", pick(g, "true", "true", "false"))
	case 4:
		add("contains", sub())
		if !g.draft07 {
			add(pick(g, "minContains", "maxContains"), pick(g, "0", "1", "2"))
		}
	default:
		if !g.draft07 {
			add("unevaluatedItems", sub())
		}
	}
}

func (g *generator) reference(add func(keyword, value string), inPlace bool) {
	switch n := g.IntN(8); {
	case n == 0 && !inPlace:
		add("$ref", `"#"`)
	case n == 1 && !g.draft07 && !inPlace:
		add("$dynamicRef", `"#dyn"`)
	case g.defs > 0:
		i := g.IntN(g.defs)
		add("$ref", pick(g, fmt.Sprintf(`"#/definitions/d%d"`, i), fmt.Sprintf(`"#n%d"`, i)))
	}
}

func (g *generator) logic(add func(keyword, value string), depth int) {
	sub := func() string { return g.schema(depth-1, true) }
	list := func() string {
		l := []string{sub(), sub(), sub()}
		return "[" + strings.Join(l[:1+g.IntN(3)], ",") + "]"
	}
	switch g.IntN(6) {
	case 0, 1:
		add("anyOf", list())
	case 2:
		add("oneOf", list())
	case 3:
		add("allOf", list())
	case 4:
		add("not", sub())
	default:
		add("if", sub())
		add("then", sub())
		add("else", sub())
	}
}

// document makes a whole schema. A definition is not in the others' place: it
// refers to none in place, so nothing is endless.
func (g *generator) document() string {
	root := g.schema(3, true)
	if root == "true" || root == "false" || root == "{}" {
		return root
	}
	head := `"$dynamicAnchor":"dyn",`
	if g.draft07 {
		head = `"$schema":"http://json-schema.org/draft-07/schema#",`
	}
	n := g.defs
	g.defs = 0
	defs := make([]string, n)
	for i := range defs {
		d := strings.TrimPrefix(g.schema(2, true), "{")
		anchor := fmt.Sprintf(`"$anchor":"n%d"`, i)
		if g.draft07 {
			anchor = fmt.Sprintf(`"$id":"#n%d"`, i)
		}
		switch d {
		case "true", "false", "}":
			d = anchor + "}"
		default:
			d = anchor + "," + d
		}
		defs[i] = fmt.Sprintf(`"d%d":{%s`, i, d)
	}
	head += `"definitions":{` + strings.Join(defs, ",") + "},"
	return "{" + head + root[1:]
}
