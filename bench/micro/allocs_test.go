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
	{"pair", inMemory, map[string][4]float64{"Handshake": {25, 23, 26, 24}, "Modern": {28, 26, 28, 27}}},
	{"handler", handler, map[string][4]float64{"Handshake": {16, 14, 16, 17}, "Modern": {16, 14, 16, 17}}},
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
	allocations(t, "typed", 26, typed(t))
}

// A call over a line stream: the connection and the server are taken off.
func TestLineAllocations(t *testing.T) { //nolint:paralleltest // it counts
	for _, era := range eras() {
		for i, most := range [...]float64{14, 12, 14, 12} {
			k := calls()[i]
			some := testing.AllocsPerRun(3, func() { serveLines(t, era.version, k, 200) })
			more := testing.AllocsPerRun(3, func() { serveLines(t, era.version, k, 1200) })
			n := (more - some) / 1000
			if n > most {
				t.Errorf("%s %s: %v allocations, want at most %v", era.name, k.name, n, most)
			}
			t.Logf("%s %s: %v allocations, at most %v", era.name, k.name, n, most)
		}
	}
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
