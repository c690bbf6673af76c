package schema

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// numberRules are what a schema says of numbers.
type numberRules struct {
	bounds   []bound
	multiple *divisor
}

// bound is one of the four keywords that compare.
type bound struct {
	rule   string
	limit  decimal
	below  bool // the number must be less than limit, or equal
	equal  bool // equal will do
	failed string
}

type divisor struct {
	decimal
	failed string
}

func (n *numberRules) check(r *run, i int) (end int, ok bool) {
	end = r.scalar(i)
	d := r.text[i:end].parse()
	if !r.spend((end - i) / 8) {
		return 0, false
	}
	for k := range n.bounds {
		b := &n.bounds[k]
		c := d.cmp(b.limit)
		if b.below {
			c = -c
		}
		if c < 0 || c == 0 && !b.equal {
			return end, r.fail(b.rule, b.failed)
		}
	}
	if n.multiple != nil && !d.multipleOf(n.multiple.decimal) {
		return end, r.fail("multipleOf", n.multiple.failed)
	}
	return end, true
}

// stringRules are what a schema says of strings.
type stringRules struct {
	min, max count
	pattern  *pattern
	failed   string // what to say of the pattern
}

func (s *stringRules) check(r *run, i int) (end int, ok bool) {
	v, end := r.string(i)
	if !r.spend(len(v) / bytesPerWork) {
		return 0, false
	}
	if s.min.set || s.max.set {
		n := utf8.RuneCount(v)
		switch {
		case s.min.under(n):
			return end, r.fail("minLength", s.min.failed)
		case s.max.over(n):
			return end, r.fail("maxLength", s.max.failed)
		}
	}
	if s.pattern != nil && !s.pattern.matches(r, v) {
		return end, r.fail("pattern", s.failed)
	}
	return end, true
}

// pattern is a regular expression, with the size of its program: matching takes
// a time in proportion to that and the length of the text.
type pattern struct {
	expr *regexp.Regexp
	size int
}

func compilePattern(expr string) (*pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	p := &pattern{expr: re, size: len(expr)}
	if tree, err := syntax.Parse(expr, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			p.size = len(prog.Inst)
		}
	}
	return p, nil
}

func (p *pattern) matches(r *run, s []byte) bool {
	const perWork = 8 // instructions in the time of one rule
	return r.spend(1+len(s)*p.size/perWork) && p.expr.Match(s)
}
