package schema_test

import (
	"flag"
	"strings"
	"testing"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// pair is what another validator thinks of a schema and a value.
type pair struct {
	compiles, fits bool
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

// tally counts what was compared.
type tally struct {
	pairs, fitting, compared, refused int
}

// compare fails the test where the other validator is not of our opinion.
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
		other := bySanthosh(doc, value)
		if !other.compiles { // it is strict about what does no harm, as a value twice in enum
			continue
		}
		n.compared++
		if other.fits != (err == nil) {
			t.Errorf("seed %d: schema %s\nvalue %s\nours: %v, santhosh-tekuri: %v", seed, doc, value, err, other.fits)
		}
	}
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
	t.Logf("%d pairs, of which %d fit and %d were compared; %d schemas refused", n.pairs, n.fitting, n.compared, n.refused)
	if n.compared < n.pairs/2 {
		t.Error("most pairs were not compared: the generator makes schemas that the other validator does not take")
	}
}

func FuzzAgreement(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(seed << 32)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { compare(t, new(tally), seed) })
}
