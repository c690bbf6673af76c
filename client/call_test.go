package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

const hi = `{"resultType":"complete","content":[{"type":"text","text":"hi"}]}`

// slow is a server whose tools take their time: progress each step, then an
// answer after total, or none where that is 0.
func slow(v mcp.Version, step, total time.Duration) *fakeServer {
	return &fakeServer{script: func(ctx context.Context, s *fakeServer, req *rpc.Request) (any, error) {
		if req.Method != mcp.MethodToolsCall {
			return greeting(v, req)
		}
		var p mcp.CallToolParams
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return nil, err
		}
		tick := time.NewTicker(step)
		defer tick.Stop()
		end := make(<-chan time.Time)
		if total > 0 {
			end = time.After(total)
		}
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				if token := p.Meta[mcp.MetaProgressToken]; token != nil {
					s.notify(mcp.NotificationProgress, fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, n))
				}
			case <-end:
				return hi, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		idle, limit, step, total time.Duration
		progress                 bool
		after                    time.Duration // of the error; 0 where there is none
		hard                     bool
	}{
		"in time":                       {300 * ms, time.Second, time.Hour, 200 * ms, false, 0, false},
		"silent":                        {300 * ms, time.Second, time.Hour, 0, false, 300 * ms, false},
		"progress keeps it alive":       {300 * ms, time.Second, 100 * ms, 810 * ms, true, 0, false},
		"progress that nobody asked":    {300 * ms, time.Second, 100 * ms, 0, false, 300 * ms, false},
		"progress does not move a hard": {300 * ms, time.Second, 100 * ms, 0, true, time.Second, true},
		"a hard one without progress":   {5 * time.Second, time.Second, time.Hour, 0, true, time.Second, true},
	} {
		eras(t, func(t *testing.T, v mcp.Version) {
			t.Helper()
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := slow(v, tt.step, tt.total)
					c := connect(t, s, &client.Options{Version: v, Timeout: tt.idle, MaxTimeout: tt.limit})
					defer c.Close()
					var opts []client.CallOption
					if tt.progress {
						opts = append(opts, client.OnProgress(func(mcp.ProgressParams) {}))
					}
					start := time.Now()
					_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"}, opts...)
					if tt.after == 0 {
						if err != nil {
							t.Error(err)
						}
						return
					}
					te, ok := errors.AsType[*client.TimeoutError](err)
					if !ok || te.Hard != tt.hard || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, client.ErrTimeout) {
						t.Fatalf("error %v", err)
					}
					if took := time.Since(start); took != tt.after {
						t.Errorf("took %v, want %v", took, tt.after)
					}
					synctest.Wait()
					sent := s.sent(mcp.NotificationCancelled)
					if len(sent) != 1 || member(t, sent[0].Params, "requestId") != s.sent(mcp.MethodToolsCall)[0].ID.String() {
						t.Errorf("cancellations: %v", sent)
					}
				})
			})
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, v mcp.Version) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := slow(v, time.Hour, 0)
			// The server does not read either: nobody waits for that.
			s.onNotify = func(ctx context.Context, req *rpc.Request) error {
				if req.Method == mcp.NotificationCancelled {
					<-ctx.Done()
				}
				return ctx.Err()
			}
			c := connect(t, s, &client.Options{Version: v})
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start := time.Now()
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
			if !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrTimeout) || time.Since(start) != time.Second {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
			synctest.Wait()
			if got := len(s.sent(mcp.NotificationCancelled)); got != 1 {
				t.Errorf("%d cancellations", got)
			}
			if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "slow"}); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if got := len(s.sent(mcp.MethodToolsCall)); got != 1 {
				t.Errorf("%d calls: one was made with a context that had ended", got)
			}
		})
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, v mcp.Version) {
		t.Helper()
		const n = 3000
		var last *fakeServer
		s := &fakeServer{script: func(_ context.Context, s *fakeServer, req *rpc.Request) (any, error) {
			last = s
			if req.Method != mcp.MethodToolsCall {
				return greeting(v, req)
			}
			token := member(t, req.Params, "_meta", "progressToken")
			for i := range n {
				s.notify(mcp.NotificationProgress, fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d}`, token, i+1, n))
			}
			s.notify(mcp.NotificationProgress, fmt.Sprintf(`{"progressToken":"%s","progress":1}`, token)) // another token
			return hi, nil
		}}
		c := connect(t, s, &client.Options{Version: v, Limits: client.Limits{Queue: 8}})
		var got []float64
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}, client.OnProgress(func(p mcp.ProgressParams) {
			got = append(got, p.Progress) // on this goroutine: no lock
		}))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != n {
			t.Fatalf("%d of %d", len(got), n)
		}
		for i, p := range got {
			if p != float64(i+1) {
				t.Fatalf("progress %v at %d", p, i)
			}
		}
		// Late, for a call that is over.
		last.notify(mcp.NotificationProgress, fmt.Sprintf(`{"progressToken":%s,"progress":1}`, s.sent(mcp.MethodToolsCall)[0].ID))
		last.notify(mcp.NotificationProgress, `{"progressToken":null}`)
		last.notify(mcp.NotificationProgress, ``)
		if len(got) != n {
			t.Error("progress after the call returned")
		}
	})
}

// A server that asked begins anew, and so does its counting.
func TestProgressGrows(t *testing.T) {
	t.Parallel()
	round := 0
	s := &fakeServer{script: func(_ context.Context, s *fakeServer, req *rpc.Request) (any, error) {
		if req.Method != mcp.MethodToolsCall {
			return greeting(mcp.V20260728, req)
		}
		round++
		token := member(t, req.Params, "_meta", "progressToken")
		for _, p := range []string{"-1", "0.5", "0.5", "2", "1", strconv.Itoa(2 + round)} {
			s.notify(mcp.NotificationProgress, fmt.Sprintf(`{"progressToken":%s,"progress":%s}`, token, p))
		}
		if round < 3 {
			return `{"resultType":"input_required","requestState":"s"}`, nil
		}
		return hi, nil
	}}
	c := connect(t, s, nil)
	for range 2 { // each operation counts for itself
		round = 0
		var got []float64
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}, client.OnProgress(func(p mcp.ProgressParams) {
			got = append(got, p.Progress)
		})); err != nil {
			t.Fatal(err)
		}
		if want := []float64{-1, 0.5, 2, 3, 4, 5}; !slices.Equal(got, want) {
			t.Errorf("progress %v, want %v", got, want)
		}
	}
}

func TestLogLevelIsChecked(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, v mcp.Version) {
		t.Helper()
		s := &fakeServer{script: answers(v, map[string]string{"tools/call": hi})}
		c := connect(t, s, &client.Options{Version: v})
		before := len(s.sent(""))
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}, client.WithLogLevel("loud"))
		_, cerr := client.Connect(t.Context(), s, &client.Options{Version: v, LogLevel: "loud"})
		for what, err := range map[string]error{"SetLogLevel": c.SetLogLevel(t.Context(), "loud"), "WithLogLevel": err, "Options.LogLevel": cerr} {
			if err == nil || !strings.Contains(err.Error(), `"loud" is no log level: use debug, info, notice, warning, error, critical, alert, emergency`) {
				t.Errorf("%s: error %v", what, err)
			}
		}
		if err := c.SetLogLevel(t.Context(), ""); (err == nil) != v.Modern() {
			t.Errorf("no level: error %v", err)
		}
		if n := len(s.sent("")); n != before {
			t.Errorf("%d requests were sent", n-before)
		}
	})
}

func TestMetaMerged(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, v mcp.Version) {
		t.Helper()
		s := &fakeServer{script: answers(v, map[string]string{"tools/call": hi})}
		c := connect(t, s, &client.Options{Version: v})
		p := &mcp.CallToolParams{Name: "a", Arguments: jsontext.Value(`{"_meta":{"x":1},"requestState":"mine"}`)}
		p.Meta = mcp.Meta{
			"traceparent":           jsontext.Value(`"00-1"`),
			"version":               jsontext.Value(`"kept"`),
			mcp.MetaProtocolVersion: jsontext.Value(`"1999-01-01"`),
			mcp.MetaProgressToken:   jsontext.Value(`"theirs"`),
		}
		opt := client.WithMeta(mcp.Meta{"traceparent": jsontext.Value(`"00-2"`)})
		if _, err := c.CallTool(t.Context(), p, opt, client.OnProgress(func(mcp.ProgressParams) {})); err != nil {
			t.Fatal(err)
		}
		req := s.sent("tools/call")[0]
		if !req.Params.IsValid() {
			t.Fatalf("not JSON: %s", req.Params)
		}
		want := map[string]string{"traceparent": `"00-2"`, "version": `"kept"`, "progressToken": req.ID.String()}
		if v.Modern() {
			want[mcp.MetaProtocolVersion] = `"2026-07-28"`
		}
		for name, value := range want {
			if got := member(t, req.Params, "_meta", name); got != value {
				t.Errorf("%s: got %s, want %s", name, got, value)
			}
		}
		if got := member(t, req.Params, "arguments"); got != string(p.Arguments) {
			t.Errorf("arguments: %s", got)
		}
		if len(p.Meta) != 4 || string(p.Meta["traceparent"]) != `"00-1"` {
			t.Errorf("the caller's map was changed: %v", p.Meta)
		}
	})
}

func TestResultTypes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result string
		ok     bool
	}{
		"complete":       {`{"resultType":"complete","content":[]}`, true},
		"absent":         {`{"content":[]}`, true},
		"unknown":        {`{"resultType":"task","content":[]}`, false},
		"not a string":   {`{"resultType":1,"content":[]}`, false},
		"not an object":  {`[]`, false},
		"null":           {`null`, false},
		"duplicate name": {`{"content":[],"content":[]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &fakeServer{script: answers(mcp.V20260728, map[string]string{"tools/call": tt.result, "x/y": tt.result})}
			c := connect(t, s, nil)
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}); (err == nil) != tt.ok {
				t.Errorf("CallTool: %v", err)
			}
			var raw jsontext.Value
			if err := c.Request(t.Context(), "x/y", nil, &raw); (err == nil) != tt.ok {
				t.Errorf("Request: %v", err)
			}
		})
	}
	t.Run("accepted", func(t *testing.T) {
		t.Parallel()
		s := &fakeServer{script: answers(mcp.V20260728, map[string]string{"x/y": `{"resultType":"task","taskId":"1"}`})}
		c := connect(t, s, nil)
		var raw jsontext.Value
		if err := c.Request(t.Context(), "x/y", map[string]int{"a": 1}, &raw, client.AcceptResultType("task")); err != nil {
			t.Fatal(err)
		}
		if member(t, raw, "taskId") != `"1"` {
			t.Errorf("%s", raw)
		}
	})
	t.Run("null of old", func(t *testing.T) {
		t.Parallel()
		s := &fakeServer{script: answers(mcp.V20241105, map[string]string{"ping": `null`})}
		if err := connect(t, s, nil).Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	modern := connect(t, &fakeServer{script: answers(mcp.V20260728, nil)}, nil)
	bare := connect(t, &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		if req.Method == mcp.MethodInitialize {
			return `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"","version":""}}`, nil
		}
		return nil, errNoMethod
	}}, nil)
	ctx := t.Context()
	complete := func(c *client.Client) error {
		_, err := c.Complete(ctx, &mcp.CompleteParams{})
		return err
	}
	for name, err := range map[string]error{
		"modern ping":        modern.Ping(ctx),
		"modern subscribe":   modern.Request(ctx, mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: "a:"}, nil),
		"modern setLevel":    modern.Request(ctx, mcp.MethodSetLevel, nil, nil),
		"modern initialize":  modern.Request(ctx, mcp.MethodInitialize, nil, nil),
		"modern initialized": modern.Notify(ctx, mcp.NotificationInitialized, nil),
		"bare complete":      complete(bare),
		"bare setLevel":      bare.SetLogLevel(ctx, mcp.LevelInfo),
		"bare subscribe":     bare.Request(ctx, mcp.MethodResourcesSubscribe, nil, nil),
		"legacy discover":    bare.Request(ctx, mcp.MethodDiscover, nil, nil),
		"legacy listen":      bare.Request(ctx, mcp.MethodListen, nil, nil),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := modern.RootsChanged(ctx); err != nil {
		t.Error(err)
	}
}

func TestVersionTakenBack(t *testing.T) {
	t.Parallel()
	n := 0
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		if req.Method != mcp.MethodToolsCall {
			return greeting(mcp.V20260728, req)
		}
		if n++; n == 1 {
			return nil, &statusError{400, mcp.UnsupportedVersion("2026-07-28", []mcp.Version{"2026-07-28"})}
		}
		return hi, nil
	}}
	c := connect(t, s, nil)
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}); err != nil {
		t.Error(err)
	}
	if c.ServerInfo().Name != "fake" {
		t.Error("the server's name got lost")
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	page := func(cursor string) string {
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"private","prompts":[{"name":"p"}],"nextCursor":"` + cursor + `"}`
	}
	lister := func(next func(n int, cursor string) string) *fakeServer {
		n := 0
		return &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
			if req.Method != mcp.MethodPromptsList {
				return greeting(mcp.V20260728, req)
			}
			n++
			return next(n, member(t, req.Params, "cursor")), nil
		}}
	}
	const last = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","prompts":[{"name":"p"}]}`
	for name, tt := range map[string]struct {
		next     func(n int, cursor string) string
		prompts  int
		requests int
		err      error
	}{
		"one":   {func(int, string) string { return last }, 1, 1, nil},
		"three": {func(n int, _ string) string { return []string{page("a"), page("b"), last}[n-1] }, 3, 3, nil},
		"empty is a cursor": {func(n int, c string) string {
			if n == 1 {
				return page("")
			}
			if c != `""` {
				return page("wrong")
			}
			return last
		}, 2, 2, nil},
		"the same again":  {func(int, string) string { return page("same") }, 2, 2, client.ErrNotEnding},
		"a circle":        {func(n int, _ string) string { return page([]string{"a", "b"}[n%2]) }, 3, 3, client.ErrNotEnding},
		"always empty":    {func(int, string) string { return page("") }, 2, 2, client.ErrNotEnding},
		"fresh for ever":  {func(n int, _ string) string { return page(strconv.Itoa(n)) }, 5, 5, client.ErrNotEnding},
		"the very limit":  {func(n int, _ string) string { return []string{page("1"), page("2"), page("3"), page("4"), last}[n-1] }, 5, 5, nil},
		"an empty result": {func(int, string) string { return `{"resultType":"complete","prompts":[]}` }, 0, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lister(tt.next)
			c := connect(t, s, &client.Options{Limits: client.Limits{Pages: 5}})
			got := 0
			var err error
			for _, e := range c.Prompts(t.Context()) {
				if err = e; e == nil {
					got++
				}
			}
			if got != tt.prompts || len(s.sent(mcp.MethodPromptsList)) != tt.requests || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("%d prompts in %d requests, error %v", got, len(s.sent(mcp.MethodPromptsList)), err)
			}
		})
	}
	t.Run("stop early", func(t *testing.T) {
		t.Parallel()
		s := lister(func(n int, _ string) string { return page(strconv.Itoa(n)) })
		for range connect(t, s, nil).Prompts(t.Context()) {
			break
		}
		if got := len(s.sent(mcp.MethodPromptsList)); got != 1 {
			t.Errorf("%d requests", got)
		}
	})
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, v mcp.Version) {
		t.Helper()
		s := &fakeServer{script: answers(v, map[string]string{
			"resources/list":           `{"resultType":"complete","resources":[{"uri":"a:b","name":"r"}]}`,
			"resources/templates/list": `{"resultType":"complete","resourceTemplates":[{"uriTemplate":"a:{b}","name":"t"}]}`,
			"resources/read":           `{"resultType":"complete","contents":[{"uri":"a:b","text":"x"}]}`,
			"prompts/list":             `{"resultType":"complete","prompts":[{"name":"p"}]}`,
			"prompts/get":              `{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":"m"}}]}`,
			"completion/complete":      `{"resultType":"complete","completion":{"values":["v"]}}`,
			"logging/setLevel":         `{}`,
			"ping":                     `{}`,
			"x/custom":                 `{"resultType":"complete","n":12345678901234567890}`,
		})}
		c := connect(t, s, &client.Options{Version: v})
		ctx := t.Context()
		for r, err := range c.Resources(ctx) {
			if err != nil || r.URI != "a:b" {
				t.Error(r, err)
			}
		}
		for r, err := range c.ResourceTemplates(ctx) {
			if err != nil || r.URITemplate != "a:{b}" {
				t.Error(r, err)
			}
		}
		if r, err := c.ReadResource(ctx, "a:b"); err != nil || r.Contents[0].Text != "x" {
			t.Error(r, err)
		}
		if r, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p", Arguments: map[string]string{"a": "b"}}); err != nil || len(r.Messages) != 1 {
			t.Error(r, err)
		}
		if got := string(s.sent("prompts/get")[0].Params); !strings.Contains(got, `"arguments":{"a":"b"}`) {
			t.Error(got)
		}
		if r, err := c.Complete(ctx, &mcp.CompleteParams{}); err != nil || r.Completion.Values[0] != "v" {
			t.Error(r, err)
		}
		var custom struct {
			N jsontext.Value `json:"n"`
		}
		if err := c.Request(ctx, "x/custom", map[string]any{"a": 1}, &custom); err != nil || string(custom.N) != "12345678901234567890" {
			t.Error(custom, err)
		}
		if err := c.Request(ctx, "x/custom", []int{1}, nil); err == nil {
			t.Error("params that are no object were sent")
		}
		if err := c.Notify(ctx, "notifications/x", map[string]int{"a": 1}); err != nil {
			t.Error(err)
		}
		if err := c.SetLogLevel(ctx, mcp.LevelWarning); err != nil {
			t.Error(err)
		}
		if _, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"}); err != nil {
			t.Error(err)
		}
		prompts := s.sent("prompts/get")
		got := member(t, prompts[len(prompts)-1].Params, "_meta")
		if v.Modern() != strings.Contains(got, `logLevel":"warning"`) || v.Modern() == (len(s.sent("logging/setLevel")) == 1) {
			t.Errorf("log level: _meta %s, requests %v", got, s.methods())
		}
	})
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20260728, map[string]string{"tools/call": hi})}
	c := connect(t, s, nil)
	var order []string
	trace := func(name string) client.Middleware {
		return func(next client.Handler) client.Handler {
			return func(ctx context.Context, call *client.Call) error {
				order = append(order, name+" "+call.Method)
				call.Meta = mcp.Meta{"traceparent": jsontext.Value(`"00-` + name + `"`)}
				err := next(ctx, call)
				order = append(order, name+" done")
				return err
			}
		}
	}
	c.Use(trace("a"), trace("b"))
	c.Use(func(next client.Handler) client.Handler {
		return func(ctx context.Context, call *client.Call) error {
			if call.Method == mcp.MethodPromptsGet {
				call.Result.(*mcp.GetPromptResult).Description = "mine"
				return nil
			}
			return next(ctx, call)
		}
	})
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a tools/call", "b tools/call", "b done", "a done"}, order); diff != "" {
		t.Error(diff)
	}
	if got := member(t, s.sent("tools/call")[0].Params, "_meta", "traceparent"); got != `"00-b"` {
		t.Error(got)
	}
	if r, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{}); err != nil || r.Description != "mine" {
		t.Error(r, err)
	}
}

func TestTypedCallTool(t *testing.T) {
	t.Parallel()
	type out struct {
		Sum int `json:"sum"`
	}
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		switch member(t, orObject(req), "name") {
		case `"structured"`:
			return `{"resultType":"complete","content":[],"structuredContent":{"sum":3}}`, nil
		case `"text"`:
			return `{"resultType":"complete","content":[{"type":"text","text":"{\"sum\":4}"}]}`, nil
		case `"plain"`:
			return `{"resultType":"complete","content":[{"type":"text","text":"out of cheese"}]}`, nil
		case `"fails"`:
			return `{"resultType":"complete","content":[{"type":"text","text":"out of\ncheese"}],"isError":true}`, nil
		case `"refuses"`:
			return nil, &rpc.Error{Code: -32602, Message: "unknown tool"}
		}
		return greeting(mcp.V20260728, req)
	}}
	c := connect(t, s, nil)
	ctx := t.Context()
	if got, err := client.CallTool[out](ctx, c, "structured", map[string]int{"a": 1, "b": 2}); err != nil || got.Sum != 3 {
		t.Error(got, err)
	}
	if got, err := client.CallTool[*out](ctx, c, "text", nil); err != nil || got.Sum != 4 {
		t.Error(got, err)
	}
	if got, err := client.CallTool[string](ctx, c, "text", nil); err != nil || got != `{"sum":4}` {
		t.Error(got, err)
	}
	if got, err := client.CallTool[*mcp.CallToolResult](ctx, c, "text", nil); err != nil || len(got.Content) != 1 {
		t.Error(got, err)
	}
	if got, err := client.CallTool[[]mcp.Content](ctx, c, "text", nil); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
	if got, err := client.CallTool[any](ctx, c, "plain", nil); err != nil || got != "out of cheese" {
		t.Error(got, err)
	}
	_, err := client.CallTool[out](ctx, c, "fails", nil)
	if te, ok := errors.AsType[*client.ToolError](err); !ok || te.Error() != "tool fails failed: out of cheese" {
		t.Error(err)
	}
	if _, err := client.CallTool[out](ctx, c, "refuses", nil); !errors.Is(err, mcp.ErrInvalidParams) {
		t.Error(err)
	}
	if _, err := client.CallTool[int](ctx, c, "structured", nil); err == nil {
		t.Error("no error for a result of another shape")
	}
	if _, err := client.CallTool[int](ctx, c, "structured", make(chan int)); err == nil {
		t.Error("no error for arguments that cannot be encoded")
	}
}
