package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
)

// short are waits for servers that use them up.
var short = stdio.Limits{CloseWait: 100 * time.Millisecond, TermWait: 100 * time.Millisecond}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestCall(t *testing.T) {
	t.Parallel()
	conn := dial(t, self("serve"))
	if got := echo(t, conn, "hé\n"); got != "hé\n" {
		t.Errorf("got %q", got)
	}
	if got := call[string](t, conn, "ask", nil); got != "forty-two" {
		t.Errorf("the server asked and got %q", got)
	}
	if err := conn.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := conn.Call(t.Context(), &rpc.Request{Method: "echo"}, nil); !errors.Is(err, rpc.ErrClosed) || isExit(err) {
		t.Errorf("call after close: %v, want a plain ErrClosed", err)
	}
}

func isExit(err error) bool {
	_, ok := errors.AsType[*stdio.ExitError](err)
	return ok
}

// Two servers of one command are two servers.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	c := self("serve")
	one, two := dial(t, c), dial(t, c)
	if a, b := call[int](t, one, "pid", nil), call[int](t, two, "pid", nil); a == b {
		t.Errorf("both are process %d", a)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if got := echo(t, two, "on"); got != "on" {
		t.Errorf("got %q", got)
	}
}

// B008: a message of many times a pipe's buffer goes through whole.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	conn := dial(t, self("serve"))
	for _, n := range []int{65_535, 65_537, 1<<20 + 1, 5 << 20} {
		want := strings.Repeat("é", n/2)
		if got := echo(t, conn, want); got != want {
			t.Errorf("%d bytes came back as %d others", len(want), len(got))
		}
	}
}

// B009: a character in two reads is one character.
func TestCutCharacters(t *testing.T) {
	t.Parallel()
	conn := dial(t, self("serve"))
	for n := 4096 - 80; n < 4096; n++ {
		want := strings.Repeat("x", n) + "a—読🎉é" + strings.Repeat("🎉", 20)
		if got := echo(t, conn, want); got != want {
			t.Fatalf("with %d bytes before it: got %q", n, got[n:])
		}
	}
}

// B008: what is over the limit fails alone.
func TestTooLargeMessage(t *testing.T) {
	t.Parallel()
	c := self("serve")
	c.Limits.RPC.MessageBytes = 1000
	conn := dial(t, c)
	req, _ := rpc.NewRequest("echo", map[string]string{"text": strings.Repeat("x", 2000)})
	if err := conn.Call(t.Context(), req, nil); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if got := echo(t, conn, "still here"); got != "still here" {
		t.Errorf("got %q", got)
	}
}

// B006, B009: what else comes on stdout is skipped; characters may come in
// pieces.
func TestBanner(t *testing.T) {
	t.Parallel()
	var log buffer
	c := self("banner")
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	conn := dial(t, c)
	for range 2 {
		if got := call[string](t, conn, "hello", nil); got != "a—読🎉é" {
			t.Errorf("got %q", got)
		}
	}
	if !strings.Contains(log.String(), "cannot be read") || strings.Contains(log.String(), "npm start") {
		t.Errorf("want a warning without the text, got log:\n%s", log.String())
	}
}

// B004: stderr is read, whoever wants it, and its end is kept.
func TestStderrIsDrained(t *testing.T) {
	t.Parallel()
	var seen buffer
	c := self("serve")
	c.Stderr = &seen
	conn := dial(t, c)
	for range 3 {
		if got := call[string](t, conn, "flood-stderr", nil); got != "flooded" {
			t.Errorf("got %q", got)
		}
	}
	err := conn.Call(t.Context(), &rpc.Request{Method: "exit"}, nil)
	if exit, ok := errors.AsType[*stdio.ExitError](err); !ok || len(exit.Stderr) != 16<<10 {
		t.Errorf("got %v, want an ExitError with the last 16 KiB of stderr", err)
	}
	conn.Close()
	if got := len(seen.String()); got != 3*256<<10 {
		t.Errorf("stderr got %d bytes, want all of them", got)
	}
}

// B001: a server that is none says so, and why.
func TestEarlyExit(t *testing.T) {
	t.Parallel()
	conn := dial(t, self("missing-key"))
	start := time.Now()
	err := conn.Call(t.Context(), &rpc.Request{Method: "echo"}, nil)
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %v to say so", d)
	}
	exit, ok := errors.AsType[*stdio.ExitError](err)
	if !ok || !errors.Is(err, rpc.ErrClosed) {
		t.Fatalf("got %v, want an ExitError that matches ErrClosed", err)
	}
	if exit.State == nil || exit.State.ExitCode() != 3 || exit.Stderr != "missing API key\n" {
		t.Errorf("got state %v, stderr %q", exit.State, exit.Stderr)
	}
	if msg := err.Error(); !strings.Contains(msg, "exit status 3") || !strings.HasSuffix(msg, ": missing API key") {
		t.Errorf("message %q", msg)
	}
	if err := conn.Notify(t.Context(), &rpc.Request{Method: "echo"}); !isExit(err) {
		t.Errorf("notify: %v, want an ExitError", err)
	}
}

// The reason comes first, not the stacks behind it.
func TestPanic(t *testing.T) {
	t.Parallel()
	err := dial(t, self("panic", "GOTRACEBACK=all")).Call(t.Context(), &rpc.Request{Method: "echo"}, nil)
	if msg := err.Error(); !isExit(err) || !strings.Contains(msg, "exit status 2: panic: no") || strings.Contains(msg, "goroutine") {
		t.Errorf("got %v", err)
	}
}

// A program that is no server is told apart by what it prints.
func TestNoServer(t *testing.T) {
	t.Parallel()
	err := dial(t, self("no-server")).Call(t.Context(), &rpc.Request{Method: "echo"}, nil)
	want := `; it printed "Usage: \x1b[1mthing\u202e yyyy`
	if msg := err.Error(); !isExit(err) || !strings.Contains(msg, want) || !strings.HasSuffix(msg, "is it an MCP server?") || len(msg) > 500 {
		t.Errorf("got %v, want %s in it", err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := self("no-server-waits")
	c.Limits.CloseWait = 10 * time.Millisecond
	conn := dial(t, c)
	call := make(chan error, 1)
	go func() { call <- conn.Call(ctx, &rpc.Request{Method: "echo"}, nil) }()
	for !strings.Contains(fmt.Sprint(conn.Call(after(t, 20*time.Millisecond), &rpc.Request{Method: "echo"}, nil)), `printed "{\"level\":\"info\"}" on stdout`) {
		if t.Context().Err() != nil {
			t.Fatal("it does not say what was printed")
		}
	}
	cancel()
	if err := <-call; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "is it an MCP server?") {
		t.Errorf("got %v", err)
	}
}

func after(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// B002: a server that dies takes its calls with it and nothing else.
func TestCrashUnderCalls(t *testing.T) {
	t.Parallel()
	conn := dial(t, self("serve"))
	errs := make(chan error, 3)
	for range 3 {
		go func() { errs <- conn.Call(context.Background(), &rpc.Request{Method: "wait"}, nil) }()
	}
	echo(t, conn, "")
	if err := conn.Call(t.Context(), &rpc.Request{Method: "exit"}, nil); !isExit(err) {
		t.Errorf("exit: %v, want an ExitError", err)
	}
	for range 3 {
		if err := <-errs; !isExit(err) {
			t.Errorf("got %v, want an ExitError", err)
		}
	}
	start := time.Now()
	if err := conn.Call(t.Context(), &rpc.Request{Method: "echo"}, nil); !isExit(err) || time.Since(start) > time.Second {
		t.Errorf("a later call: %v after %v, want an ExitError at once", err, time.Since(start))
	}
}

// What it leaves behind holds the pipes open, which keeps no call waiting.
func TestCrashWithDescendants(t *testing.T) {
	t.Parallel()
	c := self("serve")
	c.Limits.KillWait = time.Minute
	conn := dial(t, c)
	start := time.Now()
	if err := conn.Call(t.Context(), &rpc.Request{Method: "exit-and-leave-a-grandchild"}, nil); !isExit(err) {
		t.Errorf("got %v, want an ExitError", err)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("it took %v", d)
	}
}

// B018: replies do not wait behind notifications, and none of these is lost.
func TestFloodOfNotifications(t *testing.T) {
	t.Parallel()
	var got atomic.Int32
	conn, err := self("serve").Dial(t.Context(), rpc.HandlerFunc(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
		got.Add(1)
		return nil, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if answer := call[string](t, conn, "notify", nil); answer != "notified" || got.Load() != 5000 {
		t.Errorf("%q after %d notifications", answer, got.Load())
	}
}

// B024: a request without an id is a notification, for a client as well.
func TestPingWithoutID(t *testing.T) {
	t.Parallel()
	conn := dial(t, self("serve"))
	if got := call[string](t, conn, "ping-without-id", nil); got != "sent" {
		t.Errorf("got %q", got)
	}
	if got := echo(t, conn, "on"); got != "on" {
		t.Errorf("got %q", got)
	}
}

// A server that does not read keeps neither a call nor Close waiting.
func TestServerDoesNotRead(t *testing.T) {
	t.Parallel()
	c := self("sleep")
	c.Limits = short
	conn := dial(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := rpc.NewRequest("echo", map[string]string{"text": strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Call(ctx, req, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestHangUp(t *testing.T) {
	t.Parallel()
	c := self("hang-up")
	c.Limits = short
	c.Limits.ExitWait = 50 * time.Millisecond
	conn := dial(t, c)
	err := conn.Call(t.Context(), &rpc.Request{Method: "echo"}, nil)
	exit, ok := errors.AsType[*stdio.ExitError](err)
	if !ok || exit.State != nil || !strings.Contains(err.Error(), "closed its output") {
		t.Errorf("got %v, want an ExitError without state", err)
	}
}

func TestMissingCommand(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"tenon-no-such-program", "/no/such/program", "", t.TempDir()} {
		conn, err := (&stdio.Command{Path: path}).Dial(t.Context(), nil)
		if err == nil {
			conn.Close()
			t.Errorf("%q started", path)
			continue
		}
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%q: the error does not name it: %v", path, err)
		}
		if path == "tenon-no-such-program" && (!errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "PATH")) {
			t.Errorf("got %v", err)
		}
	}
}

// B013: additions are merged into what every program needs.
func TestEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names are those of Unix")
	}
	t.Setenv("TENON_TEST_SECRET", "s")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := self("serve", "API_KEY=k", "PATH=${PATH}:/opt/x")
	c.Dir = dir
	conn := dial(t, c)
	env := call[[]string](t, conn, "environment", nil)
	for _, want := range []string{"API_KEY=k", "PATH=" + os.Getenv("PATH") + ":/opt/x", "HOME=" + os.Getenv("HOME")} {
		if !slices.Contains(env, want) {
			t.Errorf("no %q in %q", want, env)
		}
	}
	if slices.Contains(env, "TENON_TEST_SECRET=s") {
		t.Error("the server got a variable that was not meant for it")
	}
	if got := call[string](t, conn, "directory", nil); got != dir {
		t.Errorf("runs in %q, want %q", got, dir)
	}

	all := self("serve")
	all.InheritEnv = true
	if !slices.Contains(call[[]string](t, dial(t, all), "environment", nil), "TENON_TEST_SECRET=s") {
		t.Error("InheritEnv did not pass a variable on")
	}
}

func TestDialContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := self("serve").Dial(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel() // bounds the dialing only
	if got := echo(t, conn, "on"); got != "on" {
		t.Errorf("got %q", got)
	}
	if _, err := self("serve").Dial(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
