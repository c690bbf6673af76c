package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

func form(fields ...mcp.Field) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "please", RequestedSchema: mcp.FormSchema(fields...)}
}

var nameField = mcp.Field{Name: "name", Required: true, Schema: mcp.PrimitiveSchema{Type: "string"}}

func accept(key, value string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]jsontext.Value{key: jsontext.Value(value)}}
}

// cannotAsk checks what a tool that asks does to a client that cannot be asked.
func cannotAsk(t *testing.T, e era, tool string) {
	t.Helper()
	c := e.Connect(e.srv, &client.Options{})
	res, err := c.CallTool(t.Context(), call(tool, ""))
	if e.modern() {
		isCode(t, "a client that cannot be asked", err, mcp.CodeMissingCapability)
		if err != nil && !strings.Contains(err.Error(), string(e.Version)) {
			t.Errorf("the revision is not named: %v", err)
		}
		return
	}
	if err != nil || !res.IsError || !strings.Contains(textOf(t, res), string(e.Version)) {
		t.Errorf("a client that cannot be asked: %+v, %v", res, err)
	}
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		runs := new(atomic.Int64)
		addTool(e, "ask", func(ctx context.Context, _ none) (string, error) {
			runs.Add(1)
			res, err := server.CallFrom(ctx).Elicit(ctx, "who", form(nameField))
			if err != nil && !errors.Is(err, server.ErrInputRequired) {
				none := fmt.Sprintf("revision %s has no elicitation", e.Version)
				if !errors.Is(err, mcp.ErrMissingCapability) || strings.Contains(err.Error(), none) == e.since(mcp.V20250618) {
					t.Errorf("the handler's error: %v", err)
				}
			}
			if err != nil {
				return "", err
			}
			return string(res.Action) + " " + string(res.Content["name"]), nil
		})
		cannotAsk(t, e, "ask")
		if !e.since(mcp.V20250618) {
			return // there is no elicitation, whatever the client can
		}
		var answer *mcp.ElicitResult
		e.opts.Elicit = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if p.Message != "please" {
				t.Errorf("message %q", p.Message)
			}
			return answer, nil
		}
		c := e.connect()
		runs.Store(0)
		answer = accept("name", `"Ada"`)
		equal(t, "accepted", must[string](t)(client.CallTool[string](t.Context(), c, "ask", nil)), `accept "Ada"`)
		want := int64(1)
		if e.modern() {
			want = 2 // it ran again, with the answer
		}
		equal(t, "runs", runs.Load(), want)
		answer = &mcp.ElicitResult{Action: mcp.ElicitDecline}
		equal(t, "declined", must[string](t)(client.CallTool[string](t.Context(), c, "ask", nil)), "decline ")
		answer = nil
		equal(t, "cancelled", must[string](t)(client.CallTool[string](t.Context(), c, "ask", nil)), "cancel ")
	})
}

func TestElicitURL(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		addTool(e, "visit", func(ctx context.Context, _ none) (string, error) {
			res, err := server.CallFrom(ctx).Elicit(ctx, "site", &mcp.ElicitParams{
				Mode: mcp.ElicitURL, Message: "log in", URL: "https://example.com/login", ElicitationID: "e1",
			})
			if err != nil {
				return "", err
			}
			return string(res.Action), nil
		})
		e.opts.Elicit = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if p.Mode != mcp.ElicitURL || p.URL != "https://example.com/login" {
				t.Errorf("got %+v", p)
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}
		forms := *e.opts
		res, err := e.Connect(e.srv, &forms).CallTool(t.Context(), call("visit", ""))
		if err == nil && !res.IsError {
			t.Errorf("a client with forms only: %+v", res)
		}
		if !e.since(mcp.V20251125) {
			return
		}
		e.opts.ElicitURL = true
		equal(t, "accepted", must[string](t)(client.CallTool[string](t.Context(), e.connect(), "visit", nil)), "accept")
	})
}

func TestSampling(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		sample := func(tools ...mcp.Tool) func(context.Context, none) (string, error) {
			return func(ctx context.Context, _ none) (string, error) {
				res, err := server.CallFrom(ctx).Sample(ctx, "capital", &mcp.CreateMessageParams{
					Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.OneOrMany{mcp.Text("capital of France?")}}},
					MaxTokens: 10, Tools: tools,
				})
				if err != nil {
					return "", err
				}
				return fmt.Sprint(res.Model, " ", len(res.Content)), nil
			}
		}
		addTool(e, "plain", sample())
		addTool(e, "tools", sample(mcp.Tool{Name: "lookup"}))
		cannotAsk(t, e, "plain")
		e.opts.Sample = func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			res := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.OneOrMany{mcp.Text("Paris")}}
			if len(p.Tools) == 1 {
				res.Content = mcp.OneOrMany{
					&mcp.ToolUseContent{ID: "1", Name: "lookup", Input: jsontext.Value(`{}`)},
					&mcp.ToolUseContent{ID: "2", Name: "lookup", Input: jsontext.Value(`{}`)},
				}
			}
			return res, nil
		}
		without := *e.opts
		c := e.Connect(e.srv, &without)
		equal(t, "answer", must[string](t)(client.CallTool[string](t.Context(), c, "plain", nil)), "m 1")
		res, err := c.CallTool(t.Context(), call("tools", ""))
		if err == nil && !res.IsError {
			t.Errorf("a client that samples without tools: %+v", res)
		}
		if !e.since(mcp.V20251125) {
			return
		}
		e.opts.SampleTools = true
		equal(t, "with tools", must[string](t)(client.CallTool[string](t.Context(), e.connect(), "tools", nil)), "m 2")
	})
}

func TestAskTogetherAndRoots(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		runs := new(atomic.Int64)
		addTool(e, "both", func(ctx context.Context, _ none) (string, error) {
			runs.Add(1)
			var roots mcp.ListRootsResult
			var sampled mcp.CreateMessageResult
			err := server.CallFrom(ctx).Ask(ctx,
				server.RootsQuestion("roots", &roots),
				server.SampleQuestion("sample", &mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{}, MaxTokens: 1}, &sampled),
			)
			if err != nil {
				return "", err
			}
			return roots.Roots[0].URI + " " + sampled.Model, nil
		})
		cannotAsk(t, e, "both")
		e.opts.Roots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil }
		e.opts.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.OneOrMany{mcp.Text("x")}}, nil
		}
		runs.Store(0)
		equal(t, "answers", must[string](t)(client.CallTool[string](t.Context(), e.connect(), "both", nil)), "file:///a m")
		if e.modern() {
			equal(t, "rounds", runs.Load(), 2) // one for both questions
		}
	})
}

func TestAskInSequence(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		if !e.since(mcp.V20250618) {
			return // TestElicitation has what happens there
		}
		orders, runs := new(atomic.Int64), new(atomic.Int64)
		addTool(e, "order", func(ctx context.Context, _ none) (string, error) {
			runs.Add(1)
			c := server.CallFrom(ctx)
			var number int64
			if known, err := c.State(&number); err != nil {
				return "", err
			} else if !known {
				number = orders.Add(1)
				if err := c.SetState(number); err != nil {
					return "", err
				}
			}
			first, err := c.Elicit(ctx, "first", form(nameField))
			if err != nil {
				return "", err
			}
			second, err := c.Elicit(ctx, "second", form(nameField))
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d %s %s", number, first.Content["name"], second.Content["name"]), nil
		})
		asked := 0
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked++
			return accept("name", fmt.Sprintf(`"n%d"`, asked)), nil
		}
		equal(t, "answers", must[string](t)(client.CallTool[string](t.Context(), e.connect(), "order", nil)), `1 "n1" "n2"`)
		equal(t, "asked", asked, 2)
		equal(t, "orders", orders.Load(), 1)
		if e.modern() {
			equal(t, "runs", runs.Load(), 3)
		}
	})
}

// A question that is asked again needs another key: with the same one it would
// get the old answer in the modern era, for ever.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		if !e.since(mcp.V20250618) {
			return
		}
		var runs atomic.Int64
		pin := func(again func(key string, try int) string) func(context.Context, none) (string, error) {
			return func(ctx context.Context, _ none) (string, error) {
				runs.Add(1)
				for try := 1; ; try++ {
					res, err := server.CallFrom(ctx).Elicit(ctx, again("pin", try), form(nameField))
					if err != nil {
						return "", err
					}
					if got := string(res.Content["name"]); got == `"right"` {
						return got, nil
					}
				}
			}
		}
		addTool(e, "same", pin(func(key string, _ int) string { return key }))
		addTool(e, "other", pin(func(key string, try int) string { return fmt.Sprintf("%s-%d", key, try) }))
		addTool(e, "together", func(ctx context.Context, _ none) (string, error) {
			var res mcp.ElicitResult
			q := server.ElicitQuestion("pin", form(nameField), &res)
			return "", server.CallFrom(ctx).Ask(ctx, q, q)
		})
		answers := []string{`"wrong"`, `"right"`}
		asked := 0
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked++
			return accept("name", answers[min(asked, len(answers))-1]), nil
		}
		c := e.connect()
		for _, tool := range []string{"same", "together"} {
			asked = 0
			res := must[*mcp.CallToolResult](t)(c.CallTool(t.Context(), call(tool, "")))
			if !res.IsError || !strings.Contains(textOf(t, res), `"pin-2"`) {
				t.Errorf("%s: %+v", tool, res)
			}
		}
		asked = 0
		runs.Store(0)
		equal(t, "other", must[string](t)(client.CallTool[string](t.Context(), c, "other", nil)), `"right"`)
		want := int64(1)
		if e.modern() {
			want = 3
		}
		equal(t, "runs", runs.Load(), want)
	})
}

func TestPromptsAndResourcesAsk(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		if !e.since(mcp.V20250618) {
			return
		}
		err := errors.Join(
			e.srv.AddPrompt(mcp.Prompt{Name: "p"}, func(ctx context.Context, _ *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				res, err := server.CallFrom(ctx).Elicit(ctx, "k", form(nameField))
				if err != nil {
					return nil, err
				}
				return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(string(res.Content["name"]))}}}, nil
			}),
			e.srv.AddResource(mcp.Resource{URI: "a://b", Name: "b"}, func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
				res, err := server.CallFrom(ctx).Elicit(ctx, "k", form(nameField))
				if err != nil {
					return nil, err
				}
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: string(res.Content["name"])}}}, nil
			}),
		)
		if err != nil {
			t.Fatal(err)
		}
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return accept("name", `"x"`), nil }
		c := e.connect()
		prompt := must[*mcp.GetPromptResult](t)(c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"}))
		equal(t, "prompt", prompt.Messages[0].Content.(*mcp.TextContent).Text, `"x"`)
		res := must[*mcp.ReadResourceResult](t)(c.ReadResource(t.Context(), "a://b"))
		equal(t, "resource", res.Contents[0].Text, `"x"`)
	})
}

// A client that sends back another state than it got, or for another request,
// is refused: the state is sealed.
func TestStateIsSealed(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		if !e.modern() {
			return // only there do states travel
		}
		ask := func(ctx context.Context, _ map[string]string) (string, error) {
			c := server.CallFrom(ctx)
			if err := c.SetState(1); err != nil {
				return "", err
			}
			if _, err := c.Elicit(ctx, "k", form(nameField)); err != nil {
				return "", err
			}
			return "ok", nil
		}
		addTool(e, "ask", ask)
		addTool(e, "other", ask)
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil }
		c := e.connect()
		ctx := t.Context()
		res := must[*mcp.CallToolResult](t)(c.CallTool(ctx, call("ask", `{"x":"1"}`), client.ManualInput()))
		state := *res.RequestState
		retry := func(tool, args, state string) error {
			p := call(tool, args)
			p.RequestState = &state
			p.InputResponses = mcp.InputResponses{"k": jsontext.Value(`{"action":"accept","content":{"name":"a"}}`)}
			_, err := c.CallTool(ctx, p, client.ManualInput())
			return err
		}
		if err := retry("ask", `{"x":"1"}`, state); err != nil {
			t.Errorf("as it was: %v", err)
		}
		flipped := state[:10] + strings.ToUpper(state[10:11]) + strings.ToLower(state[11:12]) + state[12:] + "A"
		for name, err := range map[string]error{
			"tampered":         retry("ask", `{"x":"1"}`, flipped),
			"cut":              retry("ask", `{"x":"1"}`, state[:len(state)-1]),
			"made up":          retry("ask", `{"x":"1"}`, "state"),
			"of another tool":  retry("other", `{"x":"1"}`, state),
			"of other content": retry("ask", `{"x":"2"}`, state),
		} {
			isCode(t, name, err, rpc.CodeInvalidParams)
		}
	})
}

func TestCallFromOutsideARequest(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := server.CallFrom(ctx)
	c.Logger().Info("nowhere")
	if err := errors.Join(c.Progress(ctx, 1, 2, ""), c.Log(ctx, mcp.LevelInfo, 1)); err != nil {
		t.Error(err)
	}
	if _, err := c.Elicit(ctx, "k", form()); !errors.Is(err, server.ErrNoCall) {
		t.Errorf("elicit: %v", err)
	}
}

// What a handler sees of a failure of the client's function does not depend on
// the revision.
func TestElicitFails(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		if !e.since(mcp.V20250618) {
			return
		}
		addTool(e, "ask", func(ctx context.Context, _ none) (string, error) {
			res, err := server.CallFrom(ctx).Elicit(ctx, "who", form(nameField))
			if err != nil {
				return "", err
			}
			return string(res.Action), nil
		})
		var failure error
		e.opts.Elicit = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, failure }
		c := e.connect()
		for _, failure = range []error{errors.New("no window"), rpc.Errorf(-7, "no"), context.Canceled} {
			equal(t, failure.Error(), must[string](t)(client.CallTool[string](t.Context(), c, "ask", nil)), "cancel")
		}
	})
}
