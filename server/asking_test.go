package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// What is asked that is no form.
func TestSampleAndRoots(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
		c := server.CallFrom(ctx)
		roots, err := c.Roots(ctx, "roots")
		if err != nil {
			return "", err
		}
		res, err := c.Sample(ctx, "sample", &mcp.CreateMessageParams{MaxTokens: 5})
		if err != nil {
			return "", err
		}
		return roots.Roots[0].URI + " " + res.Model, nil
	})
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		w := dial(t, s)
		open(w)
		raw, rounds := w.converse(params, "tools/call", `"name":"t"`, nil)
		if text(t, raw) != "file:///w m" {
			t.Errorf("%s in %d rounds", raw, rounds)
		}
	})
	w := dial(t, s)
	for _, bad := range []string{
		`"roots":{}`, `"roots":7`, `"roots":{"roots":null}`, `"roots":{"roots":[]},"sample":{}`,
		`"roots":{"roots":[{"uri":"file:///w"}]},"sample":{"role":"assistant"}`, `"roots":{"roots":"secret"}`,
	} {
		if e := w.wants(rpc.CodeInvalidParams, "tools/call", asking(`"name":"t","inputResponses":{`+bad+`}`)); strings.Contains(e.Message, "secret") {
			t.Error(e)
		}
	}
}

// A question that its handler does not wait for any longer is withdrawn.
func TestQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	asked := make(chan struct{})
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
		short, cancel := context.WithCancel(ctx)
		go func() {
			<-asked
			cancel()
		}()
		_, err := server.CallFrom(ctx).Elicit(short, "k", form("k"))
		if !errors.Is(err, context.Canceled) {
			return "", err
		}
		return "done without", nil
	})
	w := dial(t, s)
	w.initialize(mcp.V20251125, everything)
	id := make(chan rpc.ID, 1)
	w.onRequest(func(ctx context.Context, req *rpc.Request) (any, error) {
		id <- req.ID
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if raw := w.must("tools/call", `{"name":"t"}`); text(t, raw) != "done without" {
		t.Error(raw)
	}
	w.want(0, "notifications/cancelled", `"requestId":`+(<-id).String())
	w.conn.Close()
}

// So is one whose request the client cancels, where nothing more can be sent for
// the request itself.
func TestQuestionOfACancelledRequest(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) { return interview(ctx) })
	w := dial(t, s)
	w.initialize(mcp.V20251125, everything)
	id := make(chan rpc.ID, 1)
	w.onRequest(func(ctx context.Context, req *rpc.Request) (any, error) {
		id <- req.ID
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(w.ctx)
	end := make(chan error, 1)
	go func() {
		req := &rpc.Request{ID: rpc.StringID("call"), Method: "tools/call", Params: jsontext.Value(`{"name":"t"}`)}
		end <- w.conn.Call(ctx, req, nil)
	}()
	question := <-id
	w.notify("notifications/cancelled", `{"requestId":"call"}`)
	w.want(0, "notifications/cancelled", `"requestId":`+question.String())
	cancel()
	<-end
	w.conn.Close()
}

func TestInitializeIsNotCancelled(t *testing.T) {
	t.Parallel()
	s := withEcho(nil)
	inside, finish := make(chan struct{}), make(chan struct{})
	s.Use(func(next server.Handler) server.Handler {
		return func(ctx context.Context, c *server.Call) (any, error) {
			res, err := next(ctx, c)
			if c.Method.Name == mcp.MethodInitialize {
				close(inside)
				<-finish
			}
			return res, err
		}
	})
	w := dial(t, s)
	end := make(chan error, 1)
	go func() {
		req := &rpc.Request{ID: rpc.IntID(3), Method: "initialize", Params: jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)}
		end <- w.conn.Call(w.ctx, req, nil)
	}()
	<-inside
	w.notify("notifications/cancelled", `{"requestId":3}`)
	w.must("ping", "") // is read after it
	close(finish)
	if err := <-end; err != nil {
		t.Errorf("initialize ended with %v", err)
	}
}

// Each method exists where its revision and what is offered say so.
func TestMethodsThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := withEcho(nil) // without Complete
	ref := `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`
	for _, v := range []mcp.Version{mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125} {
		w := dial(t, s)
		w.initialize(v, "{}")
		w.wants(rpc.CodeMethodNotFound, "completion/complete", ref)
		w.wants(rpc.CodeMethodNotFound, "subscriptions/listen", `{"notifications":{}}`)
		w.wants(rpc.CodeMethodNotFound, "resources/read", `{"uri":"x:a"}`)
	}
}

// "arguments": null is as good as no arguments.
func TestNoArguments(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(context.Context, struct{}) (string, error) { return "ok", nil })
	if err := s.AddTool(mcp.Tool{Name: "raw", InputSchema: jsontext.Value(anyObject)},
		func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(p.Arguments))}}, nil
		}); err != nil {
		t.Fatal(err)
	}
	err := s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		w := dial(t, s)
		open(w)
		for _, arguments := range []string{``, `,"arguments":null`, `,"arguments":{}`} {
			if raw := w.must("tools/call", params(`"name":"t"`+arguments)); text(t, raw) != "ok" {
				t.Errorf("%s: %s", arguments, raw)
			}
			if raw := w.must("tools/call", params(`"name":"raw"`+arguments)); text(t, raw) != "{}" {
				t.Errorf("%s: %s", arguments, raw)
			}
			if raw := w.must("prompts/get", params(`"name":"p"`+arguments)); !strings.Contains(raw, `"messages":[]`) {
				t.Errorf("%s: %s", arguments, raw)
			}
		}
		for _, bad := range []string{`[]`, `"x"`, `7`, `true`} {
			w.wants(rpc.CodeInvalidParams, "tools/call", params(`"name":"raw","arguments":`+bad))
		}
	})
}

// polling is the peer of a request whose client comes back.
type polling struct {
	bare
	retry time.Duration
}

func (p *polling) ClosePoll(retry time.Duration) error {
	p.retry = retry
	return nil
}

func TestClosePoll(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
		if err := server.CallFrom(ctx).ClosePoll(time.Second); !errors.Is(err, errors.ErrUnsupported) {
			return "polls", err
		}
		return "stays", nil
	})
	if raw := dial(t, s).must("tools/call", modern(`"name":"t"`)); text(t, raw) != "stays" {
		t.Error(raw)
	}
	p := &polling{}
	req := &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodToolsCall, Params: jsontext.Value(modern(`"name":"t"`))}
	if _, err := s.Bind(t.Context(), p).Handle(t.Context(), req, p); err != nil || p.retry != time.Second {
		t.Errorf("retry %v, %v", p.retry, err)
	}
}
