package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// era is one cell of the matrix: a server to fill, and a client of it.
type era struct {
	mcptest.Env
	srv  *server.Server
	opts *client.Options
}

// eachEra runs fn in every cell. What fn adds to the server is there before the
// client, which connect makes, comes.
func eachEra(t *testing.T, opts *server.Options, fn func(t *testing.T, e era)) {
	t.Helper()
	mcptest.EachRevision(t, func(t *testing.T, env mcptest.Env) {
		e := era{Env: env, srv: server.New(mcp.Implementation{Name: "matrix", Version: "1"}, opts), opts: &client.Options{}}
		fn(t, e)
	})
}

func (e era) connect() *client.Client { return e.Connect(e.srv, e.opts) }

func (e era) since(v mcp.Version) bool { return e.Version >= v }

func (e era) modern() bool { return e.Era == mcp.Modern }

type none struct{}

type numbers struct {
	A int64 `json:"a"`
	B int64 `json:"b,omitzero"`
}

func addTool[In, Out any](e era, name string, fn func(context.Context, In) (Out, error)) {
	server.AddTool(e.srv, mcp.Tool{Name: name}, fn)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func isCode(t *testing.T, what string, err error, code int) {
	t.Helper()
	if e, ok := errors.AsType[*rpc.Error](err); !ok || e.Code != code {
		t.Errorf("%s: got %v, want the code %d", what, err, code)
	}
}

func call(name, args string) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: name}
	if args != "" {
		p.Arguments = jsontext.Value(args)
	}
	return p
}

func textOf(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("content: %d blocks", len(res.Content))
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content: %T", res.Content[0])
	}
	return text.Text
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	eachEra(t, &server.Options{Instructions: "be kind"}, func(t *testing.T, e era) {
		addTool(e, "t", func(ctx context.Context, _ none) (string, error) {
			c := server.CallFrom(ctx)
			return fmt.Sprintf("%s %s", c.Version, c.Client.Name), nil
		})
		e.opts.Info = mcp.Implementation{Name: "me", Version: "1"}
		c := e.connect()
		equal(t, "version", c.Version(), e.Version)
		equal(t, "server", c.ServerInfo().Name, "matrix")
		equal(t, "instructions", c.Instructions(), "be kind")
		if c.ServerCapabilities().Tools == nil {
			t.Error("tools are not declared")
		}
		got := must[string](t)(client.CallTool[string](t.Context(), c, "t", nil))
		equal(t, "what the tool sees", got, string(e.Version)+" me")
	})
}

func TestTypedTools(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "sum", func(_ context.Context, in numbers) (map[string]int64, error) {
			return map[string]int64{"sum": in.A + in.B}, nil
		})
		addTool(e, "list", func(context.Context, none) ([]int, error) { return []int{1, 2}, nil })
		c := e.connect()
		const big = 1234567890123456789 // a float64 would not hold it
		sum := must[map[string]int64](t)(client.CallTool[map[string]int64](t.Context(), c, "sum", numbers{A: big, B: 1}))
		equal(t, "sum", sum["sum"], big+1)

		res := must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("sum", `{"a":2,"b":3}`)))
		equal(t, "text", textOf(t, res), `{"sum":5}`)
		equal(t, "has structured content", res.StructuredContent != nil, e.since(mcp.V20250618))

		res = must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("list", "")))
		equal(t, "text of a list", textOf(t, res), `[1,2]`)
		equal(t, "has a list as structured content", res.StructuredContent != nil, e.modern())
	})
}

func TestToolErrors(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "fail", func(context.Context, none) (string, error) { return "", errors.New("out of oak") })
		addTool(e, "refuse", func(context.Context, none) (string, error) { return "", rpc.Errorf(-7, "not for you") })
		addTool(e, "panic", func(context.Context, none) (string, error) { panic("secret") })
		addTool(e, "sum", func(_ context.Context, in numbers) (int64, error) { return in.A, nil })
		c := e.connect()
		ctx := t.Context()

		_, err := client.CallTool[string](ctx, c, "fail", nil)
		if failed, ok := errors.AsType[*client.ToolError](err); !ok || !strings.Contains(failed.Error(), "out of oak") {
			t.Errorf("fail: %v", err)
		}
		_, err = c.CallTool(ctx, call("refuse", ""))
		isCode(t, "refuse", err, -7)
		_, err = c.CallTool(ctx, call("panic", ""))
		isCode(t, "panic", err, rpc.CodeInternalError)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the panic got out: %v", err)
		}
		_, err = c.CallTool(ctx, call("no such tool", ""))
		isCode(t, "unknown tool", err, rpc.CodeInvalidParams)
		for _, args := range []string{`{}`, `{"a":"x"}`, `{"a":1.5}`, `{"a":1,"c":2}`} {
			res := must[*mcp.CallToolResult](t)(c.CallTool(ctx, call("sum", args)))
			if !res.IsError || !strings.Contains(textOf(t, res), "arguments") {
				t.Errorf("%s: %+v", args, res)
			}
		}
		equal(t, "after all that", must[int64](t)(client.CallTool[int64](ctx, c, "sum", numbers{A: 3})), 3)
	})
}

// recorder is a test that keeps its log.
type recorder struct {
	testing.TB
	mu  sync.Mutex
	log string
}

func (r *recorder) Log(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log += fmt.Sprintln(args...)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log
}

// Whoever wrote a tool that panics finds where in the log of the test.
func TestPanicsAreLogged(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "panic", func(context.Context, none) (string, error) { panic("secret") })
		addTool(e, "log", func(ctx context.Context, _ none) (string, error) {
			server.CallFrom(ctx).Logger().Info("hello")
			return "", nil
		})
		r := &recorder{TB: t}
		e.Env = e.With(r)
		c := e.connect()
		_, err := c.CallTool(t.Context(), call("panic", ""))
		isCode(t, "panic", err, rpc.CodeInternalError)
		if got := r.text(); !strings.Contains(got, "secret") || !strings.Contains(got, "\n") || !strings.Contains(got, "era_test.go") {
			t.Errorf("the log: %s", got)
		}
		must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("log", "")))
		if got := r.text(); !strings.Contains(got, "hello") {
			t.Errorf("the log: %s", got)
		}
	})
}

func TestDynamicTools(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		schema := jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"x-keep":true}`)
		err := e.srv.AddTool(mcp.Tool{Name: "raw", InputSchema: schema}, func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(p.Arguments))}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c := e.connect()
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "schema", string(tool.InputSchema), string(schema))
		}
		res := must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("raw", `{"n":12345678901234567890}`)))
		equal(t, "arguments", textOf(t, res), `{"n":12345678901234567890}`)
		res = must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("raw", `{"n":0}`)))
		equal(t, "below the minimum", res.IsError, true)
	})
}

func TestContents(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		big := strings.Repeat("é\n", 1<<19)
		blocks := []mcp.Content{
			mcp.Text(big),
			&mcp.ImageContent{Data: []byte{0, 1, 2}, MIMEType: "image/png"},
			&mcp.AudioContent{Data: []byte{3}, MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "a://b", Name: "b"},
			&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a://b", Blob: []byte{4}}},
		}
		addTool(e, "all", func(context.Context, none) ([]mcp.Content, error) { return blocks, nil })
		res := must[*mcp.CallToolResult](t)(e.connect().CallTool(t.Context(), call("all", "")))
		if len(res.Content) != len(blocks) {
			t.Fatalf("%d blocks", len(res.Content))
		}
		equal(t, "a big text is whole", res.Content[0].(*mcp.TextContent).Text == big, true)
		equal(t, "image", string(res.Content[1].(*mcp.ImageContent).Data), "\x00\x01\x02")
		_, audio := res.Content[2].(*mcp.AudioContent)
		equal(t, "audio", audio, e.since(mcp.V20250326))
		_, link := res.Content[3].(*mcp.ResourceLink)
		equal(t, "link", link, e.since(mcp.V20250618))
		equal(t, "blob", string(res.Content[4].(*mcp.EmbeddedResource).Resource.Blob), "\x04")
	})
}

// One limit holds for what a client takes, whatever the transport.
func TestMessageLimit(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		if !e.modern() && (e.Transport != mcptest.OverHTTP || e.Streamable && e.Version != mcp.V20251125) {
			return // one of each kind will do
		}
		addTool(e, "text", func(_ context.Context, in numbers) (string, error) { return strings.Repeat("x", int(in.A)), nil })
		c := e.connect()
		const room = 1 << 10 // for what is around the text
		got := must[string](t)(client.CallTool[string](t.Context(), c, "text", numbers{A: rpc.DefaultMessageBytes - room}))
		equal(t, "bytes", len(got), rpc.DefaultMessageBytes-room)
		if _, err := client.CallTool[string](t.Context(), c, "text", numbers{A: rpc.DefaultMessageBytes}); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("over the limit: %v", err)
		}
		got = must[string](t)(client.CallTool[string](t.Context(), c, "text", numbers{A: 1}))
		equal(t, "after that", got, "x")
	})
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		const n = 64
		arrived := make(chan struct{}, n)
		all := make(chan struct{})
		addTool(e, "meet", func(ctx context.Context, in numbers) (int64, error) {
			arrived <- struct{}{}
			select {
			case <-all:
				return in.A, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		c := e.connect()
		results := make(chan error, n)
		for i := range int64(n) {
			go func() {
				got, err := client.CallTool[int64](t.Context(), c, "meet", numbers{A: i})
				if err == nil && got != i {
					err = fmt.Errorf("got the answer %d of another call, want %d", got, i)
				}
				results <- err
			}()
		}
		for range n {
			<-arrived // all of them run at the same time
		}
		close(all)
		for range n {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		started, ended := make(chan struct{}), make(chan error, 1)
		addTool(e, "wait", func(ctx context.Context, _ none) (string, error) {
			close(started)
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), server.ErrCancelled) {
				t.Errorf("the cause: %v", context.Cause(ctx))
			}
			ended <- ctx.Err()
			return "", ctx.Err()
		})
		addTool(e, "ok", func(context.Context, none) (string, error) { return "fine", nil })
		c := e.connect()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		_, err := c.CallTool(ctx, call("wait", ""))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context: %v", err)
		}
		equal(t, "the connection goes on", must[string](t)(client.CallTool[string](t.Context(), c, "ok", nil)), "fine")
	})
}

// A handler that waits for nothing but its context does not outlive Shutdown.
func TestShutdownCancels(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		started, ended := make(chan struct{}), make(chan error, 1)
		addTool(e, "wait", func(ctx context.Context, _ none) (string, error) {
			close(started)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return "", ctx.Err()
		})
		c := e.connect()
		failed := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), call("wait", ""))
			failed <- err
		}()
		<-started
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.srv.Shutdown(over); !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown: %v", err)
		}
		if cause := <-ended; errors.Is(cause, server.ErrCancelled) {
			t.Errorf("it was not the client: %v", cause)
		}
		if err := <-failed; err == nil {
			t.Error("the call had a result")
		}
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		const n = 1000
		addTool(e, "work", func(ctx context.Context, _ none) (string, error) {
			for i := range n {
				for _, done := range []float64{float64(i + 1), float64(i + 1), float64(i)} { // what does not grow is not sent
					if err := server.CallFrom(ctx).Progress(ctx, done, n, "step"); err != nil {
						return "", err
					}
				}
			}
			return "done", nil
		})
		c := e.connect()
		var got []float64
		over := false
		_, err := c.CallTool(t.Context(), call("work", ""), client.OnProgress(func(p mcp.ProgressParams) {
			if over {
				t.Error("progress after the result")
			}
			got = append(got, p.Progress)
			if (p.Message != "") != e.since(mcp.V20250326) {
				t.Errorf("message %q", p.Message)
			}
		}))
		over = true
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "notifications", len(got), n)
		for i, p := range got {
			if p != float64(i+1) {
				t.Fatalf("number %d is %v", i, p)
			}
		}
		// Nobody asked: nothing is sent, and nothing fails.
		must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("work", "")))
	})
}
