package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/cmd/tenon/internal/everything"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// Ctrl-C in a call: the server hears of it, and nothing that was started is
// left behind (B010).
func TestInterruptedCall(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := program(t, "tenon", "call", "wait", "--", "sh", "-c",
				`sleep 1000 & echo "sleeper $!" >&2; `+asProgram+`=waiter exec "$0"`, os.Args[0])
			stderr, err := c.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			var seen strings.Builder
			for r := bufio.NewReader(stderr); ; {
				line, err := r.ReadString('\n')
				seen.WriteString(line)
				if line == "server│ tools/call\n" {
					if err := c.Process.Signal(sig); err != nil {
						t.Error(err)
					}
				}
				if err != nil {
					break
				}
			}
			if code := exitCode(t, c.Wait()); code != 130 {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(seen.String(), "server│ notifications/cancelled\n") {
				t.Errorf("the server was not told:\n%s", seen.String())
			}
			_, rest, _ := strings.Cut(seen.String(), "sleeper ")
			pid, _, _ := strings.Cut(rest, "\n")
			if n, err := strconv.Atoi(pid); err != nil || runs(n) {
				t.Errorf("process %q is left", pid)
			}
		})
	}
}

// runs reports whether a process exists and is no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A server that has only HTTP+SSE is found by its URL as well.
func TestOldServer(t *testing.T) {
	t.Parallel()
	h := streamhttp.NewSSEHandler(everything.New("1", nil), nil)
	ts := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); ts.Close() })
	out, err := program(t, "tenon", "call", ts.URL, "echo", "message=hi").CombinedOutput()
	if err != nil || string(out) != "hi\n" {
		t.Errorf("got %v, %s", err, out)
	}
}

func TestRefusedByHTTP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status, exit int
		body, want   string
	}{
		{status: 401, exit: 3, want: `{"error":{"code":"auth_required","message":"`},
		{status: 403, exit: 3, want: `"status":403}}`},
		{status: 404, exit: 4, want: `{"error":{"code":"unreachable","message":"`},
		{status: 503, exit: 4, want: `"status":503}}`},
		{status: 200, exit: 6, body: "<html>\u202e", want: "is this the URL of an MCP server?"},
	} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		}))
		t.Cleanup(ts.Close)
		c := program(t, "tenon", "tools", ts.URL, "--json")
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if code := exitCode(t, err); code != tt.exit || len(out) > 0 {
			t.Errorf("%d: exit code %d, want %d; stdout %q", tt.status, code, tt.exit, out)
		}
		if got := stderr.String(); !strings.Contains(got, tt.want) || strings.Contains(got, "\u202e") || strings.Count(got, "\n") != 1 {
			t.Errorf("%d: got %s", tt.status, got)
		}
	}
}
