package tenon_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// asServer makes the test binary a server, which Serve serves.
const asServer = "TENON_TEST_SERVE"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "":
		goleak.VerifyTestMain(m)
	case "silent":
		silent()
	default:
		if err := serve(os.Getenv(asServer)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func serve(mode string) error {
	var opts []tenon.ServeOption
	switch mode {
	case "stdio":
		opts = append(opts, tenon.OverStdio())
	case "flagless":
		opts = append(opts, tenon.WithoutFlag())
	}
	return tenon.Serve(context.Background(), newServer(), opts...)
}

type greeting struct {
	Name string `json:"name"`
}

func newServer() *server.Server {
	srv := server.New(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	server.AddTool(srv, mcp.Tool{Name: "greet"}, func(_ context.Context, in greeting) (string, error) {
		fmt.Println("a stray print") //nolint:forbidigo // on stdio it must not reach the client
		return "Hello, " + in.Name + "!", nil
	})
	server.AddTool(srv, mcp.Tool{Name: "env"}, func(_ context.Context, in greeting) (string, error) { return os.Getenv(in.Name), nil })
	server.AddTool(srv, mcp.Tool{Name: "wait"}, func(ctx context.Context, _ struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "cancelled")
		return "", ctx.Err()
	})
	return srv
}

func greet(t *testing.T, c *client.Client, err error) *client.Client {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	got, err := client.CallTool[string](t.Context(), c, "greet", greeting{"Ada"})
	if err != nil || got != "Hello, Ada!" {
		t.Errorf("got %q, %v", got, err)
	}
	return c
}

var child = []tenon.Option{tenon.WithEnv(asServer+"=1", "GORACE=atexit_sleep_ms=0")}

func TestConnectCommand(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		quoted(os.Args[0]), quoted(os.Args[0]) + ` -x "two words" ''`, "stdio:" + quoted(os.Args[0]), "stdio://" + quoted(os.Args[0]),
	} {
		c, err := tenon.Connect(t.Context(), target, child...)
		greet(t, c, err)
	}
}

func quoted(s string) string { return "'" + s + "'" }

func TestConnectCommandOptions(t *testing.T) {
	t.Setenv("TENON_TEST_SECRET", "s3cret")
	ask := func(name string, opts ...tenon.Option) string {
		c, err := tenon.Connect(t.Context(), quoted(os.Args[0]), append(opts, child...)...)
		greet(t, c, err)
		got, err := client.CallTool[string](t.Context(), c, "env", greeting{name})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	if got := ask("TENON_TEST_SECRET"); got != "" {
		t.Errorf("the environment got through: %q", got)
	}
	if got := ask("TENON_TEST_SECRET", tenon.WithInheritedEnv()); got != "s3cret" {
		t.Errorf("inherited: %q", got)
	}
	if got := ask("MORE", tenon.WithEnv("MORE=x"), tenon.WithDir(t.TempDir())); got != "x" {
		t.Errorf("added: %q", got)
	}
}

func TestConnectHTTP(t *testing.T) {
	t.Parallel()
	h := streamhttp.NewHandler(newServer(), nil)
	ts := httptest.NewServer(h)
	t.Cleanup(func() { ts.Close(); h.Close() })
	c, err := tenon.Connect(t.Context(), ts.URL, tenon.WithHTTPClient(ts.Client()), tenon.WithHeader("X-Test", "1"))
	greet(t, c, err)
	if c.Version() != mcp.V20260728 {
		t.Errorf("speaks %s", c.Version())
	}
	c, err = tenon.Connect(t.Context(), ts.URL, tenon.WithClient(&client.Options{Version: mcp.V20250326}))
	greet(t, c, err)
}

// A server that has only HTTP+SSE is found all the same.
func TestConnectFallsBackToSSE(t *testing.T) {
	t.Parallel()
	h := streamhttp.NewSSEHandler(newServer(), nil)
	ts := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); ts.Close() })
	c, err := tenon.Connect(t.Context(), ts.URL)
	greet(t, c, err)
}

func TestConnectErrors(t *testing.T) {
	t.Parallel()
	nothing := httptest.NewServer(nil) // answers 404 to everything
	t.Cleanup(nothing.Close)
	for _, tt := range []struct{ target, want string }{
		{"", "give a URL or a command line"},
		{"  ", "give a URL or a command line"},
		{"http://", "no URL with a host"},
		{"ftp://example.com/", `no transport for "ftp"`},
		{`a "b`, "quote"},
		{"no-such-program-at-all --url https://example.com/", "not found in PATH"},
		{`"no such/program" x`, "there is no such file"},
		{"no-such-program-at-all", "not found in PATH"},
		{nothing.URL, "404"},
		{nothing.URL + "/x", "is the path right? Many servers have " + nothing.URL + "/mcp"},
		{"localhost:1234", `"localhost:1234" is an address and no URL: did you mean http://localhost:1234/mcp?`},
		{"[::1]:80/api", "did you mean http://[::1]:80/api?"},
	} {
		c, err := tenon.Connect(t.Context(), tt.target)
		if err == nil {
			c.Close()
			t.Errorf("%q: connected", tt.target)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %q, want %q in it", tt.target, err, tt.want)
		}
	}
}

func ExampleConnect() {
	h := streamhttp.NewHandler(newServer(), nil)
	defer h.Close()
	ts := httptest.NewServer(h)
	defer ts.Close()

	c, err := tenon.Connect(context.Background(), ts.URL) // a command line does as well
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for tool, err := range c.Tools(context.Background()) {
		fmt.Println(tool.Name, err)
	}
	// Output:
	// env <nil>
	// greet <nil>
	// wait <nil>
}

func ExampleServe() {
	srv := server.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
	server.AddTool(srv, mcp.Tool{Name: "greet"}, func(_ context.Context, in greeting) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // for the example; else a signal or the end of stdin ends it
	fmt.Println(tenon.Serve(ctx, srv, tenon.OverHTTP("127.0.0.1:0")))
	// Output: <nil>
}
