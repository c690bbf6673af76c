//go:build !race

package server_test

import "testing"

// The race detector allocates, and so this test is not built with it.
func TestToolCallAllocations(t *testing.T) { //nolint:paralleltest // it counts
	for _, tt := range calls {
		if n := testing.AllocsPerRun(500, toolCall(t, tt.tool, tt.arguments)); n > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, n, tt.most)
		}
	}
}
