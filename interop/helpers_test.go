// Package interop_test runs tenon against other implementations, with their
// real programs: those of npm (package.json here) and two Go libraries.
//
// The tests with programs of npm are skipped where Node.js 22 or the packages
// are missing, and fail instead when TENON_INTEROP is "required", as make sets
// it.
package interop_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
)

const npmScope = "node_modules/@modelcontextprotocol"

// needNode skips or fails the test where the peers of npm cannot run.
func needNode(t *testing.T) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("TENON_INTEROP") == "required" {
		missing = t.Fatalf
	}
	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < 22 {
		missing("Node.js 22 is needed, there is %q: run make interop", out)
	}
	if _, err := os.Stat(npmScope); err != nil {
		missing("the packages of npm are not installed: run make interop")
	}
}

// npm returns the path of a file of a package, from the folder of this test.
func npm(elem ...string) string { return filepath.Join(append([]string{npmScope}, elem...)...) }

// runNode runs a script to its end and decodes the JSON that it prints.
func runNode(t *testing.T, result any, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "NO_COLOR=1", fixtureEnv) // it may start the fixture
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %v: %v\n%s\n%s", args, err, out, &stderr)
	}
	if err := json.Unmarshal(out, result); err != nil {
		t.Fatalf("node %v printed what is not JSON: %v\n%s", args, err, out)
	}
}

// startNode starts a server that listens on a free port, given as PORT, and
// returns its address. It is stopped at the end of the test.
func startNode(t *testing.T, args ...string) string {
	t.Helper()
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", append([]string{"--require", "../conformance/loopback.cjs"}, args...)...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("node %v said:\n%s", args, &stderr)
		}
	})
	waitForPort(t, addr)
	return addr
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// waitForPort waits until somebody listens.
func waitForPort(t *testing.T, addr string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-tick.C {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return
		}
	}
	t.Fatalf("nobody listens on %s", addr)
}

// serveHTTP serves h on a loopback port until the end of the test, and returns
// the URL of its root.
func serveHTTP(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

// textOf joins the text of blocks.
func textOf(blocks mcp.Contents) string {
	var all []string
	for _, b := range blocks {
		if t, ok := b.(*mcp.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}
