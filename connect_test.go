package tenon_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
)

// B001: a server that cannot start says so, and why, at once.
func TestConnectToWhatExits(t *testing.T) {
	t.Parallel()
	start := time.Now()
	c, err := tenon.Connect(t.Context(), `sh -c 'echo "missing API key" >&2; exit 3'`)
	if err == nil {
		c.Close()
		t.Fatal("connected")
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %v", d)
	}
	exit, ok := errors.AsType[*stdio.ExitError](err)
	if !ok || exit.State.ExitCode() != 3 {
		t.Errorf("got %v, want an ExitError with status 3", err)
	}
	if msg := err.Error(); !strings.Contains(msg, "exit status 3") || !strings.Contains(msg, "missing API key") {
		t.Errorf("message %q", msg)
	}
}

// silent is a server of old that hears nothing before initialize, and answers
// what it has not heard late.
func silent() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil {
			continue
		}
		switch req.Method {
		case "initialize":
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"%d","version":"1"}}}`+"\n",
				req.ID, os.Getpid())
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"late"}}`+"\n", req.ID-1)
		case "ping":
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", req.ID)
		}
	}
}

// B019: a server that does not answer the probe gets initialize, and its late
// answer hurts nobody.
func TestConnectToWhatIsSilent(t *testing.T) {
	t.Parallel()
	c, err := tenon.Connect(t.Context(), quoted(os.Args[0]), tenon.WithEnv(asServer+"=silent", "GORACE=atexit_sleep_ms=0"),
		tenon.WithClient(&client.Options{ProbeTimeout: 50 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Version() != mcp.V20250618 {
		t.Errorf("speaks %s", c.Version())
	}
	for range 2 {
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A server that dies is seen without a call.
func TestServerDies(t *testing.T) {
	t.Parallel()
	c, err := tenon.Connect(t.Context(), quoted(os.Args[0]), tenon.WithEnv(asServer+"=silent", "GORACE=atexit_sleep_ms=0"),
		tenon.WithClient(&client.Options{Version: mcp.V20250618}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pid, err := strconv.Atoi(c.ServerInfo().Name)
	if err != nil {
		t.Fatal(err)
	}
	server, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if exit, ok := errors.AsType[*stdio.ExitError](c.Err()); !ok || exit.State == nil || !errors.Is(c.Err(), rpc.ErrClosed) {
		t.Errorf("ended with %v, want an ExitError", c.Err())
	}
}

// A program that is no server, and does not end, is told apart by what it
// prints.
func TestConnectToWhatTalks(t *testing.T) {
	t.Parallel()
	c, err := tenon.Connect(t.Context(), `sh -c 'echo "Hello there"; cat > /dev/null'`,
		tenon.WithClient(&client.Options{ProbeTimeout: 50 * time.Millisecond, Timeout: 100 * time.Millisecond}))
	if err == nil {
		c.Close()
		t.Fatal("connected")
	}
	if !errors.Is(err, client.ErrTimeout) || !strings.Contains(err.Error(), `"sh" printed "Hello there"`) {
		t.Errorf("got %v", err)
	}
}
