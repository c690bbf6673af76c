//go:build !race

package client_test

import "testing"

// The race detector allocates, and so this test is not built with it.
func TestCallToolAllocations(t *testing.T) { //nolint:paralleltest // it counts
	for _, tt := range echoes {
		if n := testing.AllocsPerRun(500, echoCall(t, tt.text)); n > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, n, tt.most)
		}
	}
}
