//go:build !race

// Package start_test measures what a user waits for before a program does
// anything, and how big the program is. It is not built with the race detector,
// since it measures programs that are built without.
package start_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	runs = 20
	// The fastest run must be within the bar: on a machine with other work the
	// median says more of that work.
	initializeBar = 15 * time.Millisecond
	versionBar    = 20 * time.Millisecond
)

// servers are the hello-world servers. gate is what one has now in bytes on
// linux/amd64, and 1 %.
var servers = []struct {
	name, pkg string
	gate      int64
}{
	// The bar is 8,000,000.
	{"stdio.Serve", "./bench/start/hello", 6_470_000},
	// It has net/http with crypto/tls besides, for whom -http is given.
	{"tenon.Serve", "./examples/hello", 8_750_000},
}

// build builds a program as one that is released is built.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
	return out
}

// times measures a run several times: the fastest and the median.
func times(run func() time.Duration) (best, median time.Duration) {
	all := make([]time.Duration, runs)
	for i := range all {
		all[i] = run()
	}
	slices.Sort(all)
	return all[0], all[runs/2]
}

func TestStartOfServer(t *testing.T) { //nolint:paralleltest // it measures time
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) { startOfServer(t, server.pkg, server.gate) })
	}
}

func startOfServer(t *testing.T, pkg string, gate int64) {
	t.Helper()
	hello := build(t, filepath.Join("..", ".."), pkg)
	info, err := os.Stat(hello)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it has %d bytes", info.Size())
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && info.Size() > gate { // elsewhere it differs a little
		t.Errorf("it has %d bytes, over %d: what does it link that it did not?", info.Size(), gate)
	}
	best, median := times(func() time.Duration { return initialize(t, hello) })
	t.Logf("initialize is answered %v after exec, the fastest time %v", median, best)
	if best > initializeBar {
		t.Errorf("initialize is answered %v after exec at best, over %v", best, initializeBar)
	}
}

// initialize returns the time from exec to the answer.
func initialize(t *testing.T, program string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(start)
	if err != nil || !strings.Contains(line, `"serverInfo"`) {
		t.Fatalf("got %q, %v", line, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return took
}

func TestStartOfProgram(t *testing.T) { //nolint:paralleltest // it measures time
	dir := filepath.Join("..", "..", "cmd", "tenon")
	tenon := build(t, dir, ".")
	best, median := times(func() time.Duration {
		start := time.Now()
		if out, err := exec.CommandContext(t.Context(), tenon, "--version").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return time.Since(start)
	})
	info, err := os.Stat(tenon)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("tenon --version takes %v, the fastest time %v; it has %d bytes", median, best, info.Size())
	if best > versionBar {
		t.Errorf("tenon --version takes %v at best, over %v", best, versionBar)
	}
}
