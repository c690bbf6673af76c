package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
)

// dev is a running `tenon dev`.
type dev struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// command returns the program with the state of this one, so that it finds it.
func (d *dev) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = d.cmd.Env
	return c
}

// startDev starts `tenon dev`; stop ends it.
func startDev(t *testing.T, args ...string) *dev {
	t.Helper()
	d := &dev{cmd: program(t, "tenon", append([]string{"dev"}, args...)...)}
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

// Nothing but this machine reaches it.
func TestDevIsLocal(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--json", "--port", "0")
	u, err := url.Parse(d.ready(t).MCP)
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip, _, err := net.ParseCIDR(a.String())
		if err != nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		if c, err := net.Dial("tcp", net.JoinHostPort(ip.String(), u.Port())); err == nil {
			c.Close()
			t.Errorf("it listens on %s", ip)
		}
	}
	d.stop(t, syscall.SIGTERM)
}

func TestDevPortIsBusy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	out, err := program(t, "tenon", "dev", "--port", port).CombinedOutput()
	if exitCode(t, err) != 1 || !strings.Contains(string(out), "stop what uses it, or name another --port") {
		t.Errorf("got %v, %q", err, out)
	}
}

func TestDevDefaultPortIsBusy(t *testing.T) {
	t.Parallel()
	// Where this fails, something else has the port, which does as well.
	if l, err := net.Listen("tcp4", "127.0.0.1:3737"); err == nil {
		defer l.Close()
	}
	d := startDev(t)
	var seen strings.Builder
	for !strings.Contains(seen.String(), "MCP endpoint") {
		seen.WriteString(d.line(t))
	}
	if !strings.Contains(seen.String(), "Port 3737 is taken; this is the next free one.") {
		t.Errorf("got:\n%s", seen.String())
	}
	d.stop(t, syscall.SIGTERM)
}

// A dev that was killed could not say goodbye: what it left is no answer.
func TestDevWasKilled(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--json", "--port", "0")
	d.ready(t)
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait() // it was killed
	out, err := d.command("tools", "@dev").CombinedOutput()
	if exitCode(t, err) != 4 || !strings.Contains(string(out), "start one in another shell") {
		t.Errorf("got %v, %s", err, out)
	}
}
