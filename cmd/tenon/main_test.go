package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"
)

// asTenon makes the test binary the program.
const asTenon = "TENON_TEST_MAIN"

// quickExit is a value of GORACE: a program with the race detector would wait
// for a second before it exits.
const quickExit = "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if os.Getenv(asTenon) != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"tenon": main, "hostile": hostile})
}

// TestScripts runs testdata/script: what each command prints, and its exit code.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("GORACE", quickExit)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a program that is to end with an exit code: exits CODE PROGRAM ARGS…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !asExit(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func asExit(err error, target **exec.ExitError) (ok bool) {
	*target, ok = errors.AsType[*exec.ExitError](err)
	return ok
}

// hostile is a server whose texts try to drive the terminal.
func hostile() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == 0 {
			continue
		}
		result := `{}`
		switch req.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h\u001b]0;x\u0007","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"t","title":"a\u001b[2Jb\u202ec","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = `{"isError":true,"content":[{"type":"text","text":"bad\u001b[31m"}]}`
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no"}}`+"\n", req.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", req.ID, result)
	}
}

// dev is a running `tenon dev`.
type dev struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	env    []string
}

// command returns the program as a child in this environment.
func (d *dev) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = d.env
	return c
}

// startDev starts `tenon dev`; stop ends it.
func startDev(t *testing.T, args ...string) *dev {
	t.Helper()
	d := &dev{env: append(os.Environ(), asTenon+"=1", "GORACE="+quickExit, "XDG_STATE_HOME="+t.TempDir())}
	d.cmd = d.command(append([]string{"dev"}, args...)...)
	d.cmd.Stderr = &d.stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.stdout = bufio.NewReader(out)
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // when the test has not stopped it
		_ = d.cmd.Wait()
	})
	return d
}

func (d *dev) line(t *testing.T) string {
	t.Helper()
	line, err := d.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("dev says no more: %v\n%s", err, d.stderr.String())
	}
	return line
}

// stop sends a signal and returns what is left of stdout.
func (d *dev) stop(t *testing.T, sig os.Signal) string {
	t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(d.stdout)
	if err != nil {
		t.Error(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("dev: %v\n%s", err, d.stderr.String())
	}
	return string(rest)
}

type ready struct {
	Event     string   `json:"event"`
	MCP       string   `json:"mcp"`
	Revisions []string `json:"revisions"`
	PID       int      `json:"pid"`
}

func (d *dev) ready(t *testing.T) ready {
	t.Helper()
	var r ready
	if err := json.Unmarshal([]byte(d.line(t)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDevJSON(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--json", "--port", "0")
	r := d.ready(t)
	if r.Event != "ready" || len(r.Revisions) != 5 || r.PID != d.cmd.Process.Pid {
		t.Errorf("ready: %+v", r)
	}
	u, err := url.Parse(r.MCP)
	if err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/mcp" {
		t.Errorf("endpoint %q", r.MCP)
	}
	out, err := d.command("call", "@dev", "echo", "message=hi").CombinedOutput()
	if string(out) != "hi\n" || err != nil {
		t.Errorf("call @dev: %q, %v", out, err)
	}
	out, err = d.command("tools", r.MCP).CombinedOutput()
	if !strings.Contains(string(out), "echo\tEcho\n") || err != nil {
		t.Errorf("tools: %q, %v", out, err)
	}
	if rest := d.stop(t, syscall.SIGTERM); rest != "" {
		t.Errorf("more than one line on stdout: %q", rest)
	}
	if out, err := d.command("call", "@dev", "echo", "message=hi").CombinedOutput(); err == nil || !strings.Contains(string(out), "start one in another shell") {
		t.Errorf("after the end: %q, %v", out, err)
	}
}

var selfCheck = regexp.MustCompile(`Self-check +(\d+) passed, (\d+) failed`)

func TestDevChecksItself(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--port", "0")
	var seen strings.Builder
	for !strings.Contains(seen.String(), "Ctrl-C") {
		seen.WriteString(d.line(t))
	}
	m := selfCheck.FindStringSubmatch(seen.String())
	if m == nil || m[2] != "0" {
		t.Fatalf("self-check:\n%s%s", seen.String(), d.stderr.String())
	}
	if n, _ := strconv.Atoi(m[1]); n < 100 { // ten checks on each of ten routes
		t.Errorf("only %d checks", n)
	}
	if !strings.Contains(seen.String(), "MCP endpoint   http://127.0.0.1:") {
		t.Errorf("no endpoint:\n%s", seen.String())
	}
	d.stop(t, os.Interrupt)
}

func TestBusyPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	d := &dev{env: append(os.Environ(), asTenon+"=1", "GORACE="+quickExit, "XDG_STATE_HOME="+t.TempDir())}
	out, err := d.command("dev", "--port", port).CombinedOutput()
	var exit *exec.ExitError
	if !asExit(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "name another --port") {
		t.Errorf("got %v, %q", err, out)
	}
}

func TestInterruptedCall(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--json", "--port", "0")
	d.ready(t)
	c := d.command("call", "@dev", "slow", "seconds=30", "--timeout", "0")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The signal may come before the program listens for it: then it ends by the
	// signal itself, which a shell reports as the same code.
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if !asExit(err, &exit) {
			t.Fatalf("got %v", err)
		}
		status, _ := exit.Sys().(syscall.WaitStatus)
		if exit.ExitCode() != 130 && status.Signal() != syscall.SIGINT {
			t.Errorf("exit code %d: %s", exit.ExitCode(), stderr.String())
		}
	case <-time.After(20 * time.Second):
		t.Error("the call goes on")
	}
	d.stop(t, syscall.SIGTERM)
}
