//go:build unix

package stdio_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
)

// B012: a server that ends by itself is not hurried.
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

// B012: whatever a server ignores, Close ends it in bounded time.
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

// B010: what a server starts ends with it, and no zombie is left.
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
			own, pid := call[int](t, conn, "pid", nil), call[int](t, conn, "grandchild", nil)
			if !alive(pid) {
				t.Fatal("the grandchild does not run")
			}
			conn.Close()
			if alive(pid) {
				t.Error("the grandchild lives on")
			}
			if err := syscall.Kill(own, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the server is still a process, or a zombie: %v", err)
			}
		})
	}
}

// B010: a launcher that does not end its children.
func TestStopTakesTheLaunchersChildren(t *testing.T) {
	t.Parallel()
	var log buffer
	c := &stdio.Command{Path: "sh", Args: []string{"-c", "sleep 1000 & echo $! >&2; exec sleep 1000"}, Stderr: &log, Limits: short}
	conn := dial(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := conn.Call(ctx, &rpc.Request{Method: "ping"}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(log.String())); err != nil || alive(pid) {
		t.Errorf("process %q lives on", log.String())
	}
}

// What has left the group is not ours to end; that it holds the pipes open keeps
// nobody waiting for long.
func TestStopLeavesTheDetached(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
	c := self("serve")
	c.Limits.KillWait = 100 * time.Millisecond
	conn := dial(t, c)
	pid := call[int](t, conn, "detached", nil)
	defer syscall.Kill(pid, syscall.SIGKILL)
	start := time.Now()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("it took %v", d)
	}
	if !alive(pid) {
		t.Error("the detached process was ended")
	}
}
