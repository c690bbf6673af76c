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

// far is the other end of a connection that a test holds both ends of.
type far struct {
	bare
	mu    sync.Mutex
	notes []*rpc.Request
	stuck chan struct{} // nothing is taken before it is closed; nil = all is taken
}

func (f *far) Notify(ctx context.Context, req *rpc.Request) error {
	if f.stuck != nil {
		select {
		case <-f.stuck:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, req)
	return nil
}

func (f *far) methods() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, n := range f.notes {
		all = append(all, strings.TrimPrefix(n.Method, "notifications/"))
	}
	return strings.Join(all, " ")
}

func listenRequest(filter string) *rpc.Request {
	return &rpc.Request{ID: rpc.IntID(7), Method: "subscriptions/listen", Params: jsontext.Value(modern(`"notifications":` + filter))}
}

// A listen request ends with its result when the connection ends in good order:
// with the request's own context, as over HTTP, or before it, as when stdin ends.
func TestListenEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		conn, request bool // what ends
		ok            bool
	}{
		{"input ends", true, false, true},
		{"both end", true, true, true},
		{"the client cancels", false, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // what ended is seen in any order
				if err := endOfListen(t, tc.conn, tc.request); (err == nil) != tc.ok {
					t.Fatalf("ended with %v", err)
				}
			}
		})
	}
}

// endOfListen returns how a listen request ends when the contexts do.
func endOfListen(t *testing.T, endConn, endRequest bool) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := withResources(t, nil)
		connCtx, stopConn := context.WithCancel(t.Context())
		reqCtx, stopRequest := context.WithCancel(t.Context())
		defer stopConn()
		defer stopRequest()
		conn := &stuck{free: make(chan struct{})} // so that all has ended when it looks
		h := s.Bind(connCtx, conn)
		end := make(chan error, 1)
		req := listenRequest(`{"resourceSubscriptions":["x:a"]}`)
		req.Header = map[string][]string{} // over HTTP there is nothing to cancel
		go func() {
			res, err := h.Handle(reqCtx, req, conn)
			if r, ok := res.(*mcp.ListenResult); err == nil && (!ok || r.Meta.SubscriptionID() != req.ID) {
				err = fmt.Errorf("ended with %v", res)
			}
			end <- err
		}()
		synctest.Wait()
		if endConn {
			stopConn()
		}
		if endRequest {
			stopRequest()
		}
		close(conn.free)
		err = <-end
	})
	return err
}

func TestSlowListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := withResources(t, &server.Options{Limits: server.Limits{QueuedUpdates: 5}})
		slow, quick := &far{stuck: make(chan struct{})}, &far{}
		end := make(chan error, 2)
		for _, conn := range []*far{slow, quick} {
			h := s.Bind(t.Context(), conn)
			go func() {
				_, err := h.Handle(t.Context(), listenRequest(`{"resourceSubscriptions":["x:a"],"toolsListChanged":true}`), conn)
				end <- err
			}()
		}
		synctest.Wait()
		for range 20 {
			if err := s.ResourceUpdated(t.Context(), "x:a"); err != nil {
				t.Error(err)
			}
			s.RemoveTools("echo")
			server.AddTool(s, mcp.Tool{Name: "echo"}, echo)
			synctest.Wait() // the quick one keeps up
		}
		updates := func(f *far) int { return strings.Count(f.methods(), "resources/updated") }
		if n := updates(quick); n != 20 {
			t.Errorf("the quick one was told %d of 20 changes", n)
		}
		if slow.methods() != "" {
			t.Errorf("the slow one took %s", slow.methods())
		}
		close(slow.stuck)
		synctest.Wait()
		if n := updates(slow); n != 5 || !strings.HasPrefix(slow.methods(), "subscriptions/acknowledged ") {
			t.Errorf("the slow one was told %d times: %s", n, slow.methods())
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := errors.Join(<-end, <-end); err != nil {
			t.Error(err)
		}
		if !strings.HasSuffix(slow.methods(), " cancelled") {
			t.Error(slow.methods())
		}
	})
}

// Legacy sessions share the text of an event.
func TestEventsAreEncodedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := withResources(t, nil)
		conns := []*far{{}, {}, {}}
		for i, conn := range conns {
			openLegacy(t, s.Bind(t.Context(), conn), conn, i)
		}
		if err := errors.Join(s.ResourceUpdated(t.Context(), "x:a"), s.Log(t.Context(), mcp.LevelError, "db", "down")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i := range 2 {
			first := conns[0].notes[i].Params
			for _, conn := range conns[1:] {
				if got := conn.notes[i].Params; &got[0] != &first[0] || string(got) != string(first) {
					t.Errorf("%s was encoded again: %s", conn.notes[i].Method, got)
				}
			}
		}
		if got := string(conns[0].notes[1].Params); got != `{"level":"error","logger":"db","data":"down"}` {
			t.Error(got)
		}
	})
}

// openLegacy opens a session that watches x:a.
func openLegacy(t *testing.T, h rpc.Handler, peer rpc.Peer, i int) {
	t.Helper()
	for n, r := range []rpc.Request{
		{ID: rpc.IntID(1), Method: "initialize", Params: jsontext.Value(fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c%d","version":"1"}}`, i))},
		{Method: "notifications/initialized"},
		{ID: rpc.IntID(2), Method: "resources/subscribe", Params: jsontext.Value(`{"uri":"x:a"}`)},
	} {
		if _, err := h.Handle(t.Context(), &r, peer); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
	}
}

// counts has the balance of the hooks.
type counts struct {
	mu  sync.Mutex
	uri map[string]int
}

func (c *counts) add(uri string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uri == nil {
		c.uri = map[string]int{}
	}
	c.uri[uri] += n
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for uri, n := range c.uri {
		all = append(all, fmt.Sprint(uri, "=", n))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Whatever a client does at once, each OnSubscribe that allowed something has its
// OnUnsubscribe when the connection is over.
func TestHooksAreBalanced(t *testing.T) {
	t.Parallel()
	var n counts
	s := withResources(t, &server.Options{
		Limits:        server.Limits{Subscriptions: 2},
		OnSubscribe:   func(_ context.Context, uri string) error { n.add(uri, 1); return nil },
		OnUnsubscribe: func(_ context.Context, uri string) { n.add(uri, -1) },
	})
	w := dial(t, s)
	w.initialize(mcp.V20251125, "{}")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 30 {
				uri := fmt.Sprintf(`{"uri":"x:%d"}`, (i+j)%4)
				method := "resources/subscribe"
				if j%3 == 2 {
					method = "resources/unsubscribe"
				}
				_, _ = w.send(method, uri) // there may be no room
			}
		})
	}
	all.Wait()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := n.String(); got != "x:0=0 x:1=0 x:2=0 x:3=0" {
		t.Errorf("still begun: %s", got)
	}
}

// Nothing is told of a resource that the hook has not allowed yet.
func TestHookComesBeforeEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		asked, allow := make(chan struct{}), make(chan error)
		s := withResources(t, &server.Options{OnSubscribe: func(context.Context, string) error {
			close(asked)
			return <-allow
		}})
		w := dial(t, s)
		open(w)
		end := make(chan error, 1)
		go func() {
			if strings.Contains(params(""), "_meta") {
				end <- <-w.listen(w.ctx, rpc.IntID(9), `{"resourceSubscriptions":["x:a"]}`)
				return
			}
			_, err := w.send("resources/subscribe", `{"uri":"x:a"}`)
			end <- err
		}()
		<-asked
		if err := s.ResourceUpdated(t.Context(), "x:a"); err != nil {
			t.Error(err)
		}
		allow <- rpc.Errorf(-7, "not yours")
		if err := <-end; !errors.Is(err, &rpc.Error{Code: -7}) {
			t.Errorf("got %v", err)
		}
		if err := s.ResourceUpdated(t.Context(), "x:a"); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if w.noted() != 0 {
			t.Errorf("told of %s", w.note(0).Params)
		}
	})
}

// A session that ended watches nothing more, and whoever it asked is told so.
func TestSubscribeAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n counts
		asked, allow := make(chan struct{}, 1), make(chan struct{})
		s := withResources(t, &server.Options{
			OnSubscribe: func(_ context.Context, uri string) error {
				n.add(uri, 1)
				if uri == "x:slow" {
					asked <- struct{}{}
					<-allow
				}
				return nil
			},
			OnUnsubscribe: func(_ context.Context, uri string) { n.add(uri, -1) },
		})
		ctx, hangUp := context.WithCancel(t.Context())
		conn := &far{}
		h := s.Bind(ctx, conn)
		openLegacy(t, h, conn, 0)
		end := make(chan error, 1)
		go func() {
			req := &rpc.Request{ID: rpc.IntID(3), Method: "resources/subscribe", Params: jsontext.Value(`{"uri":"x:slow"}`)}
			_, err := h.Handle(t.Context(), req, conn)
			end <- err
		}()
		<-asked
		hangUp()
		synctest.Wait()
		close(allow)
		if err := <-end; err == nil {
			t.Error("subscribed for nobody")
		}
		if got := n.String(); got != "x:a=0 x:slow=0" {
			t.Errorf("still begun: %s", got)
		}
	})
}

// Shutdown waits for the hooks of the sessions that it ends.
func TestShutdownWaitsForHooks(t *testing.T) {
	t.Parallel()
	var n counts
	s := withResources(t, &server.Options{
		OnSubscribe:   func(_ context.Context, uri string) error { n.add(uri, 1); return nil },
		OnUnsubscribe: func(_ context.Context, uri string) { n.add(uri, -1) },
	})
	for range 20 {
		w := dial(t, s)
		w.initialize(mcp.V20251125, "{}")
		w.must("resources/subscribe", `{"uri":"x:a"}`)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := n.String(); got != "x:a=0" {
		t.Error(got)
	}
}
