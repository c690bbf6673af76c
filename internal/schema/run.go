package schema

import (
	"hash/maphash"
	"strings"
	"sync"
)

// Bounds of one validation. A schema that refers to itself in alternatives can
// double the work with each level of the value.
const (
	// maxNesting is how deep schemas apply each other: above ten for each
	// level that a message may have, and some 10 MB of stack.
	maxNesting = 20_000
	// Work is counted in rules and in some bytes of text each: a tenth of a
	// second in any case, and ten times what an elaborate schema needs for
	// each byte of the value.
	baseWork    = 5_000_000
	workPerByte = 32
)

// A run is one validation of one value. The first pass stops at the first
// fault and says nothing; where there is one, a second pass has a report, goes
// on after faults and writes them down.
type run struct {
	text
	work, depth int
	stopped     error // why the run ended before its end
	report      *report
	scopes      []*resource

	scratch, scratch2 []byte // for strings with escapes
	seed              maphash.Seed
}

var runs = sync.Pool{New: func() any { return &run{seed: maphash.MakeSeed()} }}

func newRun(v []byte) *run {
	r := runs.Get().(*run)
	r.reset(v)
	return r
}

func (r *run) reset(v []byte) {
	r.text, r.work, r.depth, r.stopped, r.report = v, baseWork+workPerByte*len(v), 0, nil, nil
	r.scopes = r.scopes[:0]
}

func (r *run) free() {
	const kept = 64 << 10 // what a huge string needed is not kept
	r.text, r.report = nil, nil
	if cap(r.scratch)+cap(r.scratch2) <= kept {
		runs.Put(r)
	}
}

// spend counts work, and returns false when there was too much.
func (r *run) spend(n int) bool {
	if r.work -= n; r.work < 0 {
		return r.giveUp()
	}
	return true
}

// bytesPerWork is how much text can be skipped in the time of one rule.
const bytesPerWork = 64

func (r *run) giveUp() bool { return r.stop(ErrTooCostly) }

func (r *run) malformed() bool { return r.stop(errMalformed) }

// stop ends the run: nothing is spent any more.
func (r *run) stop(why error) bool {
	if r.stopped == nil {
		r.stopped, r.work = why, 0
	}
	return false
}

// goesOn reports whether faults are collected and there is room for more.
func (r *run) goesOn() bool {
	return r.report != nil && len(r.report.problems) < maxProblems && r.stopped == nil
}

// fail reports what is wrong at the current place. It returns false.
func (r *run) fail(rule, text string) bool {
	if r.report != nil {
		r.report.add(rule, text)
	}
	return false
}

func (r *run) failType(want, got kinds, i int) bool {
	if r.report == nil {
		return false
	}
	if want == 0 {
		return r.fail("type", "is not allowed")
	}
	if got == number && r.is(integer, got, i) {
		got = integer
	}
	return r.fail("type", "must be "+strings.Join(want.names(), " or ")+", not "+got.names()[0])
}

// is reports whether the value at i, of the given kind, is of one of the types.
func (r *run) is(types, kind kinds, i int) bool {
	if types&kind != 0 {
		return true
	}
	return kind == number && types&integer != 0 && r.isInteger(i)
}

func (r *run) isInteger(i int) bool {
	end := i + 1
	for r.at(end)-'0' <= 9 {
		end++
	}
	switch r.at(end) {
	case '.', 'e', 'E':
		return r.number(i).isInteger()
	}
	return true
}

func (r *run) number(i int) decimal { return r.text[i:r.scalar(i)].parse() }

// child checks the value that c is at.
func (r *run) child(n *node, c *cursor) (end int, ok bool) {
	if r.report == nil {
		return r.value(n, c.value, nil)
	}
	defer r.report.leave()
	if !c.object {
		r.report.enter(step{index: c.index})
		return r.value(n, c.value, nil)
	}
	r.report.enter(step{index: -1, name: string(r.content(c.name, c.nameEnd, c.escaped, nil))})
	return r.value(n, c.value, nil)
}

// endOf returns the end of the value that c is at, where end is that or 0.
func (r *run) endOf(c *cursor, end int) int {
	if end == 0 {
		end = r.skip(c.value)
		r.spend((end - c.value) / bytesPerWork)
	}
	return end
}

// trial checks the value at i against a schema that it need not fit. Nothing is
// reported, and seen gets something only if it fits.
func (r *run) trial(n *node, i int, seen *marks) (end int, ok bool) {
	report := r.report
	r.report = nil
	if seen == nil {
		end, ok = r.value(n, i, nil)
	} else {
		var own marks
		if end, ok = r.value(n, i, &own); ok {
			seen.merge(&own)
		}
	}
	r.report = report
	return end, ok
}

// name returns the name that c is at, until the next use of scratch.
func (r *run) name(c *cursor) []byte {
	s := r.content(c.name, c.nameEnd, c.escaped, r.scratch)
	if c.escaped {
		r.scratch = s
	}
	return s
}

// string returns what the string at i says, until the next use of scratch.
func (r *run) string(i int) (s []byte, end int) {
	end, escaped := r.str(i)
	s = r.content(i, end, escaped, r.scratch)
	if escaped {
		r.scratch = s
	}
	return s, end
}

// marks are the members or items of one value that rules were for, by their
// place. A nil *marks takes everything and keeps nothing.
type marks struct {
	all  bool
	bits []uint64
}

func (m *marks) set(k int) {
	if m == nil {
		return
	}
	for len(m.bits) <= k/64 {
		m.bits = append(m.bits, 0)
	}
	m.bits[k/64] |= 1 << (k % 64)
}

func (m *marks) has(k int) bool {
	return m.all || k/64 < len(m.bits) && m.bits[k/64]&(1<<(k%64)) != 0
}

func (m *marks) merge(o *marks) {
	if m == nil {
		return
	}
	m.all = m.all || o.all
	for len(m.bits) < len(o.bits) {
		m.bits = append(m.bits, 0)
	}
	for k, b := range o.bits {
		m.bits[k] |= b
	}
}
