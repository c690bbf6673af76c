package server_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	var late *server.Call
	server.AddTool(s, mcp.Tool{Name: "p"}, func(ctx context.Context, _ struct{}) (string, error) {
		c := server.CallFrom(ctx)
		late = c
		if err := errors.Join(c.Progress(ctx, 0, 2, "begun"), c.Progress(ctx, 1.5, 0, "")); err != nil {
			return "", err
		}
		if c.Meta[mcp.MetaProgressToken] == nil {
			return "nobody asks", nil
		}
		return fmt.Sprint(errors.Join(c.Progress(ctx, 1, 2, ""), c.Progress(ctx, 1.5, 2, ""))), nil
	})
	w := dial(t, s)
	if raw := w.must("tools/call", modern(`"name":"p"`)); text(t, raw) != "nobody asks" {
		t.Errorf("without a token: %s", raw)
	}
	raw := w.must("tools/call", `{"name":"p",`+meta("{}", `,"progressToken":"1"`)+`}`)
	if text(t, raw) != "<nil>" {
		t.Errorf("progress that does not grow: %s", raw)
	}
	w.want(0, "notifications/progress", `"progressToken":"1"`, `"progress":0`, `"total":2`, `"message":"begun"`)
	w.want(1, "notifications/progress", `"progress":1.5`)
	if err := late.Progress(t.Context(), 9, 0, ""); err == nil {
		t.Error("progress after the response")
	}
	if strings.Contains(string(w.note(1).Params), "total") || w.noted() != 2 {
		t.Errorf("%s, %d notifications", w.note(1).Params, w.noted())
	}
}

func TestLogging(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "l"}, func(ctx context.Context, _ struct{}) (string, error) {
		c := server.CallFrom(ctx)
		log := c.Logger().With("a", 1).WithGroup("g")
		log.Debug("d")
		log.Warn("w", "b", 2)
		return "", c.Log(ctx, mcp.LevelAlert, map[string]int{"x": 1})
	})
	w := dial(t, s)
	w.must("tools/call", modern(`"name":"l"`))
	if w.noted() != 0 {
		t.Error("a modern client that did not ask for logs got some")
	}
	w.must("tools/call", `{"name":"l",`+meta("{}", `,"io.modelcontextprotocol/logLevel":"warning"`)+`}`)
	w.want(0, "notifications/message", `"level":"warning"`, `"data":{"msg":"w","a":1,"g":{"b":2}}`)
	w.want(1, "notifications/message", `"level":"alert"`, `"data":{"x":1}`)

	w.initialize(mcp.V20251125, "{}")
	w.wants(rpc.CodeInvalidParams, "logging/setLevel", `{"level":"loud"}`)
	if got := w.must("logging/setLevel", `{"level":"alert"}`); got != "{}" {
		t.Errorf("setLevel: %s", got)
	}
	w.must("tools/call", `{"name":"l"}`)
	w.want(2, "notifications/message", `"level":"alert"`)
	if err := errors.Join(s.Log(t.Context(), mcp.LevelError, "db", "x"), s.Log(t.Context(), mcp.LevelEmergency, "db", "y")); err != nil {
		t.Fatal(err)
	}
	w.want(3, "notifications/message", `"level":"emergency"`, `"logger":"db"`, `"data":"y"`)
	if err := s.Log(t.Context(), "loud", "", ""); err == nil {
		t.Error("a level that there is not")
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		s := withEcho(nil)
		started := make(chan struct{}, 2)
		causes := make(chan error, 2)
		server.AddTool(s, mcp.Tool{Name: "slow"}, func(ctx context.Context, _ struct{}) (string, error) {
			started <- struct{}{}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return "late", server.CallFrom(ctx).Log(ctx, mcp.LevelError, "too late")
		})
		w := dial(t, s)
		open(w)
		ctx, cancel := context.WithCancel(w.ctx)
		end := make(chan error, 1)
		go func() {
			req := &rpc.Request{ID: rpc.StringID("7"), Method: "tools/call", Params: jsontext.Value(params(`"name":"slow"`))}
			end <- w.conn.Call(ctx, req, nil)
		}()
		<-started
		for _, ignored := range []string{`{"requestId":7}`, `{"requestId":null}`, `{}`, `{"requestId":"nope"}`, ``} {
			w.notify("notifications/cancelled", ignored)
		}
		w.must("tools/call", params(`"name":"echo","arguments":{"message":"a"}`))
		select {
		case err := <-causes:
			t.Fatalf("cancelled by the ID of another request: %v", err)
		default:
		}
		w.notify("notifications/cancelled", `{"requestId":"7","reason":"enough"}`)
		if err := <-causes; !errors.Is(err, server.ErrCancelled) || !strings.Contains(err.Error(), "enough") {
			t.Errorf("cause: %v", err)
		}
		cancel()
		<-end
		w.must("tools/call", params(`"name":"echo","arguments":{"message":"a"}`))
		if w.noted() != 0 {
			t.Errorf("sent after the cancellation: %s", w.note(0).Params)
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := newServer(&server.Options{PageSize: 2})
	for _, n := range []string{"d", "a", "c", "b", "e"} {
		server.AddTool(s, mcp.Tool{Name: n}, echo)
	}
	w := dial(t, s)
	page := func(cursor string) *mcp.ListToolsResult {
		members := ""
		if cursor != "" {
			members = `"cursor":"` + cursor + `"`
		}
		res := decode[mcp.ListToolsResult](t, w.must("tools/list", modern(members)))
		return &res
	}
	names := func(r *mcp.ListToolsResult) (all string) {
		for _, tool := range r.Tools {
			all += tool.Name
		}
		return all
	}
	first := page("")
	if names(first) != "ab" || first.NextCursor == nil {
		t.Fatalf("first page: %s", names(first))
	}
	server.AddTool(s, mcp.Tool{Name: "aa"}, echo)
	server.AddTool(s, mcp.Tool{Name: "bb"}, echo)
	s.RemoveTools("b")
	second := page(*first.NextCursor)
	if names(second) != "bbc" || second.NextCursor == nil {
		t.Fatalf("second page: %s", names(second))
	}
	if last := page(*second.NextCursor); names(last) != "de" || last.NextCursor != nil {
		t.Errorf("last page: %s %v", names(last), last.NextCursor)
	}
	for _, bad := range []string{`""`, `"invalid-cursor"`, `"AAAA"`, `7`, `"` + strings.Repeat("A", 100_000) + `"`} {
		w.wants(rpc.CodeInvalidParams, "tools/list", modern(`"cursor":`+bad))
	}
}

func TestEmptyListsAreArrays(t *testing.T) {
	t.Parallel()
	s := newServer(&server.Options{Capabilities: &mcp.ServerCapabilities{
		Tools: &mcp.ListCapability{}, Prompts: &mcp.ListCapability{}, Resources: &mcp.ResourcesCapability{},
	}})
	w := dial(t, s)
	for method, want := range map[string]string{
		"tools/list": `"tools":[]`, "prompts/list": `"prompts":[]`,
		"resources/list": `"resources":[]`, "resources/templates/list": `"resourceTemplates":[]`,
	} {
		if got := w.must(method, modern("")); !strings.Contains(got, want) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	s := newServer(&server.Options{CacheTTL: time.Minute, CacheScope: mcp.CachePublic})
	add := func(uri string, h server.ResourceHandler) {
		if err := s.AddResource(mcp.Resource{URI: uri, Name: "n"}, h); err != nil {
			t.Fatal(err)
		}
	}
	add("x:text", func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "hi"}}}, nil
	})
	add("x:gone", func(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return nil, fs.ErrNotExist
	})
	add("x:broken", func(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return nil, errors.New("secret path")
	})
	w := dial(t, s)
	got := w.must("resources/read", modern(`"uri":"x:text"`))
	if !strings.Contains(got, `"text":"hi"`) || !strings.Contains(got, `"ttlMs":60000`) || !strings.Contains(got, `"cacheScope":"public"`) {
		t.Error(got)
	}
	if e := w.wants(rpc.CodeInternalError, "resources/read", modern(`"uri":"x:broken"`)); strings.Contains(e.Message, "secret") {
		t.Error(e)
	}
	for _, uri := range []string{"x:gone", "x:nope"} {
		if e := w.wants(rpc.CodeInvalidParams, "resources/read", modern(`"uri":"`+uri+`"`)); string(e.Data) != `{"uri":"`+uri+`"}` {
			t.Errorf("%s: %s", uri, e.Data)
		}
	}
	w.initialize(mcp.V20251125, "{}")
	w.wants(mcp.CodeResourceNotFound, "resources/read", `{"uri":"x:nope"}`)
	if got := w.must("resources/read", `{"uri":"x:text"}`); strings.Contains(got, "ttlMs") {
		t.Errorf("legacy: %s", got)
	}
	for name, err := range map[string]error{
		"relative": s.AddResource(mcp.Resource{URI: "a/b", Name: "n"}, readNothing),
		"no name":  s.AddResource(mcp.Resource{URI: "x:b"}, readNothing),
		"nil":      s.AddResource(mcp.Resource{URI: "x:b", Name: "n"}, nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	for _, tmpl := range []string{
		"file:///docs/café/{name}", "x://item/{id}", "x://item/special", "x://pair/{a},{b}", "x://path/{+path}",
		"x://seg{/one,two}", "x://q{?a,b}", "x://dot{.ext}", "x://m{;p}", "x://f{#frag}", "x://list{/all*}",
	} {
		err := s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: tmpl, Name: "n"},
			func(_ context.Context, p *mcp.ReadResourceParams, vars map[string]string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: fmt.Sprint(tmpl, " ", vars)}}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	w := dial(t, s)
	for uri, want := range map[string]string{
		"file:///docs/caf%C3%A9/a%20b.txt": "file:///docs/café/{name} map[name:a b.txt]",
		"file:///docs/café/a b.txt":        "file:///docs/café/{name} map[name:a b.txt]",
		"x://item/%C2%A7%20141":            "x://item/{id} map[id:§ 141]",
		"x://item/%2525":                   "x://item/{id} map[id:%25]",
		"x://item/a%2Fb":                   "x://item/{id} map[id:a/b]",
		"x://item/special":                 "x://item/special map[]",
		"x://pair/1,2":                     "x://pair/{a},{b} map[a:1 b:2]",
		"x://path/a/b":                     "x://path/{+path} map[path:a/b]",
		"x://seg/1/2":                      "x://seg{/one,two} map[one:1 two:2]",
		"x://seg/1":                        "x://seg{/one,two} map[one:1]",
		"x://q?b=2&a=%20":                  "x://q{?a,b} map[a:  b:2]",
		"x://q":                            "x://q{?a,b} map[]",
		"x://dot.txt":                      "x://dot{.ext} map[ext:txt]",
		"x://m;p=1":                        "x://m{;p} map[p:1]",
		"x://f#a/b":                        "x://f{#frag} map[frag:a/b]",
		"x://list/a/b/c":                   "x://list{/all*} map[all:a/b/c]",
	} {
		raw := w.must("resources/read", modern(`"uri":"`+uri+`"`))
		if got := decode[mcp.ReadResourceResult](t, raw).Contents[0].Text; got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
	for _, bad := range []string{"x://item/%zz", "x://item/%", "x://item/a/b", "x://item/", "x://item/%FF", "y:z"} {
		w.wants(rpc.CodeInvalidParams, "resources/read", modern(`"uri":"`+bad+`"`))
	}
	for _, bad := range []string{"x://{", "x://{}", "x://}", "x://{a b}", "x://%zz"} {
		err := s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: bad, Name: "n"},
			func(context.Context, *mcp.ReadResourceParams, map[string]string) (*mcp.ReadResourceResult, error) {
				return nil, nil
			})
		if err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestPromptsAndCompletion(t *testing.T) {
	t.Parallel()
	s := newServer(&server.Options{Complete: func(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
		if p.Argument.Value == "none" {
			return nil, nil
		}
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: make([]string, 150)}}, nil
	}})
	err := s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("hi " + p.Arguments["who"])}}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	w := dial(t, s)
	if got := w.must("prompts/get", modern(`"name":"p","arguments":{"who":"ann"}`)); !strings.Contains(got, "hi ann") {
		t.Error(got)
	}
	if e := w.wants(rpc.CodeInvalidParams, "prompts/get", modern(`"name":"p"`)); !strings.Contains(e.Message, `"who"`) {
		t.Error(e)
	}
	w.wants(rpc.CodeInvalidParams, "prompts/get", modern(`"name":"q"`))
	w.wants(rpc.CodeInvalidParams, "prompts/get", modern(`"name":"p","arguments":{"who":7}`))

	ref := `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"who","value":`
	got := decode[mcp.CompleteResult](t, w.must("completion/complete", modern(ref+`"a"}`)))
	if c := got.Completion; len(c.Values) != 100 || !c.HasMore || *c.Total != 150 {
		t.Errorf("%d values, %+v", len(c.Values), c.Total)
	}
	if got := w.must("completion/complete", modern(ref+`"none"}`)); !strings.Contains(got, `"values":[]`) {
		t.Error(got)
	}
	for _, bad := range []string{
		`"ref":{"type":"ref/prompt","name":"q"},"argument":{"name":"who","value":""}`,
		`"ref":{"type":"ref/resource","uri":"x:y"},"argument":{"name":"who","value":""}`,
		`"ref":{"type":"ref/x"},"argument":{"name":"who","value":""}`,
		`"ref":{"type":"ref/prompt","name":"p"},"argument":{}`,
	} {
		w.wants(rpc.CodeInvalidParams, "completion/complete", modern(bad))
	}
	dial(t, withEcho(nil)).wants(rpc.CodeMethodNotFound, "completion/complete", modern(ref+`"a"}`))
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	s := newServer(&server.Options{Capabilities: &mcp.ServerCapabilities{Extensions: map[string]jsontext.Value{"com.example/x": jsontext.Value(`{}`)}}})
	err := s.HandleMethod("com.example/do", func(ctx context.Context, req *rpc.Request) (any, error) {
		return map[string]any{"got": len(req.Params)}, server.CallFrom(ctx).Notify(ctx, "com.example/note", map[string]int{"a": 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 1)
	err = s.HandleNotification("com.example/told", func(_ context.Context, req *rpc.Request) { heard <- string(req.Params) })
	if err != nil {
		t.Fatal(err)
	}
	if s.HandleMethod("tools/call", func(context.Context, *rpc.Request) (any, error) { return nil, nil }) == nil ||
		s.HandleNotification("notifications/cancelled", func(context.Context, *rpc.Request) {}) == nil {
		t.Error("a method of the protocol was replaced")
	}
	w := dial(t, s)
	got := w.must("com.example/do", modern(""))
	if !strings.Contains(got, `"resultType":"complete"`) || !strings.Contains(got, `"got":`) {
		t.Error(got)
	}
	w.want(0, "com.example/note", `{"a":1}`)
	w.notify("com.example/told", `{"b":2}`)
	if got := <-heard; got != `{"b":2}` {
		t.Error(got)
	}
	if got := w.initialize(mcp.V20251125, "{}"); !strings.Contains(got, "com.example/x") {
		t.Error(got)
	}
	if got := w.must("com.example/do", `{"a":1}`); got != `{"got":7}` {
		t.Error(got)
	}
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	s := withEcho(nil)
	server.AddTool(s, mcp.Tool{Name: "panic"}, func(context.Context, struct{}) (string, error) { panic("x") })
	var mu sync.Mutex
	var seen []string
	record := func(name string) server.Middleware {
		return func(next server.Handler) server.Handler {
			return func(ctx context.Context, c *server.Call) (any, error) {
				res, err := next(ctx, c)
				mu.Lock()
				defer mu.Unlock()
				p, _ := c.Params.(*mcp.CallToolParams)
				seen = append(seen, fmt.Sprint(name, " ", c.Method.Name, " ", p.Name, " ", err))
				return res, err
			}
		}
	}
	s.Use(record("outer"), record("inner"))
	s.Use(func(next server.Handler) server.Handler {
		return func(ctx context.Context, c *server.Call) (any, error) {
			if p, ok := c.Params.(*mcp.CallToolParams); ok && p.Name == "forbidden" {
				return nil, rpc.Errorf(-7, "no")
			}
			return next(ctx, c)
		}
	})
	w := dial(t, s)
	w.must("tools/call", modern(`"name":"echo","arguments":{"message":"a"}`))
	w.wants(-7, "tools/call", modern(`"name":"forbidden"`))
	w.wants(rpc.CodeInternalError, "tools/call", modern(`"name":"panic"`))
	want := []string{
		"inner tools/call echo <nil>", "outer tools/call echo <nil>",
		"inner tools/call forbidden no (-7)", "outer tools/call forbidden no (-7)",
		"inner tools/call panic internal error (-32603)", "outer tools/call panic internal error (-32603)",
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestSessionCallbacks(t *testing.T) {
	t.Parallel()
	var logs strings.Builder
	roots := make(chan string, 2)
	ask := func(ctx context.Context, c *server.Call) {
		res, err := c.Roots(ctx, "roots")
		if err != nil {
			roots <- err.Error()
			return
		}
		roots <- c.Client.Name + " " + res.Roots[0].URI
	}
	s := newServer(&server.Options{
		Logger:        slog.New(slog.NewTextHandler(&logs, nil)),
		OnInitialized: ask, OnRootsChanged: ask,
	})
	w := dial(t, s)
	w.onRequest(func(context.Context, *rpc.Request) (any, error) {
		return jsontext.Value(`{"roots":[{"uri":"file:///w"}]}`), nil
	})
	w.notify("notifications/roots/list_changed", "") // before initialize: nothing
	w.initialize(mcp.V20251125, everything)
	if got := <-roots; got != "c file:///w" {
		t.Error(got)
	}
	w.notify("notifications/roots/list_changed", "")
	if got := <-roots; got != "c file:///w" {
		t.Error(got)
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	s := withEcho(nil)
	started, finish := make(chan struct{}), make(chan struct{})
	server.AddTool(s, mcp.Tool{Name: "slow"}, func(context.Context, struct{}) (string, error) {
		close(started)
		<-finish
		return "done", nil
	})
	w := dial(t, s)
	end := make(chan string, 1)
	go func() {
		res, err := w.send("tools/call", modern(`"name":"slow"`))
		end <- fmt.Sprint(string(res), err)
	}()
	<-started
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	for { // until it is under way
		if _, err := w.send("tools/list", modern("")); err != nil {
			if e, ok := errors.AsType[*rpc.Error](err); !ok || !strings.Contains(e.Message, "shutting down") {
				t.Errorf("a new request got %v", err)
			}
			break
		}
	}
	close(finish)
	if got := <-end; !strings.Contains(got, "done") {
		t.Errorf("the request under way ended with %s", got)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	h := s.Bind(t.Context(), bare{})
	if _, err := h.Handle(t.Context(), &rpc.Request{ID: rpc.IntID(1), Method: "tools/list", Params: jsontext.Value(modern(""))}, bare{}); err == nil {
		t.Error("a stopped server answers")
	}
}

func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	started := make(chan struct{})
	server.AddTool(s, mcp.Tool{Name: "slow"}, func(ctx context.Context, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	})
	w := dial(t, s)
	end := make(chan error, 1)
	go func() {
		_, err := w.send("tools/call", modern(`"name":"slow"`))
		end <- err
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := <-end; err == nil {
		t.Error("the request was answered")
	}
}

// TestChangesWhileServing is for the race detector.
func TestChangesWhileServing(t *testing.T) {
	t.Parallel()
	s := withResources(t, &server.Options{PageSize: 3})
	w := dial(t, s)
	w.initialize(mcp.V20251125, everything)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 50 {
				name := fmt.Sprint("t", g, "-", i)
				server.AddTool(s, mcp.Tool{Name: name}, echo)
				s.ResourceUpdated(context.Background(), "x:a")
				s.RemoveTools(name)
			}
		})
		all.Go(func() {
			for range 50 {
				w.must("tools/list", modern(""))
				if raw := w.must("tools/call", `{"name":"echo","arguments":{"message":"x"}}`); text(t, raw) != "x" {
					t.Error(raw)
				}
			}
		})
	}
	all.Wait()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
