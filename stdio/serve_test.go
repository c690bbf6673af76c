package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/stdio"
)

// start starts this binary as a server, with pipes of the test.
func start(t *testing.T, mode string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader, stderr *buffer) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+mode, noExitSleep)
	stderr = &buffer{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, in, bufio.NewReader(stdout), stderr
}

// B026: the end of input is not the end of output.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	cmd, in, out, _ := start(t, "serve")
	for i := range 10 {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"nap"}`+"\n", i)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":10,"method":"echo","params":{}}`) // no line break
	in.Close()
	all, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(all), `"rested"`); n != 10 || !strings.Contains(string(all), `"id":10,`) {
		t.Errorf("%d of 10 answers, or not the last request's:\n%s", n, all)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// Whatever prints, stdout has messages only, and the prints are on stderr.
func TestStrayPrints(t *testing.T) {
	t.Parallel()
	cmd, in, out, stderr := start(t, "serve")
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"print"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}`+"\n")
	var lines []string
	for range 2 {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	in.Close()
	rest, _ := io.ReadAll(out)
	for _, line := range append(lines, string(rest)) {
		if strings.Contains(line, "stray") {
			t.Errorf("stdout has %q", line)
		}
	}
	if got := strings.Join(lines, ""); !strings.Contains(got, `"printed"`) || !strings.Contains(got, `"id":2`) {
		t.Errorf("answers:\n%s", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"a stray print", "a stray write", "a stray child"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr.String())
		}
	}
}

// B021, B023, B024, B031: nothing that a client sends ends the server, and what
// is wrong is told.
func TestBadLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, code string }{
		{"garbage", "-32700"},
		{`{"jsonrpc":"2.0","method":"t","params":`, "-32700"},
		{"[1,2", "-32700"},
		{`"str"`, "-32600"},
		{`{"foo":1}`, "-32600"},
		{"\xff\xfe", "-32700"},
		{"", ""},
		{`{"jsonrpc":"2.0","id":null,"method":"echo"}`, "-32600"},
		{`{"jsonrpc":"2.0","method":"echo"}`, ""},
		{"Content-Length: 40\r\n\r", "-32700"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			t.Parallel()
			cmd, in, out, _ := start(t, "serve")
			io.WriteString(in, tt.line+"\n"+`{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`+"\n")
			in.Close()
			all, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			const answer = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
			got, rest, ok := strings.Cut(string(all), answer)
			got += rest // in the order they were finished
			if !ok {
				t.Errorf("no answer to the next request: %s", all)
			}
			if tt.code == "" && got != "" || tt.code != "" && (strings.Count(got, "\n") != 1 || !strings.Contains(got, `"code":`+tt.code)) {
				t.Errorf("got %q, want an error %q", got, tt.code)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

// B028: a client that goes away without a word, and takes stderr with it, ends the
// server all the same, which does not spin.
func TestClientGone(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=serve", noExitSleep)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"nap"}`+"\n")
	r.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		if used := cmd.ProcessState.UserTime(); used > time.Second {
			t.Errorf("it used %v", used)
		}
	case <-time.After(5 * time.Second):
		cmd.Process.Kill()
		t.Error("the server runs on")
		<-ended
	}
}

// The context ends the server while its stdin is open, and promptly.
func TestContextEndsTheServer(t *testing.T) {
	t.Parallel()
	cmd, in, out, stderr := start(t, "ends-by-context")
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"end"}`+"\n")
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("it ended with %v: %s", err, stderr.String())
	}
}

func TestServeContext(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	defer inW.Close()
	defer outR.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stdio.Serve(ctx, binder(bind), &stdio.Options{In: inR, Out: outW}) }()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"wait"}`+"\n")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// The bound on what is in flight at the end of input.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go io.Copy(io.Discard, outR)
	ended := make(chan error, 1)
	go func() {
		ended <- stdio.Serve(t.Context(), binder(bind), &stdio.Options{
			In: inR, Out: outW, Limits: stdio.Limits{Drain: 10 * time.Millisecond},
		})
	}()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"wait"}`+"\n")
	inW.Close()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestServeOptions(t *testing.T) {
	t.Parallel()
	if err := stdio.Serve(t.Context(), binder(bind), &stdio.Options{In: io.NopCloser(strings.NewReader(""))}); err == nil {
		t.Error("one stream without the other was accepted")
	}
}
