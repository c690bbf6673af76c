package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal opens one: what programs write to tty comes out of screen.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal:", err)
	}
	t.Cleanup(func() { screen.Close() })
	var n, unlock uint32
	for request, arg := range map[uintptr]*uint32{syscall.TIOCGPTN: &n, syscall.TIOCSPTLCK: &unlock} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Skip("no terminal:", errno)
		}
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal:", err)
	}
	return screen, tty
}

// onTerminal returns what a program shows there.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	screen, tty := terminal(t)
	c := program(t, "tenon", args...)
	c.Stdout, c.Stderr = tty, tty
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	out, _ := io.ReadAll(screen) // it ends with an error: nobody is there any more
	_ = c.Wait()                 // what it shows says how it ended
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

func TestOnTerminal(t *testing.T) {
	t.Parallel()
	list := onTerminal(t, "tools", "--", "env", asProgram+"=tenon", os.Args[0], "everything")
	for _, want := range []string{" · 2026-07-28 · ", "\n  echo(message: str)\n      Echo\n", "\n  slow([steps: int, seconds: num])\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	list = onTerminal(t, "prompts", "--", "env", asProgram+"=tenon", os.Args[0], "everything")
	if want := " · 2 prompts\n\n  greet(name: str, [style: str])\n      Greet somebody\n"; !strings.Contains(list, want) {
		t.Errorf("no %q in\n%s", want, list)
	}
	for _, args := range [][]string{
		{"tools"},
		{"tools", "--json"},
		{"call", "t"},
		{"call", "t", "--json"},
		{"call", "t", "q=1"},
		{"info"},
		{"info", "--json"},
		{"resources"},
		{"resources", "--templates"},
		{"read", "h://r"},
		{"read", "h://r", "--json"},
		{"prompts"},
		{"get", "p"},
		{"get", "p", "b=1"},
		{"complete", "p", "a=v"},
		{"ping", "-n", "1"},
	} {
		out := onTerminal(t, append(args, "--", "env", asProgram+"=hostile", os.Args[0])...)
		if strings.ContainsAny(out, "\x1b\x07\u009b\u202e\u2066") {
			t.Errorf("%q drives the terminal: %q", args, out)
		}
		if !strings.Contains(out, `server│ log\x1b[2J\u{202e}`) {
			t.Errorf("%q: the log of the server is not shown: %q", args, out)
		}
	}
}

// A server that is started by hand says what it waits for.
func TestServeOnTerminal(t *testing.T) {
	t.Parallel()
	screen, tty := terminal(t)
	defer tty.Close()
	c := program(t, "tenon", "everything")
	c.Stdin = tty
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(line, "serving MCP on stdin and stdout") {
		t.Errorf("it says %q, %v", line, err)
	}
	screen.Close()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // Ctrl-C may be its error
}
