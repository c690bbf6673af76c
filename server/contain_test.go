package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// bomb is a result whose own code panics.
type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("boom") }

// syncBuffer may be written to by several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// panicky panics wherever code of the author is called, if the client says so.
func panicky(t *testing.T, logs *syncBuffer) *server.Server {
	t.Helper()
	s := newServer(&server.Options{
		Logger:         slog.New(slog.NewTextHandler(logs, nil)),
		Complete:       func(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error) { panic("boom") },
		OnInitialized:  func(context.Context, *server.Call) { panic("boom") },
		OnRootsChanged: func(context.Context, *server.Call) { panic("boom") },
		OnSubscribe: func(_ context.Context, uri string) error {
			if uri == "x:panic" {
				panic("boom")
			}
			return nil
		},
		OnUnsubscribe: func(context.Context, string) { panic("boom") },
		Principal:     func(context.Context, *rpc.Request) string { panic("boom") },
	})
	s.Use(func(next server.Handler) server.Handler {
		return func(ctx context.Context, c *server.Call) (any, error) {
			if p, ok := c.Params.(*mcp.CallToolParams); ok && p.Name == "middleware" {
				panic("boom")
			}
			return next(ctx, c)
		}
	})
	server.AddTool(s, mcp.Tool{Name: "tool"}, func(context.Context, struct{}) (string, error) { panic("boom") })
	server.AddTool(s, mcp.Tool{Name: "result"}, func(context.Context, struct{}) (bomb, error) { return bomb{}, nil })
	server.AddTool(s, mcp.Tool{Name: "log"}, func(ctx context.Context, _ struct{}) (string, error) {
		return "", server.CallFrom(ctx).Log(ctx, mcp.LevelError, bomb{})
	})
	server.AddTool(s, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ struct{}) (string, error) {
		c := server.CallFrom(ctx)
		if err := c.SetState(1); err != nil {
			return "", err
		}
		_, err := c.Elicit(ctx, "k", form("k"))
		return "", err
	})
	err := errors.Join(
		s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { panic("boom") }),
		s.AddResource(mcp.Resource{URI: "x:r", Name: "r"}, func(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) { panic("boom") }),
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "y:{id}", Name: "t"},
			func(context.Context, *mcp.ReadResourceParams, map[string]string) (*mcp.ReadResourceResult, error) {
				panic("boom")
			}),
		s.HandleMethod("x/do", func(context.Context, *rpc.Request) (any, error) { panic("boom") }),
		s.HandleMethod("x/bomb", func(context.Context, *rpc.Request) (any, error) { return bomb{}, nil }),
		s.HandleNotification("x/told", func(context.Context, *rpc.Request) { panic("boom") }),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A panic ends the request it is in and nothing else, and the client learns
// nothing of it.
func TestPanicsAreContained(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		var logs syncBuffer
		s := panicky(t, &logs)
		w := dial(t, s)
		open(w)
		w.notify("x/told", "")
		w.notify("notifications/roots/list_changed", "")
		for _, tc := range []struct{ method, members string }{
			{"tools/call", `"name":"tool"`},
			{"tools/call", `"name":"result"`},
			{"tools/call", `"name":"log","arguments":{}`},
			{"tools/call", `"name":"middleware"`},
			{"prompts/get", `"name":"p"`},
			{"resources/read", `"uri":"x:r"`},
			{"resources/read", `"uri":"y:1"`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`},
			{"x/do", ""},
			{"x/bomb", ""},
		} {
			p := params(tc.members)
			if tc.members == `"name":"log","arguments":{}` && strings.Contains(p, "_meta") {
				p = `{` + tc.members + `,` + meta("{}", `,"io.modelcontextprotocol/logLevel":"debug"`) + `}`
			}
			if e := w.wants(rpc.CodeInternalError, tc.method, p); strings.Contains(e.Error(), "boom") {
				t.Errorf("%s %s: the client was told %v", tc.method, tc.members, e)
			}
		}
		w.must("tools/list", params("")) // it still works
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := logs.String(); !strings.Contains(got, "boom") || !strings.Contains(got, "contain_test.go") {
			t.Errorf("the log lacks the panics: %s", got)
		}
	})
}

// A panic leaves a trace where nobody has set a logger; what is not an error
// does not.
//
//nolint:paralleltest // it changes slog.Default
func TestPanicsWithoutLogger(t *testing.T) {
	var logs syncBuffer
	old := slog.Default()
	t.Cleanup(func() { slog.SetDefault(old) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&logs, nil)))
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "a name that some clients refuse"}, func(ctx context.Context, _ struct{}) (string, error) {
		server.CallFrom(ctx).Logger().With("a", 1).WithGroup("g").Info("quiet")
		panic("boom")
	})
	w := dial(t, s)
	w.wants(rpc.CodeInternalError, "tools/call", modern(`"name":"a name that some clients refuse"`))
	got := logs.String()
	if !strings.Contains(got, "boom") || !strings.Contains(got, "contain_test.go") {
		t.Errorf("the log lacks the panic: %s", got)
	}
	if strings.Contains(got, "level=WARN") || strings.Contains(got, "quiet") {
		t.Errorf("the log has more than errors: %s", got)
	}
}

func TestPanicsOfHooksAreContained(t *testing.T) {
	t.Parallel()
	var logs syncBuffer
	s := panicky(t, &logs)
	w := dial(t, s)
	w.wants(rpc.CodeInternalError, "tools/call", asking(`"name":"ask"`)) // Principal
	w.wants(rpc.CodeInternalError, "subscriptions/listen", modern(`"notifications":{"resourceSubscriptions":["x:a","x:panic"]}`))
	w.initialize(mcp.V20251125, "{}")
	w.wants(rpc.CodeInternalError, "resources/subscribe", `{"uri":"x:panic"}`)
	w.must("resources/subscribe", `{"uri":"x:a"}`)
	w.must("resources/subscribe", `{"uri":"x:b"}`)
	w.must("resources/unsubscribe", `{"uri":"x:a"}`)
	if err := s.ResourceUpdated(t.Context(), "x:panic"); err != nil { // nobody watches it
		t.Error(err)
	}
	if err := s.ResourceUpdated(t.Context(), "x:b"); err != nil {
		t.Error(err)
	}
	w.want(0, "notifications/resources/updated", "x:b")
	if err := s.Shutdown(t.Context()); err != nil { // ends x:b
		t.Fatal(err)
	}
	if n := strings.Count(logs.String(), "method=OnUnsubscribe"); n != 3 {
		t.Errorf("OnUnsubscribe was called %d times", n)
	}
}

// What a client answers is no reason for a panic, whatever code it has.
func TestCodesOfClientsAreTheirs(t *testing.T) {
	t.Parallel()
	var logs syncBuffer
	s := newServer(&server.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	err := s.AddPrompt(mcp.Prompt{Name: "p"}, func(ctx context.Context, _ *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
		_, err := server.CallFrom(ctx).Elicit(ctx, "k", form("k"))
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	w := dial(t, s)
	w.initialize(mcp.V20251125, everything)
	for _, code := range []int{mcp.CodeMissingCapability, rpc.CodeInvalidParams, -1, 0} {
		w.onRequest(func(context.Context, *rpc.Request) (any, error) { return nil, rpc.Errorf(code, "no") })
		w.wants(rpc.CodeInternalError, "prompts/get", `{"name":"p"}`)
	}
	if strings.Contains(logs.String(), "panicked") {
		t.Error(logs.String())
	}
}

// Leftovers of a handler are harmless: they send nothing, and do not touch the
// result.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	var call *server.Call
	stop, stopped := make(chan struct{}), make(chan struct{})
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
		call = server.CallFrom(ctx)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					call.Elicit(ctx, rpc.StringID(strings.Repeat("x", 3)).String(), form("late"))
					call.SetState(1)
				}
			}
		}()
		_, err := call.Elicit(ctx, "k", form("k"))
		return "", err
	})
	w := dial(t, s)
	w.must("tools/call", asking(`"name":"t"`))
	ctx := t.Context()
	if err := errors.Join(call.Log(ctx, mcp.LevelError, "late"), call.SetState(2)); err != nil {
		t.Error(err) // the client did not want logs
	}
	if call.Notify(ctx, "x/late", nil) == nil {
		t.Error("a notification behind the response")
	}
	if _, err := call.Elicit(ctx, "late", form("late")); err == nil || errors.Is(err, server.ErrInputRequired) {
		t.Errorf("a question behind the response: %v", err)
	}
	if call.ID().IsZero() || call.Client.Name != "" {
		t.Errorf("%v %v", call.ID(), call.Client)
	}
	close(stop)
	<-stopped
	if w.noted() != 0 {
		t.Error(w.note(0).Method)
	}
}

// Only modern clients can be asked with a result.
func TestForgedQuestions(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	err := s.AddTool(mcp.Tool{Name: "t", InputSchema: jsontext.Value(anyObject)},
		func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			res := &mcp.CallToolResult{}
			res.ResultType = mcp.ResultInputRequired
			res.InputRequests = mcp.InputRequests{"k": {Method: "roots/list", Params: jsontext.Value("{}")}}
			return res, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	w := dial(t, s)
	if raw := w.must("tools/call", asking(`"name":"t"`)); !strings.Contains(raw, `"inputRequests":{"k"`) {
		t.Error(raw)
	}
	w.initialize(mcp.V20251125, everything)
	w.wants(rpc.CodeInternalError, "tools/call", `{"name":"t"}`)
}
