package tenon_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func TestServeOnListener(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- tenon.Serve(ctx, newServer(), tenon.OnListener(l)) }()
	c, err := tenon.Connect(t.Context(), "http://"+l.Addr().String()+tenon.EndpointPath)
	greet(t, c, err)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// A server without a logger uses the one of Serve.
func TestServeLogsPanics(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]tenon.ServeOption{"": nil, "WithHTTP": {tenon.WithHTTP(&streamhttp.Options{})}} {
		for _, v := range []mcp.Version{mcp.V20260728, mcp.V20251125} {
			t.Run(string(v)+name, func(t *testing.T) {
				t.Parallel()
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				var logs bytes.Buffer
				srv := newServer()
				server.AddTool(srv, mcp.Tool{Name: "panic"}, func(context.Context, struct{}) (string, error) { panic("secret") })
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				opts := append([]tenon.ServeOption{tenon.OnListener(l), tenon.WithLogger(slog.New(slog.NewTextHandler(&logs, nil)))}, opts...)
				go func() { served <- tenon.Serve(ctx, srv, opts...) }()
				c, err := tenon.Connect(t.Context(), "http://"+l.Addr().String()+tenon.EndpointPath, tenon.WithClient(&client.Options{Version: v}))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "panic"}); err == nil || strings.Contains(err.Error(), "secret") {
					t.Errorf("the client got %v", err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
				if got := logs.String(); !strings.Contains(got, "secret") || !strings.Contains(got, "serve_test.go") {
					t.Errorf("the log: %s", got)
				}
			})
		}
	}
}

// A program may have a flag -http of its own.
func TestServeWithoutFlag(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-http") // which would lack its address
	cmd.Env = append(os.Environ(), asServer+"=flagless", "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v, %s", err, out)
	}
	cmd = exec.Command(os.Args[0], "-http")
	cmd.Env = append(os.Environ(), asServer+"=flagless", tenon.AddrVariable+"=256.0.0.1:1", "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "256.0.0.1") {
		t.Errorf("the environment does not count: %v, %s", err, out)
	}
}

// Flags and environment make a program that calls Serve an HTTP server; a
// signal ends it in good order.
func TestServeByFlagAndSignal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, env []string }{
		"flag wins":   {args: []string{"-x", "--http", "127.0.0.1:0"}, env: []string{tenon.AddrVariable + "=256.0.0.1:1"}},
		"flag":        {args: []string{"-http", "127.0.0.1:0"}},
		"flag =":      {args: []string{"--http=127.0.0.1:0"}},
		"environment": {env: []string{tenon.AddrVariable + "=127.0.0.1:0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], tt.args...)
			cmd.Env = append(append(os.Environ(), asServer+"=1", "GORACE=atexit_sleep_ms=0"), tt.env...)
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var url string
			if _, err := fmt.Fscanf(stderr, "serving %s\n", &url); err != nil {
				t.Errorf("what it says: %v", err)
			}
			c, err := tenon.Connect(t.Context(), url)
			greet(t, c, err)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			rest, _ := io.ReadAll(stderr)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, rest)
			}
		})
	}
}

func TestServeErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-http"}, {"-http", "-x"}, {"--http="}, {"-http", "256.0.0.1:1"}} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), asServer+"=1")
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "tenon:") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}

// B094: open streams do not keep a server that is told to end.
func TestServeEndsWithOpenStreams(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Version{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := make(chan error, 1)
			go func() { served <- tenon.Serve(ctx, newServer(), tenon.OnListener(l)) }()
			c, err := tenon.Connect(t.Context(), "http://"+l.Addr().String()+tenon.EndpointPath,
				tenon.WithClient(&client.Options{Version: v, OnToolsChanged: func(context.Context) {}}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.CallTool[string](t.Context(), c, "greet", greeting{"Ada"}); err != nil {
				t.Error(err)
			}
			cancel()
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// raw is a server on stdio, spoken to in lines.
type raw struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bufio.Reader
}

func startRaw(t *testing.T, mode string, env ...string) *raw {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a server that says nothing fails the test, and soon
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), asServer+"="+mode, "GORACE=atexit_sleep_ms=0"), env...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return &raw{cmd, in, bufio.NewReader(out), bufio.NewReader(stderr)}
}

func (r *raw) send(lines ...string) { io.WriteString(r.in, strings.Join(lines, "\n")+"\n") }

// expect reads a line that has all of these in it.
func expect(t *testing.T, r *bufio.Reader, want ...string) {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("it says no more, instead of %q: %v", want, err)
	}
	for _, w := range want {
		if !strings.Contains(line, w) {
			t.Errorf("no %q in %s", w, line)
		}
	}
}

// end reads the rest of stdout, and waits.
func (r *raw) end(t *testing.T) (rest string) {
	t.Helper()
	b, err := io.ReadAll(r.out)
	if err != nil {
		t.Error(err)
	}
	said, _ := io.ReadAll(r.stderr) // it goes with the error
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, said)
	}
	return string(b)
}

// initialize opens the session. A client waits for the answer before it asks for
// more (2025-06-18, lifecycle).
func (r *raw) initialize(t *testing.T) {
	t.Helper()
	r.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
	expect(t, r.out, `"id":1`, `"protocolVersion":"2025-06-18"`)
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// Signals end a server on stdio, though its stdin is open.
func TestServeStdioEndsBySignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		r := startRaw(t, "stdio", tenon.AddrVariable+"=256.0.0.1:1") // which OverStdio does not look at
		r.initialize(t)
		if err := r.cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
		if rest := r.end(t); rest != "" {
			t.Errorf("%v: more on stdout: %s", sig, rest)
		}
	}
}

// B026: what was asked before the end of stdin is answered.
func TestServeStdioAnswersAll(t *testing.T) {
	t.Parallel()
	r := startRaw(t, "1")
	r.initialize(t)
	for i := range 10 {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"greet","arguments":{"name":"%d"}}}`, i+2, i))
	}
	r.in.Close()
	all := r.end(t)
	if n := strings.Count(all, `"result":`); n != 10 || strings.Count(all, "\n") != 10 {
		t.Errorf("%d of 10 results:\n%s", n, all)
	}
}

// B029: a slow tool holds up neither a ping nor its own cancelling.
func TestServeStdioSlowTool(t *testing.T) {
	t.Parallel()
	r := startRaw(t, "1")
	r.initialize(t)
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{}}}`)
	expect(t, r.stderr, "waiting")
	r.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	expect(t, r.out, `"id":3,"result":{}`)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	expect(t, r.stderr, "cancelled")
	r.in.Close()
	if rest := r.end(t); rest != "" {
		t.Errorf("the cancelled call was answered: %s", rest)
	}
}

// B021, B023, B024, B030: nothing that a client says ends the server.
func TestServeStdioBadRequests(t *testing.T) {
	t.Parallel()
	r := startRaw(t, "1")
	r.send(`{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{}}`)
	expect(t, r.out, `"code":-32600`)
	r.initialize(t)
	for _, tt := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":2,"method":"no/such"}`, `"id":2,"error":{"code":-32601`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":null}`, `"id":3,"error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"arguments":{}}}`, `"id":4,"error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":null}`, `"id":5,`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}`, `"id":5,"error":{"code":-3260`},
		{`garbage`, `"code":-32700`},
		{`{"jsonrpc":"2.0","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":6,"method":"ping"}`, `"id":6,"result":{}`},
		{`{"jsonrpc":"2.0","method":"initialize","params":{}}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"ping"}`, `"id":7,"result":{}`},
	} {
		r.send(tt.line)
		expect(t, r.out, tt.want)
	}
	r.in.Close()
	if rest := r.end(t); rest != "" {
		t.Errorf("more on stdout: %s", rest)
	}
}
