package schema

// A node is one compiled schema: what it says of values of any type, and for
// each type that it has rules for, those. It never changes.
type node struct {
	never  bool  // the schema false
	types  kinds // 0 = any
	enum   *enum
	number *numberRules
	str    *stringRules
	array  *arrayRules
	object *objectRules
	logic  *logicRules

	unevaluatedItems, unevaluatedProperties *node

	// resource is the schema with $id around this one. It is set only where
	// the meaning of a $dynamicRef depends on the way to it.
	resource *resource
}

// resource is a schema with an $id, or the root, with its dynamic anchors.
type resource struct {
	anchors map[string]*node
}

// value checks the value at i. It returns the end of the value, or 0 where
// nothing had to go there, and whether the value fits; seen, which may be nil,
// gets the members or items that n has rules for.
func (r *run) value(n *node, i int, seen *marks) (end int, ok bool) {
	if r.depth++; r.depth > maxNesting {
		return 0, r.giveUp()
	}
	scopes := len(r.scopes)
	if n.resource != nil {
		r.scopes = append(r.scopes, n.resource)
	}
	end, ok = n.check(r, i, seen)
	r.scopes = r.scopes[:scopes]
	r.depth--
	return end, ok
}

func (n *node) check(r *run, i int, outer *marks) (end int, ok bool) {
	if !r.spend(1) {
		return 0, false
	}
	kind := r.kindAt(i)
	switch {
	case kind == 0:
		return 0, r.malformed()
	case n.never:
		return 0, r.fail("false", "is not allowed")
	case n.types != 0 && !r.is(n.types, kind, i):
		return 0, r.failType(n.types, kind, i)
	case n.unevaluatedItems != nil || n.unevaluatedProperties != nil:
		return n.checkRest(r, kind, i, outer)
	}
	return n.rules(r, kind, i, outer)
}

// rules applies all but the type and what looks at the others' findings.
func (n *node) rules(r *run, kind kinds, i int, seen *marks) (end int, ok bool) {
	ok = n.enum == nil || n.enum.check(r, kind, i)
	if !ok && !r.goesOn() {
		return 0, false
	}
	good := true
	switch kind {
	case object:
		if n.object != nil {
			end, good = n.object.check(r, i, seen)
		}
	case array:
		if n.array != nil {
			end, good = n.array.check(r, i, seen)
		}
	case str:
		if n.str != nil {
			end, good = n.str.check(r, i)
		}
	case number:
		if n.number != nil {
			end, good = n.number.check(r, i)
		}
	}
	ok = ok && good
	if n.logic == nil || !ok && !r.goesOn() {
		return end, ok
	}
	e, good := n.logic.check(r, kind, i, seen)
	return max(end, e), ok && good
}

// checkRest applies the rules, and then the schemas for the members or items
// that no rule was for.
func (n *node) checkRest(r *run, kind kinds, i int, outer *marks) (end int, ok bool) {
	seen := new(marks)
	end, ok = n.rules(r, kind, i, seen)
	rest := n.unevaluatedItems
	if kind == object {
		rest = n.unevaluatedProperties
	}
	if !ok || rest == nil || kind != object && kind != array {
		outer.merge(seen)
		return end, ok
	}
	c := r.open(i)
	for c.next(r.text) {
		if seen.has(c.index) {
			c.leave(r.skip(c.value))
			continue
		}
		e, good := r.child(rest, &c)
		if ok = ok && good; !ok && !r.goesOn() {
			return 0, false
		}
		c.leave(r.endOf(&c, e))
	}
	if ok {
		seen.all = true
		outer.merge(seen)
	}
	return c.end, ok && !c.broken
}

// logicRules are schemas for the same value.
type logicRules struct {
	all       []*node // allOf, and what $ref refers to
	any, one  *alternatives
	not       *node
	condition *node
	then, els *node // nil = anything
	dynamic   []dynamicRef
}

// dynamicRef is a $dynamicRef that means the outermost anchor of its name on
// the way to it.
type dynamicRef struct {
	anchor string
	node   *node // where there is none
}

// alternatives are the schemas of an anyOf or a oneOf.
type alternatives struct {
	nodes  []*node
	failed string // what to say where none fits
}

func (l *logicRules) check(r *run, kind kinds, i int, seen *marks) (end int, ok bool) {
	ok = true
	use := func(e int, good bool) bool {
		end, ok = max(end, e), ok && good
		return ok || r.goesOn()
	}
	for _, n := range l.all {
		if !use(r.value(n, i, seen)) {
			return 0, false
		}
	}
	for _, d := range l.dynamic {
		if !use(r.value(r.resolve(d), i, seen)) {
			return 0, false
		}
	}
	if l.any != nil && !use(l.any.atLeastOne(r, kind, i, seen)) ||
		l.one != nil && !use(l.one.exactlyOne(r, kind, i, seen)) {
		return 0, false
	}
	if l.not != nil {
		e, fits := r.trial(l.not, i, nil)
		if fits {
			r.fail("not", "is what the schema excludes with not")
		}
		if !use(e, !fits) {
			return 0, false
		}
	}
	if l.condition == nil {
		return end, ok
	}
	branch := l.els
	if _, fits := r.trial(l.condition, i, seen); fits {
		branch = l.then
	}
	if branch != nil {
		use(r.value(branch, i, seen))
	}
	return end, ok
}

func (r *run) resolve(d dynamicRef) *node {
	for _, s := range r.scopes {
		if n := s.anchors[d.anchor]; n != nil {
			return n
		}
	}
	return d.node
}

func (a *alternatives) atLeastOne(r *run, kind kinds, i int, seen *marks) (end int, ok bool) {
	for _, n := range a.nodes {
		e, fits := r.trial(n, i, seen)
		end, ok = max(end, e), ok || fits
		if ok && seen == nil {
			return end, true
		}
	}
	if !ok {
		a.explain(r, "anyOf", kind, i)
	}
	return end, ok
}

func (a *alternatives) exactlyOne(r *run, kind kinds, i int, seen *marks) (end int, ok bool) {
	for _, n := range a.nodes {
		e, fits := r.trial(n, i, seen)
		end = max(end, e)
		if fits && ok {
			return end, r.fail("oneOf", "must fit one of the alternatives only, and fits several")
		}
		ok = ok || fits
	}
	if !ok {
		a.explain(r, "oneOf", kind, i)
	}
	return end, ok
}

// explain says what is wrong with the value at i, which fits no alternative.
// Where one alternative only is for values of its type, that one was meant.
func (a *alternatives) explain(r *run, rule string, kind kinds, i int) {
	if r.report == nil || !r.goesOn() {
		return
	}
	if a.failed != "" {
		r.fail(rule, a.failed)
		return
	}
	var meant *node
	var types kinds
	candidates := 0
	for _, n := range a.nodes {
		t := n.takes()
		if types |= t; r.is(t, kind, i) {
			meant = n
			candidates++
		}
	}
	switch candidates {
	case 0:
		r.failType(types, kind, i)
	case 1:
		r.value(meant, i, nil)
	default:
		r.fail(rule, "fits none of the alternatives")
	}
}

// takes returns the types that n may take, as far as it is plain to see.
func (n *node) takes() kinds {
	const farEnough = 8 // references one after the other
	for range farEnough {
		switch {
		case n.never:
			return 0
		case n.types != 0:
			return n.types
		case n.enum != nil:
			return n.enum.kinds
		case n.logic == nil || len(n.logic.all) != 1:
			return anyKind
		}
		n = n.logic.all[0]
	}
	return anyKind
}
