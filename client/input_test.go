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

const (
	form    = `{"mode":"form","message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","default":7}},"required":["name"]}}`
	oldForm = `{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	visit   = `{"mode":"url","message":"go","url":"https://example.com/"}`
	sample  = `{"messages":[{"role":"user","content":{"type":"text","text":"q"}}],"maxTokens":5}`
	tooled  = `{"messages":[],"maxTokens":5,"tools":[]  ,"toolChoice":{"mode":"auto"}}`
)

func accept(content string) func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		r := &mcp.ElicitResult{Action: mcp.ElicitAccept}
		return r, json.Unmarshal([]byte(content), &r.Content)
	}
}

func sampler(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.OneOrMany{mcp.Text("a")}}, nil
}

// The same functions answer in both eras.
func TestAnswers(t *testing.T) {
	t.Parallel()
	errUser := errors.New("secret of the user")
	for name, tt := range map[string]struct {
		opts   client.Options
		method string
		params string
		want   string // the answer; "" where there is none
		code   int    // of the legacy error
	}{
		"form": {client.Options{Elicit: accept(`{"name":"x"}`)}, mcp.MethodElicit, form, `{"action":"accept","content":{"name":"x"}}`, 0},
		"form without mode": {
			client.Options{Elicit: accept(`{"name":"x"}`)},
			mcp.MethodElicit, oldForm,
			`{"action":"accept","content":{"name":"x"}}`, 0,
		},
		"form, nothing filled in": {client.Options{Elicit: accept(`null`)}, mcp.MethodElicit, oldForm, `{"action":"accept","content":{}}`, 0},
		"form with defaults": {
			client.Options{Elicit: accept(`{"name":"x"}`), ElicitDefaults: true},
			mcp.MethodElicit, form,
			`{"action":"accept","content":{"n":7,"name":"x"}}`, 0,
		},
		"form, wrong content":  {client.Options{Elicit: accept(`{"name":1}`)}, mcp.MethodElicit, form, "", -32603},
		"form, missing":        {client.Options{Elicit: accept(`{"n":1}`)}, mcp.MethodElicit, form, "", -32603},
		"form, params too odd": {client.Options{Elicit: accept(`{}`)}, mcp.MethodElicit, `{"message":1}`, "", -32602},
		"declined with content": {client.Options{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitDecline, Content: map[string]jsontext.Value{"x": jsontext.Value(`1`)}}, nil
		}}, mcp.MethodElicit, form, `{"action":"decline"}`, 0},
		"nil is cancel": {client.Options{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, nil
		}}, mcp.MethodElicit, form, `{"action":"cancel"}`, 0},
		"unknown action": {client.Options{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "yes"}, nil
		}}, mcp.MethodElicit, form, "", -32603},
		"error is cancel": {client.Options{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errUser
		}}, mcp.MethodElicit, form, `{"action":"cancel"}`, 0},
		"error of the protocol is cancel": {client.Options{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, rpc.Errorf(-7, "no")
		}}, mcp.MethodElicit, form, `{"action":"cancel"}`, 0},
		"roots, error": {client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, errUser }}, mcp.MethodRootsList, `{}`, "", -32603},
		"panic": {client.Options{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			panic("no")
		}}, mcp.MethodElicit, form, "", -32603},
		"no function":      {client.Options{}, mcp.MethodElicit, form, "", -32601},
		"url not declared": {client.Options{Elicit: accept(`{}`)}, mcp.MethodElicit, visit, "", -32602},
		"url": {
			client.Options{Elicit: accept(`{"x":1}`), ElicitURL: true},
			mcp.MethodElicit, visit,
			`{"action":"accept"}`, 0,
		},
		"unknown mode":     {client.Options{Elicit: accept(`{}`), ElicitURL: true}, mcp.MethodElicit, `{"mode":"dance","message":""}`, "", -32602},
		"sample":           {client.Options{Sample: sampler}, mcp.MethodCreateMessage, sample, `{"role":"assistant","content":{"type":"text","text":"a"},"model":"m"}`, 0},
		"sample, no tools": {client.Options{Sample: sampler}, mcp.MethodCreateMessage, tooled, "", -32602},
		"sample, tools": {
			client.Options{Sample: sampler, SampleTools: true},
			mcp.MethodCreateMessage, tooled,
			`{"role":"assistant","content":{"type":"text","text":"a"},"model":"m"}`, 0,
		},
		"sample refused": {client.Options{Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return nil, nil
		}}, mcp.MethodCreateMessage, sample, "", -1},
		"sample, no function": {client.Options{}, mcp.MethodCreateMessage, sample, "", -32601},
		"roots": {client.Options{Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///a"}}, nil
		}}, mcp.MethodRootsList, `{}`, `{"roots":[{"uri":"file:///a"}]}`, 0},
		"no roots": {client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}, mcp.MethodRootsList, ``, `{"roots":[]}`, 0},
		"roots elsewhere": {client.Options{Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "https://example.com/"}}, nil
		}}, mcp.MethodRootsList, `{}`, "", -32603},
		"roots, one slash": {client.Options{Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:/a"}}, nil
		}}, mcp.MethodRootsList, `{}`, "", -32603},
		"roots above": {client.Options{Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///a/%2e%2e/b"}}, nil
		}}, mcp.MethodRootsList, `{}`, "", -32603},
		"roots, relative": {client.Options{Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "a/b"}}, nil
		}}, mcp.MethodRootsList, `{}`, "", -32603},
		"roots, no function": {client.Options{}, mcp.MethodRootsList, `{}`, "", -32601},
		"unknown":            {client.Options{}, "dance/now", `{}`, "", -32601},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("legacy", func(t *testing.T) {
				t.Parallel()
				opts := tt.opts
				opts.Version = mcp.V20251125
				s := &fakeServer{script: answers(mcp.V20251125, nil)}
				connect(t, s, &opts)
				got, err := s.ask(rpc.IntID(1), tt.method, tt.params)
				if tt.want != "" {
					if err != nil || !sameJSON(t, got, tt.want) {
						t.Errorf("got %s, %v, want %s", got, err, tt.want)
					}
					return
				}
				wire := rpc.AsError(err)
				if wire.Code != tt.code || strings.Contains(wire.Message, "secret") {
					t.Errorf("got %s, %v, want code %d", got, wire, tt.code)
				}
			})
			t.Run("modern", func(t *testing.T) {
				t.Parallel()
				opts := tt.opts
				var answered string
				s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
					if req.Method != mcp.MethodToolsCall {
						return greeting(mcp.V20260728, req)
					}
					if answered = member(t, req.Params, "inputResponses"); answered != "" {
						answered = member(t, jsontext.Value(answered), "k")
						return hi, nil
					}
					params := tt.params
					if params == "" {
						params = "{}"
					}
					return fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"k":{"method":%q,"params":%s}}}`, tt.method, params), nil
				}}
				c := connect(t, s, &opts)
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"})
				if tt.want != "" {
					if err != nil || len(res.Content) != 1 || !sameJSON(t, answered, tt.want) {
						t.Errorf("answered %s, error %v, want %s", answered, err, tt.want)
					}
					return
				}
				ie, ok := errors.AsType[*client.InputError](err)
				if !ok || ie.Asked != tt.method || ie.Key != "k" || ie.Operation != mcp.MethodToolsCall {
					t.Errorf("error %v", err)
				}
				if name == "roots, error" && !errors.Is(err, errUser) {
					t.Errorf("error %v does not wrap the callback's", err)
				}
				if n := len(s.sent(mcp.MethodToolsCall)); n != 1 {
					t.Errorf("%d requests: it was tried again without an answer", n)
				}
			})
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	va, vb := jsontext.Value(a), jsontext.Value(b)
	if va.Canonicalize() != nil || vb.Canonicalize() != nil {
		return false
	}
	return string(va) == string(vb)
}

func TestInputRounds(t *testing.T) {
	t.Parallel()
	const ask = `"inputRequests":{"b":{"method":"roots/list"},"a":{"method":"elicitation/create","params":` + form + `}}`
	var retries []string
	n := 0
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		if req.Method != mcp.MethodPromptsGet {
			return greeting(mcp.V20260728, req)
		}
		retries = append(retries, member(t, req.Params, "requestState")+" "+member(t, req.Params, "inputResponses"))
		switch n++; n {
		case 1:
			return `{"resultType":"input_required",` + ask + `,"requestState":"é\u0000\"\\/ 1"}`, nil
		case 2: // the state replaces the one before; no questions
			return `{"resultType":"input_required","requestState":""}`, nil
		case 3: // no state: it must not be sent
			return `{"resultType":"input_required","inputRequests":{"b":{"method":"roots/list"}}}`, nil
		}
		return `{"resultType":"complete","description":"done","messages":[]}`, nil
	}}
	c := connect(t, s, &client.Options{
		Elicit: accept(`{"name":"x"}`),
		Roots:  func(context.Context) ([]mcp.Root, error) { return nil, nil },
	})
	state := "of another call"
	p := &mcp.GetPromptParams{Name: "p", Arguments: map[string]string{"x": "y"}}
	p.RequestState = &state // not of this operation: it is not sent
	res, err := c.GetPrompt(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if res.Description != "done" || res.InputRequests != nil || res.RequestState != nil {
		t.Errorf("result: %+v", res)
	}
	want := []string{
		` `,
		`"é\u0000\"\\/ 1" {"a":{"action":"accept","content":{"name":"x"}},"b":{"roots":[]}}`,
		`"" `,
		` {"b":{"roots":[]}}`,
	}
	if diff := cmp.Diff(want, retries); diff != "" {
		t.Error(diff)
	}
	seen := map[rpc.ID]bool{}
	for _, req := range s.sent(mcp.MethodPromptsGet) {
		if seen[req.ID] {
			t.Errorf("id %s twice", req.ID)
		}
		seen[req.ID] = true
		if got := member(t, req.Params, "arguments"); got != `{"x":"y"}` {
			t.Errorf("arguments %s", got)
		}
		if member(t, req.Params, "_meta", mcp.MetaProtocolVersion) == "" {
			t.Error("a retry without _meta")
		}
	}
}

func TestInputBounds(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%q:{"method":"roots/list"},`, strconv.Itoa(i))
		}
		return `{"resultType":"input_required","inputRequests":{` + strings.TrimSuffix(b.String(), ",") + `}}`
	}
	for name, tt := range map[string]struct {
		method, result string
		requests       int
		is             error
	}{
		"for ever":            {mcp.MethodToolsCall, many(1), 11, client.ErrNotEnding},
		"too many at once":    {mcp.MethodToolsCall, many(33), 1, nil},
		"asks for nothing":    {mcp.MethodToolsCall, `{"resultType":"input_required"}`, 1, nil},
		"state is no string":  {mcp.MethodToolsCall, `{"resultType":"input_required","requestState":{}}`, 1, nil},
		"method may not ask":  {mcp.MethodComplete, many(1), 1, nil},
		"lists may not ask":   {mcp.MethodToolsList, many(1), 1, nil},
		"asks for a tool":     {mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}}`, 1, nil},
		"ping is no question": {mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"a":{"method":"ping"}}}`, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &fakeServer{script: answers(mcp.V20260728, map[string]string{tt.method: tt.result})}
			c := connect(t, s, &client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }})
			var err error
			switch tt.method {
			case mcp.MethodToolsCall:
				_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"})
			case mcp.MethodToolsList:
				_, err = c.ListTools(t.Context(), nil)
			default:
				_, err = c.Complete(t.Context(), &mcp.CompleteParams{})
			}
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v", err)
			}
			if n := len(s.sent(tt.method)); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

func TestManualInput(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20260728, map[string]string{
		"tools/call": `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}`,
	})}
	c := connect(t, s, nil)
	p := &mcp.CallToolParams{Name: "a"}
	p.InputResponses = mcp.InputResponses{"z": jsontext.Value(`{}`)}
	res, err := c.CallTool(t.Context(), p, client.ManualInput())
	if err != nil || res.ResultType != mcp.ResultInputRequired || *res.RequestState != "s" || len(res.InputRequests) != 1 {
		t.Fatal(res, err)
	}
	if got := member(t, s.sent("tools/call")[0].Params, "inputResponses"); got != `{"z":{}}` {
		t.Error(got)
	}
}

func TestModernServerMustNotAsk(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20260728, nil)}
	connect(t, s, &client.Options{Elicit: accept(`{}`)})
	if _, err := s.ask(rpc.IntID(9), mcp.MethodElicit, form); err == nil {
		t.Error("answered")
	}
	if !slices.Contains(s.conn.cancelled, rpc.IntID(9)) {
		t.Error("the refusal goes over the wire: a client of this era sends no responses")
	}
}

// The clock of a call stands while the user thinks.
func TestThinkingTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeServer{script: func(_ context.Context, s *fakeServer, req *rpc.Request) (any, error) {
			if req.Method != mcp.MethodToolsCall {
				return greeting(mcp.V20250618, req)
			}
			<-time.After(30 * time.Second)
			res, err := s.ask(rpc.StringID("q"), mcp.MethodElicit, oldForm)
			if err != nil || !strings.Contains(res, "accept") {
				return nil, err
			}
			<-time.After(50 * time.Second)
			return hi, nil
		}}
		c := connect(t, s, &client.Options{Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			<-time.After(20 * time.Minute)
			return accept(`{"name":"x"}`)(ctx, p)
		}})
		defer c.Close()
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}); err != nil {
			t.Error(err)
		}
	})
}

// The server takes back what it asked.
func TestQuestionCancelled(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan error, 1)
	s := &fakeServer{script: answers(mcp.V20250618, nil)}
	connect(t, s, &client.Options{Elicit: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}})
	go func() { _, _ = s.ask(rpc.StringID("7"), mcp.MethodElicit, oldForm) }()
	await(t, started, "the question")
	for _, params := range []string{`{"requestId":7}`, `{"requestId":null}`, `{}`, ``, `{"requestId":"8","reason":"other"}`} {
		s.notify(mcp.NotificationCancelled, params)
	}
	select {
	case <-ended:
		t.Fatal("another cancellation ended it")
	default:
	}
	s.notify(mcp.NotificationCancelled, `{"requestId":"7","reason":"enough"}`)
	if err := await(t, ended, "the end"); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	all := client.Options{
		Elicit: accept(`{}`), ElicitURL: true, Sample: sampler, SampleTools: true,
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
		Capabilities: &mcp.ClientCapabilities{
			Extensions:  map[string]jsontext.Value{"com.example/x": jsontext.Value(`{}`)},
			Elicitation: &mcp.ElicitationCapability{}, // follows from the function, not from here
		},
	}
	for _, tt := range []struct {
		v    mcp.Version
		opts client.Options
		want string
	}{
		{mcp.V20260728, client.Options{}, `{}`},
		{mcp.V20251125, client.Options{Capabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}, Sampling: &mcp.SamplingCapability{}}}, `{}`},
		{mcp.V20260728, all, `{"elicitation":{"form":{},"url":{}},"extensions":{"com.example/x":{}},"roots":{},"sampling":{"tools":{}}}`},
		{mcp.V20251125, all, `{"elicitation":{"form":{},"url":{}},"extensions":{"com.example/x":{}},"roots":{"listChanged":true},"sampling":{"tools":{}}}`},
		{mcp.V20250618, all, `{"elicitation":{},"extensions":{"com.example/x":{}},"roots":{"listChanged":true},"sampling":{}}`},
	} {
		tt.opts.Version = tt.v
		s := &fakeServer{script: answers(tt.v, nil)}
		connect(t, s, &tt.opts)
		path := []string{"capabilities"}
		if tt.v.Modern() {
			path = []string{"_meta", mcp.MetaClientCapabilities}
		}
		if got := member(t, s.sent("")[0].Params, path...); !sameJSON(t, got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.v, got, tt.want)
		}
	}
}
