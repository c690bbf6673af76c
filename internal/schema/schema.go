// Package schema checks JSON against JSON Schema as it stands in memory,
// without decoding it.
//
// A schema is compiled once: read into places (graph.go), bounded, and made a
// tree of nodes (compile.go). A node walks the text of a value and stops at the
// first fault; only then a second walk, of the same code, collects what is wrong
// and where (error.go). Numbers are compared as they are written, so none is
// rounded, and a value that fits costs no allocation, but for unevaluated… and
// long arrays with uniqueItems.
//
// The dialects are 2020-12 and draft-07 (spec section 4.19). Formats and the
// content… keywords are annotations, as both dialects have it. Patterns are
// those of [regexp]. Nothing is ever fetched.
package schema

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bounds schemas from elsewhere. A negative value means no limit.
type Limits struct {
	// Bytes is the size of a schema.
	Bytes int
	// Depth is how deep schemas are nested.
	Depth int
	// Subschemas is how many schemas a schema consists of, those counted again
	// that are reached through references without going deeper into the value.
	Subschemas int
}

// A Schema is compiled. It never changes and is safe for concurrent use.
type Schema struct {
	root   *node
	refers bool
}

// Compile makes a validator of a schema from anywhere. It refuses what could
// make validation endless, and references to elsewhere.
func Compile(raw jsontext.Value, l Limits) (*Schema, error) {
	if over(len(raw), l.Bytes) {
		return nil, fmt.Errorf("schema has %d bytes, more than Limits.SchemaBytes (%d)", len(raw), l.Bytes)
	}
	if !raw.IsValid() { // nor where a name occurs twice
		return nil, errors.New("schema is not valid JSON")
	}
	g := newGraph(text(raw), l)
	if err := g.read(); err != nil {
		return nil, err
	}
	s := &Schema{root: g.list[0].node}
	for _, p := range g.list {
		if err := compile(g, p); err != nil {
			return nil, err
		}
		s.refers = s.refers || len(p.refs) > 0
	}
	return s, nil
}

// IsObject reports whether "type":"object" is at the root.
func (s *Schema) IsObject() bool { return s.root.types == object }

// Refers reports whether a $ref or $dynamicRef is anywhere in it.
func (s *Schema) Refers() bool { return s.refers }

// Validate returns nil or an [*Error]. The value must be valid JSON, with no
// name twice in an object; anything else may pass, but does no harm.
func (s *Schema) Validate(v jsontext.Value) error {
	r := newRun(v)
	defer r.free()
	if s.check(r) {
		return nil
	}
	if r.stopped == nil {
		r.reset(v)
		r.report = new(report)
		s.check(r)
	}
	return r.problem()
}

func (s *Schema) check(r *run) bool {
	_, ok := r.value(s.root, r.space(0), nil)
	return ok && r.stopped == nil
}

// problem is the outcome of a run that failed.
func (r *run) problem() *Error {
	if r.report != nil && len(r.report.problems) > 0 {
		return &Error{Problems: r.report.problems}
	}
	if r.stopped == nil {
		return &Error{Problems: []Problem{{Text: "does not fit the schema"}}}
	}
	e := &Error{Problems: []Problem{{Text: r.stopped.Error()}}}
	if errors.Is(r.stopped, ErrTooCostly) {
		e.err = ErrTooCostly
	}
	return e
}

// over reports whether n is more than the limit allows.
func over(n, limit int) bool { return limit >= 0 && n > limit }
