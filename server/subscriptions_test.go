package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

func readNothing(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{}, nil
}

// withResources has an echo tool and two resources, x:a and x:b.
func withResources(t *testing.T, opts *server.Options) *server.Server {
	t.Helper()
	s := withEcho(opts)
	for _, uri := range []string{"x:a", "x:b"} {
		if err := s.AddResource(mcp.Resource{URI: uri, Name: uri}, readNothing); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// listen sends subscriptions/listen with the ID and returns how it ended.
func (w *wire) listen(ctx context.Context, id rpc.ID, filter string) <-chan error {
	done := make(chan error, 1)
	go func() {
		req := &rpc.Request{ID: id, Method: "subscriptions/listen", Params: jsontext.Value(modern(`"notifications":` + filter))}
		var res mcp.ListenResult
		err := w.conn.Call(ctx, req, &res)
		if err == nil && (res.Meta.SubscriptionID() != id || res.ResultType != mcp.ResultComplete) {
			err = fmt.Errorf("the result is of another subscription: %+v", res)
		}
		done <- err
	}()
	return done
}

func TestListen(t *testing.T) {
	t.Parallel()
	s := withResources(t, nil)
	w := dial(t, s)
	id := rpc.IntID(4711)
	done := w.listen(w.ctx, id, `{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x:a","x:a","y:z"]}`)
	sub := `"io.modelcontextprotocol/subscriptionId":4711`
	w.want(0, "notifications/subscriptions/acknowledged", sub, `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a","y:z"]}`)

	ctx := t.Context()
	for _, uri := range []string{"x:b", "x:a"} { // nobody watches the first
		if err := s.ResourceUpdated(ctx, uri); err != nil {
			t.Fatal(err)
		}
	}
	w.want(1, "notifications/resources/updated", sub, `"uri":"x:a"`)
	s.RemoveResources("x:b") // was not asked for
	s.RemoveTools("nope")    // changes nothing
	s.RemoveTools("echo")
	w.want(2, "notifications/tools/list_changed", sub)

	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("listen ended with %v", err)
	}
	w.want(3, "notifications/cancelled", `"requestId":4711`)
	if w.noted() != 4 {
		t.Errorf("%d notifications, the last is %s", w.noted(), w.note(w.noted()-1).Method)
	}
}

func TestListenIsCancelled(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var hooks []string
	note := func(what, uri string) {
		mu.Lock()
		defer mu.Unlock()
		hooks = append(hooks, what+uri)
	}
	s := withResources(t, &server.Options{
		OnSubscribe: func(_ context.Context, uri string) error {
			if uri == "x:secret" {
				return rpc.Errorf(-7, "not yours")
			}
			note("+", uri)
			return nil
		},
		OnUnsubscribe: func(_ context.Context, uri string) { note("-", uri) },
	})
	w := dial(t, s)
	ctx, cancel := context.WithCancel(w.ctx)
	id := rpc.StringID("a")
	done := w.listen(ctx, id, `{"resourceSubscriptions":["x:a"]}`)
	w.want(0, "notifications/subscriptions/acknowledged", `subscriptionId":"a"`)
	w.notify("notifications/cancelled", `{"requestId":"a","reason":"enough"}`)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.wants(-7, "subscriptions/listen", modern(`"notifications":{"resourceSubscriptions":["x:b","x:secret"]}`))
	w.wants(rpc.CodeInvalidParams, "subscriptions/listen", modern(`"notifications":7`))
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(hooks)
	if got := strings.Join(hooks, " "); got != "+x:a +x:b -x:a -x:b" {
		t.Errorf("hooks: %s", got)
	}
}

func TestAcknowledgementComesFirst(t *testing.T) {
	t.Parallel()
	s := withResources(t, nil)
	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.ResourceUpdated(context.Background(), "x:a")
			}
		}
	})
	w := dial(t, s)
	const n = 50
	var ends []<-chan error
	for i := range n {
		ends = append(ends, w.listen(w.ctx, rpc.IntID(int64(1000+i)), `{"resourceSubscriptions":["x:a"]}`))
	}
	seen := map[rpc.ID]bool{}
	for i := 0; len(seen) < n; i++ {
		req := w.note(i)
		p := decode[mcp.Params](t, string(req.Params))
		id := p.Meta.SubscriptionID()
		if first := !seen[id]; first != (req.Method == mcp.NotificationAcknowledged) {
			t.Fatalf("subscription %v: %s, first: %v", id, req.Method, first)
		}
		seen[id] = true
	}
	close(stop)
	changes.Wait()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, end := range ends {
		if err := <-end; err != nil {
			t.Fatal(err)
		}
	}
}

func TestLegacySubscriptions(t *testing.T) {
	t.Parallel()
	s := withResources(t, nil)
	w := dial(t, s)
	w.must("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	s.RemoveTools("echo") // before the client is ready: told when it is
	w.notify("notifications/initialized", "")
	w.want(0, "notifications/tools/list_changed")
	w.notify("notifications/initialized", "") // said twice

	w.wants(rpc.CodeInvalidParams, "resources/subscribe", "")
	if got := w.must("resources/subscribe", `{"uri":"x:a"}`); got != "{}" {
		t.Errorf("subscribe: %s", got)
	}
	s.ResourceUpdated(t.Context(), "x:b")
	s.ResourceUpdated(t.Context(), "x:a")
	w.want(1, "notifications/resources/updated", `{"uri":"x:a"}`)
	w.must("resources/unsubscribe", `{"uri":"x:a"}`)
	s.ResourceUpdated(t.Context(), "x:a")
	if err := s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	} // the session was not told of prompts
	s.RemoveResources("x:a")
	w.want(2, "notifications/resources/list_changed")
}

func TestSubscriptionLimits(t *testing.T) {
	t.Parallel()
	s := withResources(t, &server.Options{Limits: server.Limits{Subscriptions: 1, Listeners: 1}})
	w := dial(t, s)
	w.initialize(mcp.V20251125, "{}")
	w.must("resources/subscribe", `{"uri":"x:a"}`)
	w.must("resources/subscribe", `{"uri":"x:a"}`)
	w.wants(rpc.CodeInvalidParams, "resources/subscribe", `{"uri":"x:b"}`)
	w.wants(rpc.CodeInvalidParams, "subscriptions/listen", modern(`"notifications":{"resourceSubscriptions":["x:a","x:b"]}`))
	done := w.listen(w.ctx, rpc.IntID(77), `{"toolsListChanged":true}`)
	w.note(0)
	w.wants(rpc.CodeInternalError, "subscriptions/listen", modern(`"notifications":{}`))
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// stuck is a connection whose client takes nothing until it is let go.
type stuck struct {
	bare
	free chan struct{}
	mu   sync.Mutex
	sent []string
}

func (c *stuck) Notify(_ context.Context, req *rpc.Request) error {
	<-c.free
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, req.Method)
	return nil
}

func TestSlowSubscriberBlocksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := withResources(t, &server.Options{Limits: server.Limits{QueuedLogs: 2, QueuedUpdates: 2}})
		conn := &stuck{free: make(chan struct{})}
		h := s.Bind(t.Context(), conn)
		handle := func(id int64, method, params string) {
			req := &rpc.Request{Method: method, Params: jsontext.Value(params)}
			if id > 0 {
				req.ID = rpc.IntID(id)
			}
			if _, err := h.Handle(t.Context(), req, conn); err != nil {
				t.Error(err)
			}
		}
		handle(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		handle(0, "notifications/initialized", "")
		handle(2, "resources/subscribe", `{"uri":"x:a"}`)
		handle(3, "resources/subscribe", `{"uri":"x:b"}`)
		for i := range 300 {
			server.AddTool(s, mcp.Tool{Name: fmt.Sprint("t", i)}, echo)
			s.ResourceUpdated(t.Context(), "x:a")
			s.ResourceUpdated(t.Context(), "x:b")
			if err := s.Log(t.Context(), mcp.LevelError, "", i); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		close(conn.free)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		conn.mu.Lock()
		defer conn.mu.Unlock()
		counts := map[string]int{}
		for _, m := range conn.sent {
			counts[m]++
		}
		if counts["notifications/tools/list_changed"] > 2 || counts["notifications/tools/list_changed"] == 0 ||
			counts["notifications/resources/updated"] > 4 || counts["notifications/message"] > 4 {
			t.Errorf("not coalesced: %v", counts)
		}
	})
}

func TestEveryUpdateIsTold(t *testing.T) {
	t.Parallel()
	s := withResources(t, nil)
	w := dial(t, s)
	w.initialize(mcp.V20251125, "{}")
	w.must("resources/subscribe", `{"uri":"x:a"}`)
	for range 100 {
		s.ResourceUpdated(t.Context(), "x:a")
	}
	for i := range 100 {
		w.want(i, "notifications/resources/updated", "x:a")
	}
}

func TestListChangesAreToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := withEcho(nil)
		w := dial(t, s)
		w.initialize(mcp.V20251125, "{}")
		for i := range 100 {
			server.AddTool(s, mcp.Tool{Name: fmt.Sprint("t", i)}, echo)
		}
		w.want(0, "notifications/tools/list_changed")
		list := decode[mcp.ListToolsResult](t, w.must("tools/list", ""))
		if len(list.Tools) != 101 || w.noted() != 1 {
			t.Errorf("%d tools, told %d times", len(list.Tools), w.noted())
		}
	})
}
