package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// listener is a modern server. A listen request waits until end brings a
// result or an error.
type listener struct {
	*fakeServer
	ids chan rpc.ID
	end chan error
}

func newListener(ack string) *listener {
	l := &listener{ids: make(chan rpc.ID, 9), end: make(chan error)}
	l.fakeServer = &fakeServer{script: func(ctx context.Context, s *fakeServer, req *rpc.Request) (any, error) {
		if req.Method != mcp.MethodListen {
			return greeting(mcp.V20260728, req)
		}
		l.event(mcp.NotificationToolsListChanged, req.ID, "") // before the acknowledgement: not to be heard
		if ack != "" {
			l.event(mcp.NotificationAcknowledged, req.ID, `"notifications":`+ack)
		}
		l.ids <- req.ID
		select {
		case err := <-l.end:
			return fmt.Sprintf(`{"resultType":"complete","_meta":{%q:%s}}`, mcp.MetaSubscriptionID, req.ID), err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	return l
}

// event sends a notification of a subscription.
func (l *listener) event(method string, id rpc.ID, members string) {
	if members != "" {
		members = "," + members
	}
	l.notify(method, fmt.Sprintf(`{"_meta":{%q:%s}%s}`, mcp.MetaSubscriptionID, id, members))
}

func TestSubscribeModern(t *testing.T) {
	t.Parallel()
	s := newListener(`{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}`)
	heard := make(chan string, 99)
	c := connect(t, s.fakeServer, &client.Options{
		OnToolsChanged:    func(context.Context) { heard <- "tools" },
		OnResourceUpdated: func(_ context.Context, uri string) { heard <- uri },
		OnPromptsChanged:  func(context.Context) { heard <- "prompts" },
	})
	want := mcp.Filter{ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{"a:b"}}
	sub, err := c.Subscribe(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	want.PromptsListChanged = false
	if diff := cmp.Diff(want, sub.Filter()); diff != "" {
		t.Error(diff)
	}
	id := await(t, s.ids, "the request")
	req := s.sent(mcp.MethodListen)[0]
	if member(t, req.Params, "notifications") != `{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"]}` ||
		member(t, req.Params, "_meta", mcp.MetaProtocolVersion) == "" {
		t.Errorf("%s", req.Params)
	}
	s.event(mcp.NotificationResourceUpdated, rpc.StringID(id.String()), `"uri":"wrong:type"`)
	s.event(mcp.NotificationResourceUpdated, rpc.IntID(999), `"uri":"wrong:id"`)
	s.notify(mcp.NotificationResourceUpdated, `{"uri":"no:id"}`)
	s.event(mcp.NotificationResourceUpdated, id, `"uri":"a:b"`)
	s.event(mcp.NotificationToolsListChanged, id, "")
	got := []string{await(t, heard, "an event"), await(t, heard, "an event")}
	if diff := cmp.Diff([]string{"a:b", "tools"}, got); diff != "" {
		t.Error(diff)
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
	await(t, sub.Done(), "the end")
	if err := sub.Err(); err != nil {
		t.Error(err)
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
	s.event(mcp.NotificationToolsListChanged, id, "")
	c.Close()
	if len(heard) > 0 {
		t.Errorf("heard %s after the end", <-heard)
	}
	cancelled := s.sent(mcp.NotificationCancelled)
	if len(cancelled) != 1 || member(t, cancelled[0].Params, "requestId") != id.String() {
		t.Errorf("cancellations: %v", cancelled)
	}
}

func TestSubscriptionEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("stream broke")
	for name, tt := range map[string]struct {
		end func(s *listener, c *client.Client, id rpc.ID)
		err error
	}{
		"result": {func(s *listener, _ *client.Client, _ rpc.ID) { s.end <- nil }, nil},
		"broken": {func(s *listener, _ *client.Client, _ rpc.ID) { s.end <- broken }, broken},
		"cancelled, then the result": {func(s *listener, _ *client.Client, id rpc.ID) {
			s.notify(mcp.NotificationCancelled, fmt.Sprintf(`{"requestId":%s}`, id))
			s.end <- nil
		}, nil},
		"client closed": {func(_ *listener, c *client.Client, _ rpc.ID) { c.Close() }, rpc.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newListener(`{}`)
			c := connect(t, s.fakeServer, nil)
			sub, err := c.Subscribe(t.Context(), mcp.Filter{ToolsListChanged: true})
			if err != nil {
				t.Fatal(err)
			}
			other, err := c.Subscribe(t.Context(), mcp.Filter{PromptsListChanged: true})
			if err != nil {
				t.Fatal(err)
			}
			first, second := await(t, s.ids, "a request"), await(t, s.ids, "another")
			_ = second
			tt.end(s, c, first)
			ended, alive := sub, other
			select {
			case <-sub.Done():
			case <-other.Done():
				ended, alive = other, sub
			case <-time.After(10 * time.Second):
				t.Fatal("none ended")
			}
			if !errors.Is(ended.Err(), tt.err) || (ended.Err() == nil) != (tt.err == nil) {
				t.Errorf("ended with %v", ended.Err())
			}
			if name == "client closed" {
				await(t, alive.Done(), "the other end")
				return
			}
			if alive.Err() != nil {
				t.Errorf("the other: %v", alive.Err())
			}
		})
	}
}

func TestSubscribeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newListener("") // never agrees
		c := connect(t, s.fakeServer, nil)
		defer c.Close()
		start := time.Now()
		if sub, err := c.Subscribe(t.Context(), mcp.Filter{}); !errors.Is(err, client.ErrTimeout) || sub != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Subscribe(ctx, mcp.Filter{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		synctest.Wait()
		if n := len(s.sent(mcp.NotificationCancelled)); n != 2 {
			t.Errorf("%d cancellations", n)
		}
	})
	for name, end := range map[string]error{"result": nil, "error": errNoMethod} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newListener("")
			c := connect(t, s.fakeServer, nil)
			go func() { s.end <- end }()
			if sub, err := c.Subscribe(t.Context(), mcp.Filter{}); err == nil || sub != nil || end != nil && !errors.Is(err, end) {
				t.Error(err)
			}
		})
	}
}

func TestSubscribeLegacy(t *testing.T) {
	t.Parallel()
	var refuse string
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		switch req.Method {
		case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
			if uri := unquote(member(t, req.Params, "uri")); uri == refuse {
				return nil, mcp.ResourceNotFound(uri, mcp.V20251125)
			}
			return `{}`, nil
		}
		return greeting(mcp.V20251125, req)
	}}
	heard := make(chan string, 9)
	c := connect(t, s, &client.Options{OnResourceUpdated: func(_ context.Context, uri string) { heard <- uri }})
	ctx := t.Context()
	trail := func() []string {
		var out []string
		for _, r := range s.sent("") {
			if what, ok := strings.CutPrefix(r.Method, "resources/"); ok {
				out = append(out, what+" "+unquote(member(t, r.Params, "uri")))
			}
		}
		s.mu.Lock()
		s.log = nil
		s.mu.Unlock()
		return out
	}
	check := func(want ...string) {
		t.Helper()
		if got := trail(); !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
	one, err := c.Subscribe(ctx, mcp.Filter{ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{"a:", "b:"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mcp.Filter{ToolsListChanged: true, ResourceSubscriptions: []string{"a:", "b:"}}, one.Filter()); diff != "" {
		t.Error(diff)
	}
	check("subscribe a:", "subscribe b:")
	two, err := c.Subscribe(ctx, mcp.Filter{ResourceSubscriptions: []string{"b:", "c:"}})
	if err != nil {
		t.Fatal(err)
	}
	check("subscribe c:")
	s.notify(mcp.NotificationResourceUpdated, `{"uri":"a:"}`)
	if got := await(t, heard, "the update"); got != "a:" {
		t.Error(got)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	check("unsubscribe a:")
	refuse = "no:"
	if _, err := c.Subscribe(ctx, mcp.Filter{ResourceSubscriptions: []string{"a:", "b:", "no:", "d:"}}); !mcp.IsNotFound(err, "no:") {
		t.Error(err)
	}
	check("subscribe a:", "subscribe no:", "unsubscribe a:")
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	check("unsubscribe b:", "unsubscribe c:")
	three, err := c.Subscribe(ctx, mcp.Filter{ToolsListChanged: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	await(t, three.Done(), "the end")
	if !errors.Is(three.Err(), rpc.ErrClosed) {
		t.Error(three.Err())
	}
	if _, err := c.Subscribe(ctx, mcp.Filter{}); !errors.Is(err, rpc.ErrClosed) {
		t.Error(err)
	}
}
