//go:build unix

package stdio_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/stdio"
)

// A server that ends by itself is not hurried.
func TestStopIsClean(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "marker")
	conn := dial(t, self("marker", "MARKER="+marker))
	echo(t, conn, "")
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(marker); string(b) != "clean" {
		t.Errorf("the marker has %q: the server could not end", b)
	}
}

// Whatever a server ignores, Close ends it in bounded time.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"ignores-eof", "stubborn", "flood-stdout", "hang-up", "sleep"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := self(mode)
			c.Limits = short
			conn := dial(t, c)
			if mode == "stubborn" || mode == "ignores-eof" {
				echo(t, conn, "")
			}
			start := time.Now()
			conn.Close()
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// What a server starts ends with it.
func TestStopTakesTheGroup(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc to look at processes")
	}
	for _, mode := range []string{"serve", "ignores-eof", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := self(mode)
			c.Limits = stdio.Limits{CloseWait: 200 * time.Millisecond, TermWait: 200 * time.Millisecond}
			conn := dial(t, c)
			pid := call[int](t, conn, "grandchild", nil)
			if !alive(pid) {
				t.Fatal("the grandchild does not run")
			}
			conn.Close()
			if alive(pid) {
				t.Error("the grandchild lives on")
			}
		})
	}
}
