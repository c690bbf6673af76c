//go:build !race

package micro_test

import "testing"

// What a call may allocate, as the counts of calls(): two more than it does
// now. The bars of the project are 15 for the pair and 12 for the handler; a
// gate moves down with every change that allocates less, and up with none. The
// race detector allocates, and so this test is not built with it.
var gates = []struct {
	name    string
	prepare setUp
	most    map[string][4]float64 // by era: dynamic, echo, add, echo10k
}{
	{"pair", inMemory, map[string][4]float64{"Handshake": {25, 23, 26, 24}, "Modern": {30, 28, 31, 29}}},
	{"handler", handler, map[string][4]float64{"Handshake": {31, 32, 35, 34}, "Modern": {34, 35, 38, 37}}},
}

func TestCallAllocations(t *testing.T) { //nolint:paralleltest // it counts
	for _, gate := range gates {
		for _, era := range eras() {
			for i, k := range calls() {
				allocations(t, gate.name+" "+era.name+" "+k.name, gate.most[era.name][i], gate.prepare(t, era.version, k))
			}
		}
	}
}

func TestTypedCallAllocations(t *testing.T) { //nolint:paralleltest // it counts
	allocations(t, "typed", 28, typed(t))
}

// A client alone, with what the system's and net/http's part of the call takes.
func TestClientAllocations(t *testing.T) { //nolint:paralleltest // it counts
	allocations(t, "stdio", 11, parroted(t, overStdio(t)))
	allocations(t, "http", 65, parroted(t, overHTTP(t)))
}

func allocations(t *testing.T, name string, most float64, run func()) {
	t.Helper()
	n := testing.AllocsPerRun(500, run)
	if n > most {
		t.Errorf("%s: %v allocations, want at most %v", name, n, most)
	}
	t.Logf("%s: %v allocations, at most %v", name, n, most)
}
