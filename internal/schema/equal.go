package schema

import (
	"bytes"
	"hash/maphash"
)

// enum is a list of the values that are allowed: enum, or const.
type enum struct {
	rule   string // the keyword
	kinds  kinds  // of the values
	words  names  // the strings among them
	others []constant
	failed string
}

// constant is a value that is no string.
type constant struct {
	kind   kinds
	text   text
	number decimal
}

func (e *enum) check(r *run, kind kinds, i int) bool {
	if e.kinds&kind != 0 && e.has(r, kind, i) {
		return true
	}
	return r.fail(e.rule, e.failed)
}

func (e *enum) has(r *run, kind kinds, i int) bool {
	if kind == str {
		s, _ := r.string(i)
		return e.words.find(s) >= 0
	}
	var n decimal
	if kind == number {
		n = r.number(i)
	}
	for k := range e.others {
		c := &e.others[k]
		if c.kind != kind {
			continue
		}
		if !r.spend(1) {
			return false
		}
		switch kind {
		case null:
			return true
		case boolean:
			if r.at(i) == c.text.at(0) {
				return true
			}
		case number:
			if n.cmp(c.number) == 0 {
				return true
			}
		default:
			if r.equal(c.text, 0, i) {
				return true
			}
		}
	}
	return false
}

// equal reports whether the value at i of t is the same as the value at j of
// the text that is checked: numbers by what they are, objects in any order.
func (r *run) equal(t text, i, j int) bool {
	if !r.spend(1) {
		return false
	}
	kind := t.kindAt(i)
	if kind != r.kindAt(j) {
		return false
	}
	switch kind {
	case null:
		return true
	case boolean:
		return t.at(i) == r.at(j)
	case number:
		n := t[i:t.scalar(i)]
		r.spend(len(n) / bytesPerWork)
		return n.parse().cmp(r.number(j)) == 0
	case str:
		return r.equalStrings(t, i, j)
	case array:
		return r.equalArrays(t, i, j)
	case object:
		return r.equalObjects(t, i, j)
	}
	return r.malformed()
}

func (r *run) equalStrings(t text, i, j int) bool {
	end, escaped := t.str(i)
	r.spend((end - i) / bytesPerWork)
	s := t.content(i, end, escaped, r.scratch2)
	if escaped {
		r.scratch2 = s
	}
	other, _ := r.string(j)
	return bytes.Equal(s, other)
}

func (r *run) equalArrays(t text, i, j int) bool {
	a, b := t.open(i), r.open(j)
	for {
		more, moreToo := a.next(t), b.next(r.text)
		switch {
		case more != moreToo:
			return false
		case !more:
			return true
		case !r.equal(t, a.value, b.value):
			return false
		}
		a.leave(t.skip(a.value))
		b.leave(r.endOf(&b, 0))
	}
}

func (r *run) equalObjects(t text, i, j int) bool {
	size, sizeToo := 0, 0
	b := r.open(j)
	for b.next(r.text) {
		sizeToo++
		b.leave(r.endOf(&b, 0))
	}
	a, b := t.open(i), r.open(j)
	for a.next(t) {
		if size++; size > sizeToo {
			return false
		}
		// The next member, as a rule; else any.
		if !r.seek(&b, t, &a) {
			if b = r.open(j); !r.seek(&b, t, &a) {
				return false
			}
		}
		if !r.equal(t, a.value, b.value) {
			return false
		}
		a.leave(t.skip(a.value))
		b.leave(r.endOf(&b, 0))
	}
	return size == sizeToo
}

// seek moves c on to the member with the name that a, in t, is at.
func (r *run) seek(c *cursor, t text, a *cursor) bool {
	for c.next(r.text) {
		if !r.spend(1) {
			return false
		}
		if r.equalStrings(t, a.name, c.name) {
			return true
		}
		c.leave(r.endOf(c, 0))
	}
	return false
}

// hash returns the same for values that are equal, and the end of the value at
// i.
func (r *run) hash(i int) (h uint64, end int) {
	if !r.spend(1) {
		return 0, len(r.text)
	}
	switch kind := r.kindAt(i); kind {
	case str:
		s, end := r.string(i)
		r.spend(len(s) / bytesPerWork)
		return maphash.Bytes(r.seed, s), end
	case number:
		end := r.scalar(i)
		r.spend((end - i) / bytesPerWork)
		return r.hashNumber(r.text[i:end].parse()), end
	case array, object:
		return r.hashNested(i)
	default:
		return maphash.Comparable(r.seed, r.at(i)), r.scalar(i)
	}
}

func (r *run) hashNumber(d decimal) uint64 {
	if d.count == 0 {
		return 0
	}
	r.scratch = r.scratch[:0]
	for _, c := range d.digits {
		if c != '.' {
			r.scratch = append(r.scratch, c)
		}
	}
	return maphash.Comparable(r.seed, pair{maphash.Bytes(r.seed, r.scratch), uint64(d.sign(d.exp))})
}

// pair is two hashes that become one.
type pair struct{ a, b uint64 }

func (r *run) hashNested(i int) (h uint64, end int) {
	if r.depth++; r.depth > maxNesting {
		r.giveUp()
		return 0, len(r.text)
	}
	c := r.open(i)
	for c.next(r.text) {
		v, end := r.hash(c.value)
		if c.object { // the order of members does not count
			name := maphash.Bytes(r.seed, r.name(&c))
			h += maphash.Comparable(r.seed, pair{name, v})
		} else {
			h = maphash.Comparable(r.seed, pair{h, v})
		}
		c.leave(end)
	}
	r.depth--
	return h, c.end
}
