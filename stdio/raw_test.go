package stdio_test

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/stdio"
)

// What a process says comes as it was written, whatever it is.
func TestProcess(t *testing.T) {
	t.Parallel()
	p, err := self("plain").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p, `{"jsonrpc":"2.0","id":1,"method":"echo"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p)
	if err != nil || !strings.HasPrefix(string(out), `{"jsonrpc":"2.0","id":1,`) || out[len(out)-1] != '\n' {
		t.Errorf("read %q, %v, want an answer and its newline", out, err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("error %v, want none of a server that exited with 0", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestProcessFails(t *testing.T) {
	t.Parallel()
	p, err := self("missing-key").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(p); err != nil || len(out) != 0 {
		t.Errorf("read %q, %v", out, err)
	}
	if e, ok := errors.AsType[*stdio.ExitError](p.Err()); !ok || e.State.ExitCode() != 3 || e.Stderr != "missing API key\n" {
		t.Errorf("error %v, want the status and what it said", p.Err())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestProcessIsStopped(t *testing.T) {
	t.Parallel()
	c := self("stubborn")
	c.Limits = short
	p, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n, err := p.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v after Close, want io.EOF", n, err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("error %v of a process that was closed", err)
	}
	if _, err := (&stdio.Command{Path: "no-such-program-anywhere"}).Start(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v, want exec.ErrNotFound", err)
	}
	if _, err := new(stdio.Command).Start(t.Context()); err == nil {
		t.Error("an empty command was started")
	}
}
