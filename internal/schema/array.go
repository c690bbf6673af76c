package schema

import (
	"cmp"
	"slices"
)

// arrayRules are what a schema says of arrays.
type arrayRules struct {
	first       []*node // for the first items, one each
	rest        *node   // for those that follow; nil = anything
	min, max    count
	unique      bool
	contains    *node
	minContains int // at least 1 where nothing else is said
	maxContains int // negative = any number
}

func (a *arrayRules) check(r *run, i int, seen *marks) (end int, ok bool) {
	ok = true
	size, containing := 0, 0
	c := r.open(i)
	for c.next(r.text) {
		e, good := a.item(r, &c, seen)
		if a.contains != nil {
			e2, fits := r.trial(a.contains, c.value, nil)
			if e = max(e, e2); fits {
				containing++
				seen.set(c.index)
			}
		}
		if ok = ok && good; !ok && !r.goesOn() {
			return 0, false
		}
		size++
		c.leave(r.endOf(&c, e))
	}
	switch {
	case c.broken:
		return 0, r.malformed()
	case a.min.under(size):
		ok = r.fail("minItems", a.min.failed)
	case a.max.over(size):
		ok = r.fail("maxItems", a.max.failed)
	}
	if a.contains != nil {
		ok = a.checkContaining(r, containing) && ok
	}
	if !ok && !r.goesOn() {
		return 0, false
	}
	if a.unique && size > 1 && !r.distinct(i, size) {
		ok = r.fail("uniqueItems", "must not have the same item twice")
	}
	return c.end, ok
}

func (a *arrayRules) item(r *run, c *cursor, seen *marks) (end int, ok bool) {
	n := a.rest
	if c.index < len(a.first) {
		n = a.first[c.index]
	}
	if n == nil {
		return 0, r.spend(1)
	}
	seen.set(c.index)
	return r.child(n, c)
}

func (a *arrayRules) checkContaining(r *run, n int) bool {
	switch {
	case n < a.minContains && a.minContains == 1:
		return r.fail("contains", "has no item of the kind that it must contain")
	case n < a.minContains:
		return r.fail("minContains", "has too few items of the kind that it must contain")
	case a.maxContains >= 0 && n > a.maxContains:
		return r.fail("maxContains", "has too many items of the kind that it may contain")
	}
	return true
}

// fewItems is how many items are compared pair by pair.
const fewItems = 8

// distinct reports whether no two items of the array at i are equal. The items
// of a longer one are sorted by a hash that nobody can foresee.
func (r *run) distinct(i, size int) bool {
	if size <= fewItems {
		return r.distinctPairs(i)
	}
	type item struct {
		hash uint64
		at   int
	}
	items := make([]item, 0, size)
	c := r.open(i)
	for c.next(r.text) {
		h, end := r.hash(c.value)
		if r.stopped != nil {
			return false
		}
		items = append(items, item{h, c.value})
		c.leave(end)
	}
	slices.SortFunc(items, func(x, y item) int { return cmp.Compare(x.hash, y.hash) })
	for k := 1; k < len(items); k++ {
		for j := k - 1; j >= 0 && items[j].hash == items[k].hash; j-- {
			if r.equal(r.text, items[j].at, items[k].at) {
				return false
			}
		}
	}
	return true
}

func (r *run) distinctPairs(i int) bool {
	var at [fewItems]int
	c := r.open(i)
	for c.next(r.text) && c.index < len(at) {
		at[c.index] = c.value
		for _, other := range at[:c.index] {
			if r.equal(r.text, other, c.value) {
				return false
			}
		}
		c.leave(r.endOf(&c, 0))
	}
	return true
}
