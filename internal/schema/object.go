package schema

import (
	"slices"
	"strconv"
	"strings"
)

// objectRules are what a schema says of objects.
type objectRules struct {
	names         names // of properties and what is required
	properties    []property
	required      int // how many of the properties are
	patterns      []patternProperty
	additional    *node // nil = anything
	propertyNames *node
	min, max      count
	dependents    []dependent
	known         string // the names of the properties, for an error
}

// property is a member that has a schema, is required, or both.
type property struct {
	node     *node
	required bool
}

type patternProperty struct {
	pattern *pattern
	node    *node
}

// dependent is what an object must be where it has a member.
type dependent struct {
	name     string
	required []string
	node     *node
}

// count is a bound for a number of things, and what to say where it is broken.
type count struct {
	n      int
	set    bool
	failed string
}

func (c count) under(n int) bool { return c.set && n < c.n }
func (c count) over(n int) bool  { return c.set && n > c.n }

func (o *objectRules) check(r *run, i int, seen *marks) (end int, ok bool) {
	ok = true
	if r.report != nil && o.required > 0 { // what is missing comes first
		ok = o.reportMissing(r, i)
	}
	found, size := 0, 0
	c := r.open(i)
	for c.next(r.text) {
		e, required, good := o.member(r, &c, seen)
		if ok = ok && good; !ok && !r.goesOn() {
			return 0, false
		}
		if required {
			found++
		}
		size++
		c.leave(r.endOf(&c, e))
	}
	switch {
	case c.broken:
		return 0, r.malformed()
	case found < o.required && r.report == nil:
		return 0, false
	case o.min.under(size):
		ok = r.fail("minProperties", o.min.failed)
	case o.max.over(size):
		ok = r.fail("maxProperties", o.max.failed)
	}
	for k := range o.dependents {
		if !ok && !r.goesOn() {
			return 0, false
		}
		ok = o.dependents[k].check(r, i, seen) && ok
	}
	return c.end, ok
}

// member checks one member, and tells whether it is required.
func (o *objectRules) member(r *run, c *cursor, seen *marks) (end int, required, ok bool) {
	ok = true
	if !r.spend(1) {
		return 0, false, false
	}
	if o.propertyNames != nil {
		if _, ok = r.trial(o.propertyNames, c.name, nil); !ok {
			r.fail("propertyNames", quote(string(r.name(c)))+" is not allowed as a name")
		}
	}
	name, known := r.name(c), false
	if k := o.names.find(name); k >= 0 {
		p := &o.properties[k]
		required = p.required
		if p.node != nil {
			known = true
			e, good := r.child(p.node, c)
			end, ok = max(end, e), ok && good
		}
	}
	for _, p := range o.patterns {
		if !p.pattern.matches(r, r.name(c)) { // read again: the child may have had the scratch
			continue
		}
		known = true
		e, good := r.child(p.node, c)
		end, ok = max(end, e), ok && good
	}
	switch {
	case known:
	case o.additional == nil:
		return end, required, ok
	case o.additional.never:
		if r.report != nil {
			r.fail("additionalProperties", quote(string(r.name(c)))+" is not known here; known are: "+o.known)
		}
		return 0, required, false
	default:
		e, good := r.child(o.additional, c)
		end, ok = max(end, e), ok && good
	}
	seen.set(c.index)
	return end, required, ok
}

func (o *objectRules) reportMissing(r *run, i int) bool {
	have := make([]bool, len(o.properties))
	c := r.open(i)
	for c.next(r.text) {
		if k := o.names.find(r.name(&c)); k >= 0 {
			have[k] = true
		}
		c.leave(r.endOf(&c, 0))
	}
	ok := true
	for k, p := range o.properties {
		if p.required && !have[k] {
			ok = r.fail("required", quote(o.names.list[k])+" is required")
		}
	}
	return ok
}

func (d *dependent) check(r *run, i int, seen *marks) bool {
	if !r.has(i, d.name) {
		return true
	}
	ok := true
	for _, name := range d.required {
		if r.has(i, name) {
			continue
		}
		if ok = false; r.report == nil {
			return false
		}
		r.fail("dependentRequired", quote(name)+" is required beside "+quote(d.name))
	}
	if d.node != nil {
		_, good := r.value(d.node, i, seen)
		ok = ok && good
	}
	return ok
}

// has reports whether the object at i has a member.
func (r *run) has(i int, name string) bool {
	c := r.open(i)
	for c.next(r.text) {
		if string(r.name(&c)) == name {
			return true
		}
		if !r.spend(1) {
			return false
		}
		c.leave(r.endOf(&c, 0))
	}
	return false
}

// names finds the place of a name in a list.
type names struct {
	list  []string
	index map[string]int // nil for a short list
}

// fewNames is how many names are found faster by looking at each.
const fewNames = 8

func (n *names) add(name string) int {
	if k := n.find([]byte(name)); k >= 0 {
		return k
	}
	k := len(n.list)
	n.list = append(n.list, name)
	switch {
	case n.index != nil:
		n.index[name] = k
	case len(n.list) > fewNames:
		n.index = make(map[string]int, 2*len(n.list))
		for i, s := range n.list {
			n.index[s] = i
		}
	}
	return k
}

func (n *names) find(name []byte) int {
	if n.index != nil {
		if k, ok := n.index[string(name)]; ok {
			return k
		}
		return -1
	}
	for k, s := range n.list {
		if s == string(name) {
			return k
		}
	}
	return -1
}

func quote(s string) string { return strconv.Quote(capped(s)) }

func knownNames(properties map[string]bool) string {
	if len(properties) == 0 {
		return "none"
	}
	list := make([]string, 0, len(properties))
	for name := range properties {
		list = append(list, name)
	}
	slices.Sort(list)
	return capped(strings.Join(list, ", "))
}
