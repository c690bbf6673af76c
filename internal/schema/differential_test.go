package schema_test

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	google "github.com/google/jsonschema-go/jsonschema"
	santhosh "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// pair is what the others think of a schema and a value.
type pair struct {
	compiles, fits bool
}

func byGoogle(schema, value string) (p pair) {
	defer func() {
		if recover() != nil { // it is not made for every schema
			p = pair{}
		}
	}()
	s := new(google.Schema)
	if s.UnmarshalJSON([]byte(schema)) != nil {
		return p
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return p
	}
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return p
	}
	return pair{true, r.Validate(v) == nil}
}

func bySanthosh(schema, value string) pair {
	doc, err := santhosh.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return pair{}
	}
	c := santhosh.NewCompiler()
	if err := c.AddResource("https://example.com/schema.json", doc); err != nil {
		return pair{}
	}
	s, err := c.Compile("https://example.com/schema.json")
	if err != nil {
		return pair{}
	}
	v, err := santhosh.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		return pair{}
	}
	return pair{true, s.Validate(v) == nil}
}

// tally counts how often the others agree.
type tally struct {
	pairs, fitting, google, santhosh, refused int
}

// compare fails the test where the second of the others, which decides, is not
// of our opinion.
func compare(t *testing.T, n *tally, seed uint64) {
	t.Helper()
	g := newGenerator(seed)
	doc := g.document()
	s, err := schema.Compile([]byte(doc), unlimited)
	if err != nil {
		if bySanthosh(doc, "1").compiles {
			t.Errorf("seed %d: %s\nis refused: %v", seed, doc, err)
		}
		n.refused++
		return
	}
	for range 4 {
		value := g.value(3)
		err := s.Validate([]byte(value))
		n.pairs++
		if err == nil {
			n.fitting++
		}
		g, s := byGoogle(doc, value), bySanthosh(doc, value)
		decides := s
		if !s.compiles { // it is strict about what does no harm, as a value twice in enum
			decides = g
		}
		if !decides.compiles || decides.fits != (err == nil) {
			t.Errorf("seed %d: schema %s\nvalue %s\nours: %v, jsonschema-go: %v, santhosh: %v", seed, doc, value, err, g, s)
		}
		n.google += same(g, err)
		n.santhosh += same(s, err)
	}
}

func same(p pair, err error) int {
	if p.compiles && p.fits == (err == nil) {
		return 1
	}
	return 0
}

var (
	seeds     = flag.Uint64("seeds", 100, "how many schemas TestAgreement compares, with four values each")
	unlimited = schema.Limits{Bytes: -1, Depth: -1, Subschemas: -1}
)

func TestAgreement(t *testing.T) {
	t.Parallel()
	var n tally
	for seed := range *seeds {
		compare(t, &n, seed)
		if t.Failed() {
			break
		}
	}
	t.Logf("%d pairs, of which %d fit: %d as santhosh-tekuri, %d as jsonschema-go; %d schemas refused", n.pairs, n.fitting, n.santhosh, n.google, n.refused)
}

func FuzzAgreement(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(seed << 32)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { compare(t, new(tally), seed) })
}
