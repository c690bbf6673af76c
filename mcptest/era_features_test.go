package mcptest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// A client that forgets params is told so, and goes on.
func TestNilParams(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		c := e.connect()
		_, tool := c.CallTool(t.Context(), nil)
		_, prompt := c.GetPrompt(t.Context(), nil)
		_, complete := c.Complete(t.Context(), nil)
		for i, err := range []error{tool, prompt, complete} {
			if err == nil || !strings.Contains(err.Error(), "params are nil") {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

func TestResources(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		read := func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "text"}, {URI: p.URI, Blob: []byte{1, 2}}}}, nil
		}
		template := func(_ context.Context, p *mcp.ReadResourceParams, vars map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: vars["name"]}}}, nil
		}
		if err := errors.Join(
			e.srv.AddResource(mcp.Resource{URI: "a://one", Name: "one"}, read),
			e.srv.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "t://{name}", Name: "t"}, template),
		); err != nil {
			t.Fatal(err)
		}
		c := e.connect()
		ctx := t.Context()
		res := must[*mcp.ReadResourceResult](t)(c.ReadResource(ctx, "a://one"))
		equal(t, "contents", len(res.Contents), 2)
		equal(t, "text", res.Contents[0].Text, "text")
		equal(t, "blob", string(res.Contents[1].Blob), "\x01\x02")
		res = must[*mcp.ReadResourceResult](t)(c.ReadResource(ctx, "t://caf%C3%A9"))
		equal(t, "variable", res.Contents[0].Text, "café")
		_, err := c.ReadResource(ctx, "a://none")
		isCode(t, "unknown", err, e.NotFound)
		equal(t, "is not found", mcp.IsNotFound(err, "a://none"), true)
		equal(t, "resources", count(t, c.Resources(ctx)), 1)
		equal(t, "templates", count(t, c.ResourceTemplates(ctx)), 1)
	})
}

func count[T any](t *testing.T, seq iter.Seq2[*T, error]) (n int) {
	t.Helper()
	for _, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestPromptsAndCompletion(t *testing.T) {
	t.Parallel()
	complete := func(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
		values := make([]string, 150)
		for i := range values {
			values[i] = fmt.Sprint(p.Argument.Value, i)
		}
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: values}}, nil
	}
	eachEra(t, &server.Options{Complete: complete}, func(t *testing.T, e era) {
		err := e.srv.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a", Required: true}, {Name: "b"}}},
			func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(p.Arguments["a"] + p.Arguments["b"])}}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		c := e.connect()
		ctx := t.Context()
		res := must[*mcp.GetPromptResult](t)(c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p", Arguments: map[string]string{"a": "x"}}))
		equal(t, "prompt", res.Messages[0].Content.(*mcp.TextContent).Text, "x")
		_, err = c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"})
		isCode(t, "missing argument", err, rpc.CodeInvalidParams)
		_, err = c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "q"})
		isCode(t, "unknown prompt", err, rpc.CodeInvalidParams)
		equal(t, "prompts", count(t, c.Prompts(ctx)), 1)

		done := must[*mcp.CompleteResult](t)(c.Complete(ctx, &mcp.CompleteParams{
			Ref: mcp.CompleteReference{Type: mcp.RefPrompt, Name: "p"}, Argument: mcp.CompleteArgument{Name: "a", Value: "v"},
		}))
		equal(t, "values are at most 100", len(done.Completion.Values), 100)
		equal(t, "there are more", done.Completion.HasMore, true)
		equal(t, "first value", done.Completion.Values[0], "v0")
	})
}

func TestPagination(t *testing.T) {
	t.Parallel()
	eachEra(t, &server.Options{PageSize: 3}, func(t *testing.T, e era) {
		for i := range 10 {
			addTool(e, fmt.Sprintf("tool%02d", i), func(context.Context, none) (string, error) { return "", nil })
		}
		c := e.connect()
		ctx := t.Context()
		var names []string
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		equal(t, "tools", len(names), 10)
		equal(t, "in order", slices.IsSorted(names), true)
		page := must[*mcp.ListToolsResult](t)(c.ListTools(ctx, &mcp.ListToolsParams{}))
		equal(t, "a page", len(page.Tools), 3)
		bad := "no cursor"
		p := &mcp.ListToolsParams{}
		p.Cursor = &bad
		_, err := c.ListTools(ctx, p)
		isCode(t, "bad cursor", err, rpc.CodeInvalidParams)
	})
}

func TestLogging(t *testing.T) {
	t.Parallel()
	capabilities := &mcp.ServerCapabilities{Logging: &mcp.Support{}}
	eachEra(t, &server.Options{Capabilities: capabilities}, func(t *testing.T, e era) {
		addTool(e, "log", func(ctx context.Context, _ none) (string, error) {
			c := server.CallFrom(ctx)
			c.Logger().Debug("low")
			c.Logger().Warn("high", "n", 1)
			return "", c.Log(ctx, mcp.LevelError, "raw")
		})
		logs := make(chan *mcp.LogParams, 10)
		e.opts.LogLevel = mcp.LevelInfo
		e.opts.OnLog = func(_ context.Context, p *mcp.LogParams) { logs <- p }
		c := e.connect()
		must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("log", "")))
		first, second := <-logs, <-logs
		equal(t, "level", first.Level, mcp.LevelWarning)
		equal(t, "data", string(second.Data), `"raw"`)
		if err := c.SetLogLevel(t.Context(), mcp.LevelCritical); err != nil {
			t.Fatal(err)
		}
		must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call("log", "")))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		equal(t, "logs below the level", len(logs), 0)
	})
}

func TestListChangedAndUpdates(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "old", func(context.Context, none) (string, error) { return "", nil })
		err := e.srv.AddResource(mcp.Resource{URI: "a://one", Name: "one"}, func(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		changed, updated := make(chan struct{}, 100), make(chan string, 100)
		e.opts.OnToolsChanged = func(context.Context) { changed <- struct{}{} }
		e.opts.OnResourceUpdated = func(_ context.Context, uri string) { updated <- uri }
		c := e.connect()
		ctx := t.Context()
		sub, err := c.Subscribe(ctx, mcp.Filter{ToolsListChanged: true, ResourceSubscriptions: []string{"a://one"}})
		if err != nil {
			t.Fatal(err)
		}
		addTool(e, "new", func(context.Context, none) (string, error) { return "", nil })
		<-changed
		for has := false; !has; { // an earlier change may have been told late
			for tool, err := range c.Tools(ctx, client.Uncached()) {
				if err != nil {
					t.Fatal(err)
				}
				has = has || tool.Name == "new"
			}
		}
		if err := e.srv.ResourceUpdated(ctx, "a://other"); err != nil {
			t.Fatal(err)
		}
		if err := e.srv.ResourceUpdated(ctx, "a://one"); err != nil {
			t.Fatal(err)
		}
		equal(t, "updated", <-updated, "a://one")
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
		<-sub.Done()
		for len(changed) > 0 {
			<-changed
		}
		addTool(e, "unheard", func(context.Context, none) (string, error) { return "", nil })
		must[string](t)(client.CallTool[string](ctx, c, "unheard", nil))
		equal(t, "error of the connection", c.Err(), nil)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-c.Done()
		equal(t, "error after Close", c.Err(), nil)
		equal(t, "changes told after the subscription", len(changed), 0)
	})
}

func TestCustomMethods(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		told := make(chan string, 1)
		err := errors.Join(
			e.srv.HandleMethod("x.example/echo", func(ctx context.Context, req *rpc.Request) (any, error) {
				if err := server.CallFrom(ctx).Notify(ctx, "x.example/note", map[string]int{"n": 1}); err != nil {
					return nil, err
				}
				return map[string]string{"said": string(req.Param("word"))}, nil
			}),
			e.srv.HandleNotification("x.example/tell", func(_ context.Context, req *rpc.Request) { told <- string(req.Param("word")) }),
		)
		if err != nil {
			t.Fatal(err)
		}
		notes := make(chan string, 1)
		e.opts.OnNotification = func(_ context.Context, method string, params jsontext.Value) { notes <- method }
		c := e.connect()
		ctx := t.Context()
		var res struct {
			Said string `json:"said"`
		}
		if err := c.Request(ctx, "x.example/echo", map[string]string{"word": "hi"}, &res); err != nil {
			t.Fatal(err)
		}
		equal(t, "result", res.Said, `"hi"`)
		equal(t, "notification of the server", <-notes, "x.example/note")
		if err := c.Notify(ctx, "x.example/tell", map[string]string{"word": "psst"}); err != nil {
			t.Fatal(err)
		}
		equal(t, "notification of the client", <-told, `"psst"`)
		isCode(t, "unknown method", c.Request(ctx, "x.example/none", nil, nil), rpc.CodeMethodNotFound)
	})
}

func TestPing(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		err := e.connect().Ping(t.Context())
		if e.modern() {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("a modern ping: %v", err)
			}
			return
		}
		if err != nil {
			t.Error(err)
		}
	})
}

func TestUnsupportedFeatures(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		c := e.connect() // the server has nothing
		ctx := t.Context()
		for name, err := range map[string]error{
			"tools":     func() error { _, err := c.ListTools(ctx, nil); return err }(),
			"prompts":   func() error { _, err := c.ListPrompts(ctx, nil); return err }(),
			"resources": func() error { _, err := c.ListResources(ctx, nil); return err }(),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

func TestShutdownWaitsForCalls(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		started, finish := make(chan struct{}), make(chan struct{})
		addTool(e, "slow", func(context.Context, none) (string, error) {
			close(started)
			<-finish
			return "done", nil
		})
		c := e.connect()
		result := make(chan error, 1)
		go func() {
			got, err := client.CallTool[string](t.Context(), c, "slow", nil)
			if err == nil && got != "done" {
				err = errors.New(got)
			}
			result <- err
		}()
		<-started
		down := make(chan error, 1)
		go func() { down <- e.srv.Shutdown(t.Context()) }()
		close(finish)
		if err := <-result; err != nil {
			t.Errorf("the call under way: %v", err)
		}
		if err := <-down; err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		started := make(chan struct{})
		addTool(e, "wait", func(ctx context.Context, _ none) (string, error) {
			close(started)
			<-ctx.Done()
			return "", ctx.Err()
		})
		c := e.connect()
		result := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), call("wait", ""))
			result <- err
		}()
		<-started
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-result; !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("the call under way: %v", err)
		}
		if _, err := c.CallTool(t.Context(), call("wait", "")); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("a later call: %v", err)
		}
		if e.Transport == "http" && !e.modern() {
			_ = e.srv.Shutdown(t.Context()) // a legacy session outlives its connections; this ends its handlers
		}
	})
}

// An error of the other side has its code, message and data over every
// transport, though HTTP gives some of them a status too.
func TestErrorsOnTheWire(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 100_000)
	eachEra(t, nil, func(t *testing.T, e era) {
		refusals := map[string]*rpc.Error{
			"own code":       rpc.Errorf(-7, "not for you").WithData(map[string]string{"why": big}),
			"no such method": rpc.Errorf(rpc.CodeMethodNotFound, "gone").WithData([]int{1}),
			"bad params":     rpc.Errorf(rpc.CodeInvalidParams, "odd").WithData(big),
			"bad request":    rpc.Errorf(rpc.CodeInvalidRequest, "odd").WithData(big),
			"internal":       rpc.Errorf(rpc.CodeInternalError, "broken").WithData(big),
		}
		if e.modern() { // a tool's error before
			refusals["capability"] = mcp.MissingCapability(mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}})
		}
		for name, refusal := range refusals {
			addTool(e, name, func(context.Context, none) (string, error) { return "", refusal })
		}
		c := e.connect()
		for name, want := range refusals {
			_, err := c.CallTool(t.Context(), call(name, ""))
			got, ok := errors.AsType[*rpc.Error](err)
			if !ok || got.Code != want.Code || got.Message != want.Message || !bytes.Equal(got.Data, want.Data) {
				t.Errorf("%s: got %.300v, want %.300v", name, err, want)
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: errors.Is finds no %d", name, want.Code)
			}
		}
		err := c.Request(t.Context(), "x/none", nil, nil)
		isCode(t, "unknown method", err, rpc.CodeMethodNotFound)
	})
}
