package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// pipeDialer connects to a server in memory.
type pipeDialer struct {
	t   *testing.T
	srv *server.Server
}

type bound struct{ h rpc.Handler }

func (b bound) Bind(context.Context, rpc.Conn) rpc.Handler { return b.h }

func (d pipeDialer) Dial(_ context.Context, h rpc.Handler) (rpc.Conn, error) {
	near, far := rpc.Pipe()
	end := rpc.NewDuplex(context.Background(), far, d.srv, nil)
	d.t.Cleanup(func() {
		if err := end.Close(); err != nil {
			d.t.Errorf("close the server's end: %v", err)
		}
	})
	return rpc.NewDuplex(context.Background(), near, bound{h}, nil), nil
}

type (
	addIn  struct{ A, B int }
	addOut struct{ Sum int }
	none   struct{}
)

func newServer(t *testing.T) *server.Server {
	t.Helper()
	s := server.New(mcp.Implementation{Name: "real", Version: "1"}, &server.Options{
		Instructions: "add", PageSize: 2, CacheTTL: time.Hour,
		Complete: func(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{"v"}}}, nil
		},
	})
	server.AddTool(s, mcp.Tool{Name: "add"}, func(_ context.Context, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil })
	server.AddTool(s, mcp.Tool{Name: "fail"}, func(context.Context, none) (string, error) { return "", errors.New("no cheese") })
	server.AddTool(s, mcp.Tool{Name: "steps"}, func(ctx context.Context, _ none) (string, error) {
		c := server.CallFrom(ctx)
		for i := range 5 {
			if err := c.Progress(ctx, float64(i+1), 5, "step"); err != nil {
				return "", err
			}
		}
		return "done", c.Log(ctx, mcp.LevelWarning, "logged")
	})
	server.AddTool(s, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ none) (string, error) {
		c := server.CallFrom(ctx)
		var names []string
		for i := range 3 {
			r, err := c.Elicit(ctx, fmt.Sprint("name", i), &mcp.ElicitParams{Message: "who?", RequestedSchema: []byte(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
			if err != nil {
				return "", err
			}
			names = append(names, string(r.Action)+string(r.Content["name"]))
		}
		return fmt.Sprint(names), nil
	})
	started := make(chan struct{}, 9)
	server.AddTool(s, mcp.Tool{Name: "block"}, func(ctx context.Context, _ none) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	for _, uri := range []string{"a:1", "a:2", "a:3"} {
		must(t, s.AddResource(mcp.Resource{URI: uri, Name: uri}, func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "x"}}}, nil
		}))
	}
	must(t, s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("m")}}}, nil
	}))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// everywhere runs fn against the real server, over every transport in reach and in
// every revision.
func everywhere(t *testing.T, fn func(t *testing.T, srv *server.Server, connect func(client.Options) *client.Client)) {
	t.Helper()
	for _, r := range mcp.Revisions() {
		for _, transport := range []string{"pipe", "HTTP"} {
			if transport == "HTTP" && !r.Streamable {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", transport, r.Version), func(t *testing.T) {
				t.Parallel()
				srv := newServer(t)
				var d rpc.Dialer = pipeDialer{t, srv}
				if transport == "HTTP" {
					h := streamhttp.NewHandler(srv, nil)
					web := httptest.NewServer(h)
					t.Cleanup(web.Close)
					t.Cleanup(func() { h.Close() })
					d = &streamhttp.Dialer{URL: web.URL}
				}
				fn(t, srv, func(opts client.Options) *client.Client {
					t.Helper()
					if opts.Version == "" {
						opts.Version = r.Version
					}
					c, err := client.Connect(t.Context(), d, &opts)
					must(t, err)
					t.Cleanup(func() {
						if err := c.Close(); err != nil {
							t.Errorf("Close: %v", err)
						}
					})
					return c
				})
			})
		}
	}
}

func TestRealServer(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, _ *server.Server, connect func(client.Options) *client.Client) {
		t.Helper()
		ctx := t.Context()
		var logs atomic.Int32
		logged := make(chan struct{}, 9)
		c := connect(client.Options{
			LogLevel: mcp.LevelInfo, OnLog: func(context.Context, *mcp.LogParams) { logs.Add(1); logged <- struct{}{} },
			Elicit: accept(`{"name":"x"}`), Output: client.StrictOutput,
		})
		if c.ServerInfo().Name != "real" || c.Instructions() != "add" {
			t.Errorf("%v %q", c.ServerInfo(), c.Instructions())
		}
		var tools []string
		for tool, err := range c.Tools(ctx) {
			must(t, err)
			tools = append(tools, tool.Name)
		}
		if slices.Sort(tools); !slices.Equal(tools, []string{"add", "ask", "block", "fail", "steps"}) {
			t.Errorf("tools %v", tools)
		}
		sum, err := client.CallTool[addOut](ctx, c, "add", addIn{1, 2})
		if must(t, err); sum.Sum != 3 {
			t.Error(sum)
		}
		_, err = client.CallTool[string](ctx, c, "fail", nil)
		if te, ok := errors.AsType[*client.ToolError](err); !ok || te.Error() != "tool fail failed: no cheese" {
			t.Error(err)
		}
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "unknown"}); !errors.Is(err, mcp.ErrInvalidParams) {
			t.Error(err)
		}
		var steps []float64
		text, err := client.CallTool[string](ctx, c, "steps", nil, client.OnProgress(func(p mcp.ProgressParams) { steps = append(steps, p.Progress) }))
		if must(t, err); text != "done" || !slices.Equal(steps, []float64{1, 2, 3, 4, 5}) {
			t.Error(text, steps)
		}
		await(t, logged, "the log message")
		if logs.Load() != 1 {
			t.Errorf("%d log messages", logs.Load())
		}
		n := 0
		for _, err := range c.Resources(ctx) {
			must(t, err)
			n++
		}
		r, err := c.ReadResource(ctx, "a:2")
		if must(t, err); n != 3 || r.Contents[0].Text != "x" {
			t.Error(n, r)
		}
		if _, err := c.ReadResource(ctx, "a:none"); !mcp.IsNotFound(err, "a:none") {
			t.Error(err)
		}
		p, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"})
		if must(t, err); len(p.Messages) != 1 {
			t.Error(p)
		}
		v, err := c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.CompleteReference{Type: mcp.RefPrompt, Name: "p"}, Argument: mcp.CompleteArgument{Name: "a"}})
		if must(t, err); len(v.Completion.Values) != 1 {
			t.Error(v)
		}
	})
}

func TestRealAsking(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, _ *server.Server, connect func(client.Options) *client.Client) {
		t.Helper()
		asked := 0
		c := connect(client.Options{Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if asked++; asked == 2 {
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			}
			return accept(`{"name":"x"}`)(ctx, p)
		}})
		if c.Version() < mcp.V20250618 {
			t.Skip("this revision has no elicitation")
		}
		got, err := client.CallTool[string](t.Context(), c, "ask", nil)
		if must(t, err); got != `[accept"x" decline accept"x"]` || asked != 3 {
			t.Error(got, asked)
		}
		if _, err := client.CallTool[string](t.Context(), connect(client.Options{}), "ask", nil); err == nil {
			t.Error("a client without Elicit was asked")
		}
	})
}

func TestRealCancel(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, _ *server.Server, connect func(client.Options) *client.Client) {
		t.Helper()
		c := connect(client.Options{Timeout: time.Second})
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "block"})
		if !errors.Is(err, client.ErrTimeout) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "block"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		sum, err := client.CallTool[addOut](t.Context(), c, "add", addIn{1, 2}) // the connection lives
		if must(t, err); sum.Sum != 3 {
			t.Error(sum)
		}
	})
}

func TestRealSubscription(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, srv *server.Server, connect func(client.Options) *client.Client) {
		t.Helper()
		tools, updates := make(chan struct{}, 9), make(chan string, 9)
		c := connect(client.Options{
			OnToolsChanged:    func(context.Context) { tools <- struct{}{} },
			OnResourceUpdated: func(_ context.Context, uri string) { updates <- uri },
		})
		want := mcp.Filter{ToolsListChanged: true, ResourceSubscriptions: []string{"a:1"}}
		sub, err := c.Subscribe(t.Context(), want)
		must(t, err)
		if diff := cmp.Diff(want, sub.Filter()); diff != "" {
			t.Error(diff)
		}
		if _, err := c.ListTools(t.Context(), nil); err != nil {
			t.Error(err)
		}
		must(t, srv.ResourceUpdated(t.Context(), "a:2"))
		must(t, srv.ResourceUpdated(t.Context(), "a:1"))
		srv.RemoveTools("fail")
		if uri := await(t, updates, "the update"); uri != "a:1" {
			t.Error(uri)
		}
		await(t, tools, "the change of tools")
		for tool, err := range c.Tools(t.Context()) { // not from the cache
			if must(t, err); tool.Name == "fail" {
				t.Error("a removed tool is listed")
			}
		}
		must(t, sub.Close())
		await(t, sub.Done(), "the end")
	})
}

func TestRealProbe(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for name, prior := range map[string]mcp.Version{"fresh": "", "prior legacy": mcp.V20250618, "prior modern": mcp.V20260728} {
		c, err := client.Connect(t.Context(), pipeDialer{t, srv}, &client.Options{PriorVersion: prior})
		must(t, err)
		want := mcp.V20260728
		if prior == mcp.V20250618 {
			want = prior
		}
		if c.Version() != want {
			t.Errorf("%s: %s", name, c.Version())
		}
		must(t, c.Close())
	}
}

// The end of a connection is seen without a call.
func TestConnectionEnds(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Version{mcp.V20251125, mcp.V20260728} {
		near, far := rpc.Pipe()
		end := rpc.NewDuplex(context.Background(), far, newServer(t), nil)
		c, err := client.Connect(t.Context(), rpc.StreamDialer{
			Open: func(context.Context) (rpc.Stream, error) { return near, nil },
		}, &client.Options{Version: v})
		must(t, err)
		sub, err := c.Subscribe(t.Context(), mcp.Filter{ToolsListChanged: true})
		must(t, err)
		if err := c.Err(); err != nil {
			t.Error(err)
		}
		must(t, end.Close())
		await(t, c.Done(), "the end of the connection")
		await(t, sub.Done(), "the end of the subscription")
		if !errors.Is(c.Err(), rpc.ErrClosed) || !errors.Is(sub.Err(), rpc.ErrClosed) {
			t.Errorf("%s: ended with %v, the subscription with %v", v, c.Err(), sub.Err())
		}
		must(t, c.Close())
	}
}
