//go:build !race

package streamhttp

import "testing"

// An event is written without memory of its own and read into one piece, its
// data. The race detector allocates, and so this test is not built with it.
func TestSSEAllocations(t *testing.T) { //nolint:paralleltest // it counts
	for _, tt := range []struct {
		name string
		most float64
		run  func()
	}{{"write", 1, sseWrite(t)}, {"read", 1, sseRead(t)}} {
		if n := testing.AllocsPerRun(2000, tt.run); n > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, n, tt.most)
		}
	}
}
