package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// counter is a modern server whose cacheable results count its answers.
type counter struct {
	*fakeServer
	n     int
	ttl   string
	scope string
	wait  chan struct{} // where set, answers wait for it
}

func newCounter(ttl, scope string) *counter {
	c := &counter{ttl: ttl, scope: scope}
	c.fakeServer = &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		hints := fmt.Sprintf(`"resultType":"complete","ttlMs":%s,"cacheScope":%q`, c.ttl, c.scope)
		switch req.Method {
		case mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead:
			c.n++
		default:
			return greeting(mcp.V20260728, req)
		}
		if c.wait != nil {
			<-c.wait
		}
		if req.Method == mcp.MethodResourcesRead {
			return fmt.Sprintf(`{%s,"contents":[{"uri":"a:b","text":"%d"}]}`, hints, c.n), nil
		}
		if strings.Contains(string(req.Params), `"cursor":"bad"`) {
			return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "cursor"}
		}
		return fmt.Sprintf(`{%s,"tools":[],"prompts":[],"resources":[],"resourceTemplates":[]}`, hints), nil
	}}
	return c
}

func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newCounter("1000", "private")
		auth := "me"
		c := connect(t, s.fakeServer, &client.Options{AuthKey: func() string { return auth }, Output: client.SkipOutput})
		defer c.Close()
		ctx := t.Context()
		lists := map[string]func() error{
			mcp.MethodToolsList:             func() error { _, err := c.ListTools(ctx, nil); return err },
			mcp.MethodPromptsList:           func() error { _, err := c.ListPrompts(ctx, nil); return err },
			mcp.MethodResourcesList:         func() error { _, err := c.ListResources(ctx, nil); return err },
			mcp.MethodResourceTemplatesList: func() error { _, err := c.ListResourceTemplates(ctx, nil); return err },
			mcp.MethodResourcesRead:         func() error { _, err := c.ReadResource(ctx, "a:b"); return err },
		}
		step := func(name string, fn func() error, asked bool) {
			t.Helper()
			before := s.n
			if err := fn(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if (s.n > before) != asked {
				t.Errorf("%s: asked the server: %v, want %v", name, s.n > before, asked)
			}
		}
		for name, fn := range lists {
			step(name, fn, true)
			step(name+" again", fn, false)
		}
		step("another cursor", func() error {
			cursor := ""
			_, err := c.ListTools(ctx, &mcp.ListToolsParams{Cursor: &cursor})
			return err
		}, true)
		step("another uri", func() error { _, err := c.ReadResource(ctx, "a:c"); return err }, true)
		step("with _meta only", func() error {
			_, err := c.ListTools(ctx, nil, client.WithMeta(mcp.Meta{"x": []byte(`1`)}))
			return err
		}, false)
		step("uncached", func() error { _, err := c.ListTools(ctx, nil, client.Uncached()); return err }, true)

		for notification, methods := range map[string][]string{
			mcp.NotificationToolsListChanged:     {mcp.MethodToolsList},
			mcp.NotificationPromptsListChanged:   {mcp.MethodPromptsList},
			mcp.NotificationResourcesListChanged: {mcp.MethodResourcesList, mcp.MethodResourceTemplatesList},
		} {
			s.notify(notification, `{}`)
			for _, m := range methods {
				step(m+" after "+notification, lists[m], true)
			}
		}
		step("read, not touched", lists[mcp.MethodResourcesRead], false)
		s.notify(mcp.NotificationResourceUpdated, `{"uri":"z:"}`)
		step("read after another changed", lists[mcp.MethodResourcesRead], false)
		s.notify(mcp.NotificationResourceUpdated, `{"uri":"a:b/part"}`)
		step("read after a part changed", lists[mcp.MethodResourcesRead], true)

		auth = "you"
		step("somebody else", lists[mcp.MethodToolsList], true)
		auth = "me"
		step("the first again", lists[mcp.MethodToolsList], false)

		time.Sleep(time.Second) //nolint:forbidigo // the time of the bubble
		step("stale", lists[mcp.MethodToolsList], true)

		bad := "bad"
		if _, err := c.ListTools(ctx, &mcp.ListToolsParams{Cursor: &bad}); err == nil {
			t.Error("a bad cursor was taken")
		}
		step("after a bad cursor", lists[mcp.MethodToolsList], true)
	})
}

func TestCacheHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			ttl    string
			after  time.Duration
			cached bool
		}{
			{"0", 0, false},
			{"-1", 0, false},
			{"1", 0, true},
			{"9223372036854775807", 23 * time.Hour, true},
			{"9223372036854775807", 24 * time.Hour, false},
		} {
			s := newCounter(tt.ttl, "public")
			auth := "me"
			c := connect(t, s.fakeServer, &client.Options{AuthKey: func() string { return auth }})
			list := func() {
				if _, err := c.ListPrompts(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			list()
			auth = "you"         // public: shared
			time.Sleep(tt.after) //nolint:forbidigo // the time of the bubble
			if list(); (s.n == 1) != tt.cached {
				t.Errorf("ttlMs %s: %d requests", tt.ttl, s.n)
			}
			c.Close()
		}
	})
}

// A result that was asked for before the change is not fresh after it.
func TestCacheRace(t *testing.T) {
	t.Parallel()
	s := newCounter("100000", "private")
	c := connect(t, s.fakeServer, nil)
	s.wait = make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := c.ListTools(t.Context(), nil)
		done <- err
	}()
	for len(s.sent(mcp.MethodToolsList)) == 0 {
		<-time.After(time.Millisecond)
	}
	s.notify(mcp.NotificationToolsListChanged, `{}`)
	close(s.wait)
	if err := await(t, done, "the list"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListTools(t.Context(), nil); err != nil || s.n != 2 {
		t.Errorf("%d requests, error %v", s.n, err)
	}
}

func TestCacheBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits client.Limits
		kept   bool // the last one
		first  bool
	}{
		"default": {client.Limits{}, true, true},
		"entries": {client.Limits{CacheEntries: 2}, true, false},
		"bytes":   {client.Limits{CacheBytes: 300}, true, false},
		"tiny":    {client.Limits{CacheBytes: 10}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCounter("100000", "private")
			c := connect(t, s.fakeServer, &client.Options{Limits: tt.limits})
			read := func(uri string) bool {
				before := s.n
				if _, err := c.ReadResource(t.Context(), uri); err != nil {
					t.Fatal(err)
				}
				return s.n == before
			}
			for i := range 4 {
				read(fmt.Sprint("a:", i))
			}
			if got := read("a:3"); got != tt.kept {
				t.Errorf("the last is kept: %v", got)
			}
			if got := read("a:0"); got != tt.first {
				t.Errorf("the first is kept: %v", got)
			}
		})
	}
}

// A result that came of answers is of these answers alone.
func TestRetryIsNotCached(t *testing.T) {
	t.Parallel()
	const hints = `"ttlMs":100000,"cacheScope":"public"`
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		if req.Method != mcp.MethodResourcesRead {
			return greeting(mcp.V20260728, req)
		}
		if member(t, req.Params, "requestState") == "" {
			return `{"resultType":"input_required","requestState":"s"}`, nil
		}
		return `{"resultType":"complete",` + hints + `,"contents":[{"uri":"a:b","text":"x"}]}`, nil
	}}
	c := connect(t, s, nil)
	for range 2 {
		if _, err := c.ReadResource(t.Context(), "a:b"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.sent(mcp.MethodResourcesRead)); n != 4 {
		t.Errorf("%d requests, want two for each read", n)
	}
}

// What the legacy era says about freshness is not known to be true.
func TestNoLegacyCache(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20251125, map[string]string{"tools/list": `{"tools":[],"ttlMs":100000,"cacheScope":"public"}`})}
	c := connect(t, s, nil)
	for range 2 {
		if _, err := c.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.sent("tools/list")); n != 2 {
		t.Errorf("%d requests", n)
	}
}
