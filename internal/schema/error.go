package schema

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	// ErrTooCostly says that checking a value would take too long.
	ErrTooCostly = errors.New("takes too long to check against the schema")

	errMalformed = errors.New("is not valid JSON")
)

// maxProblems is how many problems one error names: a model corrects several
// at once, and nobody reads more.
const maxProblems = 5

// Error says where and why a value does not fit a schema. It has names of
// members, and values that the schema allows, but no value that was checked.
type Error struct {
	// Problems is never empty.
	Problems []Problem
	err      error // where the check did not come to its end
}

// Problem is one place where a value does not fit.
type Problem struct {
	// Pointer is where in the value: "" is all of it.
	Pointer jsontext.Pointer
	// Rule is the keyword that is broken. It is "" where the check did not come
	// to its end, and "false" for the schema that takes nothing.
	Rule string
	// Text says what is wrong: "must be integer, not string".
	Text string

	path string // the pointer as people write it: ".limit[0]"
}

// Error is Explain of "value".
func (e *Error) Error() string { return e.Explain("value") }

// Explain returns the problems in words, where name is what the value is
// called: "arguments.limit: must be integer, not string".
func (e *Error) Explain(name string) string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = name + p.path + ": " + p.Text
	}
	return strings.Join(lines, "; ")
}

// Unwrap returns [ErrTooCostly] or nil.
func (e *Error) Unwrap() error { return e.err }

// report collects problems.
type report struct {
	problems []Problem
	trail    []step
}

// step leads from a value to a member or, where index is not negative, an item.
type step struct {
	name  string
	index int
}

func (r *report) enter(s step) { r.trail = append(r.trail, s) }
func (r *report) leave()       { r.trail = r.trail[:len(r.trail)-1] }

func (r *report) add(rule, text string) {
	p := Problem{Rule: rule, Text: text}
	var path strings.Builder
	for _, s := range r.trail {
		if s.index < 0 {
			p.Pointer = p.Pointer.AppendToken(s.name)
			path.WriteString("." + capped(s.name))
			continue
		}
		index := strconv.Itoa(s.index)
		p.Pointer = p.Pointer.AppendToken(index)
		path.WriteString("[" + index + "]")
	}
	p.path = path.String()
	same := func(o Problem) bool { return o.Pointer == p.Pointer && o.Text == p.Text }
	if len(r.problems) < maxProblems && !slices.ContainsFunc(r.problems, same) {
		r.problems = append(r.problems, p)
	}
}

func (k kinds) names() []string {
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 && (name != "integer" || k&number == 0) {
			names = append(names, name)
		}
	}
	return names
}

// maxEchoed is how much of one name or value is repeated in an error.
const maxEchoed = 100

// capped shortens a text for an error, between characters.
func capped(s string) string {
	if len(s) <= maxEchoed {
		return s
	}
	end := maxEchoed
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
