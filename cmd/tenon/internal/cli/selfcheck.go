package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// selfCheckTime bounds the check as a whole. It takes well under a second.
const selfCheckTime = 30 * time.Second

// selfCheck lets tenon's own client talk to the sample server in every
// revision over every transport, and says how that went.
func (a *app) selfCheck(ctx context.Context, endpoint string) {
	out := a.out
	if a.json {
		out = a.err // stdout has the one line
	}
	start := time.Now()
	checkCtx, cancel := context.WithTimeout(ctx, selfCheckTime)
	defer cancel()
	passed, failures := runChecks(checkCtx, routes(endpoint))
	if ctx.Err() != nil {
		return // stopped before it was done: there is nothing to say
	}
	fmt.Fprintf(out, "  Self-check     %d passed, %d failed (%.2f s)\n", passed, len(failures), time.Since(start).Seconds())
	for _, f := range failures {
		fmt.Fprintln(a.err, "    failed:", escapeLine(f))
	}
}

// route is one revision over one transport.
type route struct {
	transport string
	version   mcp.Version
	dialer    rpc.Dialer
}

func routes(endpoint string) []route {
	var all []route
	self, err := os.Executable()
	for _, rev := range mcp.Revisions() {
		if rev.Streamable {
			all = append(all, route{"Streamable HTTP", rev.Version, &streamhttp.Dialer{URL: endpoint}})
		} else {
			all = append(all, route{"HTTP+SSE", rev.Version, &streamhttp.SSEDialer{URL: endpoint}})
		}
		if err == nil {
			all = append(all, route{"stdio", rev.Version, &stdio.Command{Path: self, Args: []string{sampleName}, InheritEnv: true}})
		}
	}
	return all
}

func runChecks(ctx context.Context, all []route) (passed int, failures []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, r := range all {
		wg.Go(func() {
			p, f := r.check(ctx)
			mu.Lock()
			defer mu.Unlock()
			passed += p
			failures = append(failures, f...)
		})
	}
	wg.Wait()
	return passed, failures
}

func (r route) check(ctx context.Context) (passed int, failures []string) {
	report := func(name string, err error) {
		if err == nil {
			passed++
			return
		}
		failures = append(failures, fmt.Sprintf("%s %s, %s: %v", r.transport, r.version, name, err))
	}
	c, err := client.Connect(ctx, r.dialer, &client.Options{
		Version: r.version,
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]jsontext.Value{"name": jsontext.Value(`"tenon"`)}}, nil
		},
	})
	report("connect", err)
	if err != nil {
		return passed, failures
	}
	for _, check := range checks {
		if r.version < check.since {
			continue
		}
		report(check.name, check.run(ctx, c))
	}
	report("close", c.Close())
	return passed, failures
}

// checks are what each route has to pass.
var checks = []struct {
	name  string
	since mcp.Version
	run   func(context.Context, *client.Client) error
}{
	{name: "list tools", run: func(ctx context.Context, c *client.Client) error {
		tools, err := listTools(ctx, c)
		if err == nil && len(tools) == 0 {
			err = errors.New("there are none")
		}
		return err
	}},
	{name: "call a tool", run: func(ctx context.Context, c *client.Client) error {
		got, err := client.CallTool[string](ctx, c, "echo", map[string]string{"message": "hé\n"})
		return expect(err, got, "hé\n")
	}},
	{name: "structured result", run: func(ctx context.Context, c *client.Client) error {
		got, err := client.CallTool[struct {
			Sum float64 `json:"sum"`
		}](ctx, c, "add", map[string]int{"a": 2, "b": 40})
		return expect(err, got.Sum, 42)
	}},
	{name: "failing tool", run: func(ctx context.Context, c *client.Client) error {
		_, err := client.CallTool[string](ctx, c, "fail", nil)
		if is[*client.ToolError](err) {
			return nil
		}
		return fmt.Errorf("got %w, want a tool error", err)
	}},
	{name: "progress", run: func(ctx context.Context, c *client.Client) error {
		var steps int
		_, err := client.CallTool[string](ctx, c, "slow", map[string]float64{"steps": 3, "seconds": 0.01},
			client.OnProgress(func(mcp.ProgressParams) { steps++ }))
		return expect(err, steps, 3)
	}},
	{name: "ask the user", since: mcp.V20250618, run: func(ctx context.Context, c *client.Client) error {
		got, err := client.CallTool[string](ctx, c, "elicit", map[string]string{"message": "Who are you?"})
		return expect(err, got, "Hello, tenon!")
	}},
	{name: "read a resource", run: func(ctx context.Context, c *client.Client) error {
		res, err := c.ReadResource(ctx, "everything://notes/cats")
		if err != nil {
			return err
		}
		return expect(nil, len(res.Contents), 1)
	}},
	{name: "get a prompt", run: func(ctx context.Context, c *client.Client) error {
		res, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ann"}})
		if err != nil {
			return err
		}
		return expect(nil, len(res.Messages), 1)
	}},
	{name: "complete", run: func(ctx context.Context, c *client.Client) error {
		res, err := c.Complete(ctx, &mcp.CompleteParams{
			Ref:      mcp.CompleteReference{Type: mcp.RefPrompt, Name: "greet"},
			Argument: mcp.CompleteArgument{Name: "style", Value: "f"},
		})
		if err != nil {
			return err
		}
		return expect(nil, strings.Join(res.Completion.Values, " "), "formal friendly funny")
	}},
}

func expect[T comparable](err error, got, want T) error {
	if err == nil && got != want {
		err = fmt.Errorf("got %v, want %v", got, want)
	}
	return err
}
