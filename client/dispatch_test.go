package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

func subscribe(t *testing.T, c *client.Client, f mcp.Filter) *client.Subscription {
	t.Helper()
	sub, err := c.Subscribe(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20251125, map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","serverInfo":{"name":"fake","version":"1"},"capabilities":{
			"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}}`,
		"resources/subscribe": `{}`,
	})}
	var mu sync.Mutex
	var heard []string
	done := make(chan struct{})
	hear := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, fmt.Sprintf(format, args...))
	}
	var log bytes.Buffer
	c := connect(t, s, &client.Options{
		Logger:             slog.New(slog.NewTextHandler(&log, nil)),
		OnLog:              func(_ context.Context, p *mcp.LogParams) { hear("log %s %s", p.Level, p.Data) },
		OnToolsChanged:     func(context.Context) { hear("tools"); panic("of the user") },
		OnPromptsChanged:   func(context.Context) { hear("prompts") },
		OnResourcesChanged: func(context.Context) { hear("resources") },
		OnResourceUpdated:  func(_ context.Context, uri string) { hear("updated %s", uri) },
		OnNotification: func(_ context.Context, method string, params jsontext.Value) {
			hear("%s %s", method, params)
			if method == "last" {
				close(done)
			}
		},
	})
	changes := []string{
		mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged,
	}
	for _, method := range changes { // nobody has subscribed
		s.notify(method, ``)
	}
	s.notify(mcp.NotificationResourceUpdated, `{"uri":"a:"}`)
	subscribe(t, c, mcp.Filter{
		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"a:"},
	})
	for _, n := range [][2]string{
		{mcp.NotificationMessage, `{"level":"info","data":{"a":1}}`},
		{mcp.NotificationToolsListChanged, ``},
		{mcp.NotificationMessage, `not JSON`},
		{mcp.NotificationResourceUpdated, `[]`},
		{mcp.NotificationPromptsListChanged, `{}`},
		{mcp.NotificationResourcesListChanged, `{"_meta":{}}`},
		{mcp.NotificationResourceUpdated, `{"uri":"a:"}`},
		{mcp.NotificationElicitationComplete, `{"elicitationId":"1"}`},
		{mcp.NotificationAcknowledged, `{}`},
		{mcp.MethodPing, ``}, // a request without an ID
		{"notifications/x", `{"y":2}`},
		{"last", ``},
	} {
		s.notify(n[0], n[1])
	}
	await(t, done, "the last")
	want := []string{
		`log info {"a":1}`, "tools", "prompts", "resources", "updated a:",
		`notifications/elicitation/complete {"elicitationId":"1"}`, "ping ", `notifications/x {"y":2}`, "last ",
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(log.String(), "of the user") {
		t.Error("the panic was not logged")
	}
}

// Nothing is lost, and changes that wait are told once.
func TestFlood(t *testing.T) {
	t.Parallel()
	const n = 2000
	s := &fakeServer{script: answers(mcp.V20251125, map[string]string{"ping": `{}`})}
	first, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	logs, tools := 0, 0 // by the one goroutine of callbacks, read after Close
	all := make(chan struct{})
	c := connect(t, s, &client.Options{
		Limits: client.Limits{Queue: 4},
		OnLog: func(context.Context, *mcp.LogParams) {
			once.Do(func() { close(first) })
			<-release
			if logs++; logs == n+1 {
				close(all)
			}
		},
		OnToolsChanged: func(context.Context) { tools++ },
	})
	subscribe(t, c, mcp.Filter{ToolsListChanged: true})
	s.notify(mcp.NotificationMessage, `{"level":"info","data":1}`)
	await(t, first, "the callback")
	for range 100 {
		s.notify(mcp.NotificationToolsListChanged, ``)
	}
	pushed := make(chan struct{})
	go func() { // as the reader of a connection
		for range n {
			s.notify(mcp.NotificationMessage, `{"level":"info","data":1}`)
		}
		close(pushed)
	}()
	if err := c.Ping(t.Context()); err != nil { // a reply is not held up by callbacks
		t.Error(err)
	}
	close(release)
	await(t, pushed, "the end of the flood")
	await(t, all, "all of it")
	c.Close()
	if logs != n+1 || tools != 1 {
		t.Errorf("%d logs of %d, %d tellings of tools", logs, n+1, tools)
	}
}

func TestCloseEndsAll(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, v mcp.Version) {
		t.Helper()
		s := slow(v, time.Hour, 0)
		asked := make(chan struct{})
		c := connect(t, s, &client.Options{
			Version: v,
			OnLog: func(ctx context.Context, _ *mcp.LogParams) {
				close(asked)
				<-ctx.Done()
			},
		})
		s.notify(mcp.NotificationMessage, `{"level":"info","data":1}`)
		await(t, asked, "the callback")
		calls := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "a"}, client.OnProgress(func(mcp.ProgressParams) {}))
				calls <- err
			}()
		}
		for len(s.sent(mcp.MethodToolsCall)) < 3 {
			<-time.After(time.Millisecond)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for range 3 {
			if err := await(t, calls, "the end of a call"); !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("error %v", err)
			}
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// A callback that never returns does not hold up Close for ever.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeServer{script: answers(mcp.V20251125, nil)}
		stuck := make(chan struct{})
		c, err := client.Connect(t.Context(), s, &client.Options{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			<-stuck
			return nil, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := s.ask(rpc.IntID(1), mcp.MethodElicit, oldForm)
			answered <- err
		}()
		synctest.Wait()
		start := time.Now()
		if err := c.Close(); err == nil || time.Since(start) != 10*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		if err := <-answered; err == nil {
			t.Error("answered")
		}
		close(stuck)
	})
}

// A modern call that waits for the user ends with the client.
func TestCloseWhileAnswering(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20260728, map[string]string{
		"tools/call": `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":` + form + `}}}`,
	})}
	asked := make(chan struct{})
	c := connect(t, s, &client.Options{Elicit: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "a"})
		done <- err
	}()
	await(t, asked, "the question")
	c.Close()
	if err := await(t, done, "the end of the call"); !errors.Is(err, rpc.ErrClosed) {
		t.Error(err)
	}
}

// Callbacks may call the client that calls them.
func TestCallFromCallback(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20251125, map[string]string{"ping": `{}`})}
	var c *client.Client
	got := make(chan error, 2)
	c = connect(t, s, &client.Options{
		OnToolsChanged: func(ctx context.Context) { got <- c.Ping(ctx) },
		Roots: func(ctx context.Context) ([]mcp.Root, error) {
			got <- c.Ping(ctx)
			return nil, nil
		},
	})
	subscribe(t, c, mcp.Filter{ToolsListChanged: true})
	s.notify(mcp.NotificationToolsListChanged, ``)
	if _, err := s.ask(rpc.IntID(1), mcp.MethodRootsList, `{}`); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := await(t, got, "the inner call"); err != nil {
			t.Error(err)
		}
	}
	if err := c.RootsChanged(t.Context()); err != nil || len(s.sent(mcp.NotificationRootsListChanged)) != 1 {
		t.Error(err)
	}
}
