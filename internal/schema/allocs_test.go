//go:build !race

package schema_test

import "testing"

// A value that fits costs no memory. The race detector has costs of its own.
func TestNoAllocations(t *testing.T) { //nolint:paralleltest // AllocsPerRun is for one goroutine
	for _, tt := range samples {
		s, v := mustCompile(t, tt.schema), []byte(tt.value)
		if err := s.Validate(v); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if n := testing.AllocsPerRun(1000, func() { _ = s.Validate(v) }); n >= 1 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}
