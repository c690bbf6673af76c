package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
)

// childVariable makes the test binary the child: its value is the mode.
const childVariable = "TENON_STDIO_TEST_CHILD"

// noExitSleep keeps the race detector from sleeping a second at each exit.
const noExitSleep = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childVariable); mode != "" {
		os.Exit(child(mode))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(removeCoverDir))
}

// coverDir is where the children of a test run with -cover leave what they
// counted: without it they complain on stderr.
var coverDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "stdio-cover-*")
	if err != nil {
		panic(err)
	}
	return dir
})

func removeCoverDir(code int) {
	if testing.CoverMode() != "" {
		os.RemoveAll(coverDir())
	}
	os.Exit(code)
}

// child is a server that behaves in the way that mode says.
func child(mode string) int {
	switch mode {
	case "missing-key":
		fmt.Fprintln(os.Stderr, "missing API key")
		return 3
	case "panic":
		fmt.Fprintln(os.Stderr, "panic: of before, which was caught")
		go panic("no\nconfig " + strings.Repeat("x", 500))
		select {}
	case "no-server":
		fmt.Print("\nUsage: \x1b[1mthing\u202e " + strings.Repeat("y", 500) + "\nmore\n") //nolint:forbidigo // it is no server
		return 0
	case "no-server-waits":
		fmt.Print("{\"level\":\"info\"}\n> ") //nolint:forbidigo // it is no server
		select {}
	case "sleep":
		select {}
	case "banner":
		return banner()
	case "hang-up":
		os.Stdout.Close()
		io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Minute) //nolint:forbidigo // a server that hangs
		return 0
	case "flood-stdout":
		for {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/x","params":{"pad":"` + strings.Repeat("x", 1000) + `"}}`) //nolint:forbidigo // a server that prints to stdout by hand
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "marker":
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		go func() {
			<-told
			os.WriteFile(os.Getenv("MARKER"), []byte("terminated"), 0o600)
			os.Exit(1)
		}()
	case "no-stderr":
		os.Stderr.Close()
	case "ends-by-context":
		return endsByContext()
	}
	if err := stdio.Serve(context.Background(), binder(bind), nil); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		return 1
	}
	switch mode {
	case "stubborn", "ignores-eof":
		select {}
	case "marker":
		os.WriteFile(os.Getenv("MARKER"), []byte("clean"), 0o600)
	}
	return 0
}

// endsByContext serves until a request ends the context, whatever stdin does.
func endsByContext() int {
	ctx, cancel := context.WithCancel(context.Background())
	err := stdio.Serve(ctx, binder(func(context.Context, rpc.Conn) rpc.Handler {
		return rpc.HandlerFunc(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
			cancel()
			return nil, nil
		})
	}), nil)
	if errors.Is(err, context.Canceled) {
		return 7
	}
	return 1
}

// banner answers by hand, with what launchers print between the messages, one
// byte at a time.
func banner() int {
	in := bufio.NewScanner(os.Stdin)
	fmt.Print("\n> npm start\n🖥️ ready\n") //nolint:forbidigo // a server that prints to stdout by hand
	for in.Scan() {
		var req struct {
			ID int `json:"id"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil {
			return 1
		}
		for _, b := range []byte(fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":\"a—読🎉é\"}\r\n\nDEBUG x\n", req.ID)) {
			os.Stdout.Write([]byte{b})
		}
	}
	return 0
}

func bind(ctx context.Context, conn rpc.Conn) rpc.Handler {
	return rpc.HandlerFunc(func(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
		switch req.Method {
		case "echo":
			return req.Params, nil
		case "exit":
			os.Exit(1)
		case "flood-stderr":
			line := strings.Repeat("e", 1023) + "\n"
			for range 256 {
				io.WriteString(os.Stderr, line)
			}
			return "flooded", nil
		case "print":
			return printAll()
		case "environment":
			return os.Environ(), nil
		case "directory":
			return os.Getwd()
		case "nap":
			select {
			case <-time.After(200 * time.Millisecond):
				return "rested", nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case "wait":
			<-ctx.Done()
			return nil, ctx.Err()
		case "ask":
			var answer string
			err := peer.Call(ctx, &rpc.Request{Method: "question"}, &answer)
			return answer, err
		case "notify":
			for i := range 5000 {
				if err := conn.Notify(ctx, &rpc.Request{Method: "notifications/message", Params: jsontext.Value(`{"n":` + strconv.Itoa(i) + `}`)}); err != nil {
					return nil, err
				}
			}
			return "notified", nil
		case "ping-without-id":
			return "sent", conn.Notify(ctx, &rpc.Request{Method: "ping"})
		case "pid":
			return os.Getpid(), nil
		case "grandchild":
			return spawn(exec.Command(os.Args[0]))
		case "detached":
			return spawnDetached()
		case "exit-and-leave-a-grandchild":
			if _, err := spawn(exec.Command(os.Args[0])); err != nil {
				return nil, err
			}
			os.Exit(1)
		}
		return nil, rpc.Errorf(rpc.CodeMethodNotFound, "no method %q", req.Method)
	})
}

// spawn starts a process that sleeps and holds stdout and stderr open, those
// of the connection included.
func spawn(cmd *exec.Cmd) (pid int, err error) {
	cmd.Env = append(os.Environ(), childVariable+"=sleep")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// spawnDetached is spawn for a process that has left the group.
func spawnDetached() (pid int, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	cmd := exec.Command("setsid", "sh", "-c", `exec 3>&-; exec "$0"`, os.Args[0])
	cmd.ExtraFiles = []*os.File{w}
	pid, err = spawn(cmd)
	w.Close()
	io.Copy(io.Discard, r) // it ends when setsid has done its work
	return pid, err
}

// printAll prints to stdout in every way there is.
func printAll() (any, error) {
	fmt.Println("a stray print") //nolint:forbidigo // a server that prints to stdout by hand
	io.WriteString(os.NewFile(1, "stdout"), "a stray write\n")
	cmd := exec.Command("sh", "-c", "echo a stray child; cat")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout // it must not eat our messages either
	return "printed", cmd.Run()
}

// self returns a command that is this binary in a mode.
func self(mode string, env ...string) *stdio.Command {
	if testing.CoverMode() != "" {
		env = append(env, "GOCOVERDIR="+coverDir())
	}
	return &stdio.Command{
		Path: os.Args[0],
		Env:  append([]string{childVariable + "=" + mode, noExitSleep}, env...),
	}
}

// dial starts the command and ends it with the test.
func dial(t *testing.T, c *stdio.Command) rpc.Conn {
	t.Helper()
	conn, err := c.Dial(t.Context(), rpc.HandlerFunc(func(context.Context, *rpc.Request, rpc.Peer) (any, error) {
		return "forty-two", nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func call[T any](t *testing.T, conn rpc.Conn, method string, params any) T {
	t.Helper()
	var got T
	req, err := rpc.NewRequest(method, params)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Call(t.Context(), req, &got); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return got
}

func echo(t *testing.T, conn rpc.Conn, text string) string {
	t.Helper()
	return call[map[string]string](t, conn, "echo", map[string]string{"text": text})["text"]
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

type binder func(context.Context, rpc.Conn) rpc.Handler

func (b binder) Bind(ctx context.Context, conn rpc.Conn) rpc.Handler { return b(ctx, conn) }
