package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

var nameForm = jsontext.Value(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)

func form(message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: nameForm}
}

// answers is a user: for each message of a form, what is filled in.
type answers map[string]string

func (a answers) answer(method string, params jsontext.Value) (any, error) {
	switch method {
	case "sampling/createMessage":
		return jsontext.Value(`{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m"}`), nil
	case "roots/list":
		return jsontext.Value(`{"roots":[{"uri":"file:///w"}]}`), nil
	}
	var p mcp.ElicitParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	return jsontext.Value(`{"action":"accept","content":{"name":"` + a[p.Message] + `"}}`), nil
}

// converse calls a tool, a prompt or a resource and answers what it is asked,
// in whichever era. It returns the result and the number of rounds.
func (w *wire) converse(params func(string) string, method, members string, a answers) (string, int) {
	w.t.Helper()
	w.onRequest(func(_ context.Context, req *rpc.Request) (any, error) { return a.answer(req.Method, req.Params) })
	retry := ""
	for round := 1; ; round++ {
		raw := w.must(method, params(members+retry))
		res := decode[mcp.InputRequiredResult](w.t, raw)
		if res.ResultType != mcp.ResultInputRequired {
			return raw, round
		}
		got := mcp.Answers{InputResponses: mcp.InputResponses{}, RequestState: res.RequestState}
		for key, q := range res.InputRequests {
			v, err := a.answer(q.Method, q.Params)
			if err != nil {
				w.t.Fatal(err)
			}
			got.InputResponses[key] = v.(jsontext.Value)
		}
		b, err := json.Marshal(&got)
		if err != nil {
			w.t.Fatal(err)
		}
		retry = "," + string(b[1:len(b)-1])
	}
}

// interview asks three questions, one after another.
func interview(ctx context.Context) (string, error) {
	c := server.CallFrom(ctx)
	var said []string
	for _, q := range []string{"first", "second", "third"} {
		res, err := c.Elicit(ctx, q, form(q))
		if err != nil {
			return "", err
		}
		said = append(said, string(res.Content["name"]))
	}
	return strings.Join(said, " "), nil
}

func TestOneHandlerForBothEras(t *testing.T) {
	t.Parallel()
	a := answers{"first": "a", "second": "b", "third": "c"}
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		s := newServer(nil)
		server.AddTool(s, mcp.Tool{Name: "three"}, func(ctx context.Context, _ struct{}) (string, error) { return interview(ctx) })
		server.AddTool(s, mcp.Tool{Name: "all"}, func(ctx context.Context, _ struct{}) (string, error) {
			var e mcp.ElicitResult
			var m mcp.CreateMessageResult
			var r mcp.ListRootsResult
			err := server.CallFrom(ctx).Ask(ctx,
				server.ElicitQuestion("e", form("first"), &e),
				server.SampleQuestion("m", &mcp.CreateMessageParams{MaxTokens: 1, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.OneOrMany{mcp.Text("?")}}}}, &m),
				server.RootsQuestion("r", &r))
			if err != nil {
				return "", fmt.Errorf("asking: %w", err)
			}
			return fmt.Sprint(string(e.Content["name"]), m.Content[0].(*mcp.TextContent).Text, r.Roots[0].URI), nil
		})
		err := s.AddPrompt(mcp.Prompt{Name: "p"}, func(ctx context.Context, _ *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			got, err := interview(ctx)
			return &mcp.GetPromptResult{Description: got}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.AddResource(mcp.Resource{URI: "x:y", Name: "r"}, func(ctx context.Context, _ *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			got, err := interview(ctx)
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x:y", Text: got}}}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		w := dial(t, s)
		open(w)
		raw, rounds := w.converse(params, "tools/call", `"name":"three"`, a)
		if text(t, raw) != `"a" "b" "c"` {
			t.Errorf("three: %s", raw)
		}
		raw, all := w.converse(params, "tools/call", `"name":"all"`, a)
		if got := text(t, raw); got != `"a"Parisfile:///w` {
			t.Errorf("all: %s", raw)
		}
		if rounds > 1 && (rounds != 4 || all != 2) {
			t.Errorf("rounds: %d and %d", rounds, all)
		}
		raw, _ = w.converse(params, "prompts/get", `"name":"p"`, a)
		if got := decode[mcp.GetPromptResult](t, raw).Description; got != `"a" "b" "c"` {
			t.Errorf("prompt: %s", raw)
		}
		raw, _ = w.converse(params, "resources/read", `"uri":"x:y"`, a)
		if got := decode[mcp.ReadResourceResult](t, raw).Contents[0].Text; got != `"a" "b" "c"` {
			t.Errorf("resource: %s", raw)
		}
	})
}

func TestState(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		s := newServer(nil)
		made := 0
		server.AddTool(s, mcp.Tool{Name: "once"}, func(ctx context.Context, _ struct{}) (string, error) {
			c := server.CallFrom(ctx)
			var id string
			if known, err := c.State(&id); err != nil || !known {
				made++
				id = fmt.Sprintf("id-%d", made)
				if err := errors.Join(err, c.SetState(id)); err != nil {
					return "", err
				}
			}
			if _, err := c.Elicit(ctx, "sure", form("sure")); err != nil {
				return "", err
			}
			return id, nil
		})
		w := dial(t, s)
		open(w)
		raw, _ := w.converse(params, "tools/call", `"name":"once"`, answers{"sure": "yes"})
		if text(t, raw) != "id-1" || made != 1 {
			t.Errorf("%s, made %d", raw, made)
		}
	})
}

// secretServer has a tool whose second round depends on its state.
func secretServer(opts *server.Options) *server.Server {
	s := newServer(opts)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, in struct {
		N int `json:"n,omitzero"`
	},
	) (string, error) {
		c := server.CallFrom(ctx)
		if err := c.SetState("top secret"); err != nil {
			return "", err
		}
		_, err := c.Elicit(ctx, "k", form("k"))
		return "done", err
	})
	return s
}

func stateOf(t *testing.T, w *wire, members string) string {
	t.Helper()
	res := decode[mcp.InputRequiredResult](t, w.must("tools/call", asking(members)))
	if res.RequestState == nil {
		t.Fatal("no state")
	}
	if strings.Contains(*res.RequestState, "secret") {
		t.Fatal("the state can be read")
	}
	return *res.RequestState
}

const accepted = `"inputResponses":{"k":{"action":"accept","content":{"name":"x"}}}`

func TestStateIsRefused(t *testing.T) {
	t.Parallel()
	who := "alice"
	key1, key2 := []byte("0123456789abcdef-one"), []byte("0123456789abcdef-two")
	opts := &server.Options{StateKeys: [][]byte{key1}, Principal: func(context.Context, *rpc.Request) string { return who }}
	w := dial(t, secretServer(opts))
	state := stateOf(t, w, `"name":"t","arguments":{"n":1}`)
	try := func(w *wire, state, members string) error {
		_, err := w.send("tools/call", asking(members+","+accepted+`,"requestState":"`+state+`"`))
		return err
	}
	good := `"name":"t","arguments":{"n":1}`
	if err := try(w, state, good); err != nil {
		t.Errorf("good: %v", err)
	}
	if err := try(w, state, `"arguments":{ "n" : 1},"name":"t"`); err != nil {
		t.Errorf("the same in other words: %v", err)
	}
	rotated := dial(t, secretServer(&server.Options{StateKeys: [][]byte{key2, key1}, Principal: opts.Principal}))
	if err := try(rotated, state, good); err != nil {
		t.Errorf("old key: %v", err)
	}
	for name, err := range map[string]error{
		"tampered":        try(w, state[:len(state)-2]+"AA", good),
		"cut":             try(w, state[:20], good),
		"empty":           try(w, "", good),
		"junk":            try(w, "v1.!!!", good),
		"other arguments": try(w, state, `"name":"t","arguments":{"n":2}`),
		"no arguments":    try(w, state, `"name":"t"`),
		"other key":       try(dial(t, secretServer(&server.Options{StateKeys: [][]byte{key2}, Principal: opts.Principal})), state, good),
		"long":            try(w, "v1."+strings.Repeat("A", 1<<20), good),
	} {
		if !errors.Is(err, mcp.ErrInvalidParams) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	who = "mallory"
	if err := try(w, state, good); !errors.Is(err, mcp.ErrInvalidParams) {
		t.Errorf("another principal: got %v", err)
	}
}

func TestStateExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := secretServer(&server.Options{StateTTL: time.Minute}).Bind(t.Context(), bare{})
		call := func(more string) (*mcp.InputRequiredResult, error) {
			req := &rpc.Request{ID: rpc.IntID(1), Method: "tools/call", Params: jsontext.Value(asking(`"name":"t"` + more))}
			res, err := h.Handle(t.Context(), req, bare{})
			in, _ := res.(*mcp.InputRequiredResult)
			return in, err
		}
		asked, err := call("")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + time.Second) //nolint:forbidigo // the bubble's time
		_, err = call("," + accepted + `,"requestState":"` + *asked.RequestState + `"`)
		if e, ok := errors.AsType[*rpc.Error](err); !ok || e.Code != rpc.CodeInvalidParams || !strings.Contains(e.Message, "expired") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnswersInTheModernEra(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
		res, err := server.CallFrom(ctx).Elicit(ctx, "k", form("k"))
		if err != nil {
			return "", err
		}
		return string(res.Action), nil
	})
	server.AddTool(s, mcp.Tool{Name: "swallow"}, func(ctx context.Context, _ struct{}) (string, error) {
		_, err := server.CallFrom(ctx).Elicit(ctx, "k", form("k"))
		return fmt.Sprint("without: ", errors.Is(err, server.ErrInputRequired)), nil
	})
	server.AddTool(s, mcp.Tool{Name: "lie"}, func(context.Context, struct{}) (string, error) { return "", server.ErrInputRequired })
	w := dial(t, s)
	call := func(more string) string { return asking(`"name":"t"` + more) }

	first := decode[mcp.InputRequiredResult](t, w.must("tools/call", call("")))
	if first.RequestState != nil || first.InputRequests["k"].Method != "elicitation/create" {
		t.Errorf("first round: %+v", first)
	}
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"name":"x"}}`: "accept",
		`{"action":"decline"}`:                       "decline",
		`{"action":"cancel","content":{}}`:           "cancel",
	} {
		if raw := w.must("tools/call", call(`,"inputResponses":{"k":`+answer+`,"unknown":7}`)); text(t, raw) != want {
			t.Errorf("%s: %s", answer, raw)
		}
	}
	for _, bad := range []string{`7`, `{}`, `{"action":"maybe"}`, `{"action":"accept"}`, `{"action":"accept","content":{"name":"secret","x":1}}`, `{"action":"accept","content":{"name":7}}`, `{"action":"accept","content":[]}`} {
		res, err := w.send("tools/call", call(`,"inputResponses":{"k":`+bad+`}`))
		if bad == `{"action":"accept","content":{"name":"secret","x":1}}` { // the form allows more
			if err != nil {
				t.Errorf("%s: %v", bad, err)
			}
			continue
		}
		if !errors.Is(err, mcp.ErrInvalidParams) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %s, %v", bad, res, err)
		}
	}
	again := decode[mcp.InputRequiredResult](t, w.must("tools/call", call(`,"inputResponses":{"other":{}}`)))
	if again.ResultType != mcp.ResultInputRequired {
		t.Errorf("a missing answer is asked for again: %+v", again)
	}
	w.wants(rpc.CodeInvalidParams, "tools/call", call(`,"inputResponses":[]`))
	if raw := w.must("tools/call", asking(`"name":"swallow"`)); text(t, raw) != "without: true" {
		t.Errorf("swallow: %s", raw)
	}
	w.wants(rpc.CodeInternalError, "tools/call", asking(`"name":"lie"`))
}

func TestMissingCapabilities(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	ask := func(name string, q func() server.Question) {
		server.AddTool(s, mcp.Tool{Name: name}, func(ctx context.Context, _ struct{}) (string, error) {
			err := server.CallFrom(ctx).Ask(ctx, q())
			if err != nil && !errors.Is(err, mcp.ErrMissingCapability) && !errors.Is(err, server.ErrInputRequired) {
				return "", fmt.Errorf("unexpected: %w", err)
			}
			return "", err
		})
	}
	ask("form", func() server.Question { return server.ElicitQuestion("k", form("k"), new(mcp.ElicitResult)) })
	ask("url", func() server.Question {
		return server.ElicitQuestion("k", &mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://x.test"}, new(mcp.ElicitResult))
	})
	ask("sample", func() server.Question {
		return server.SampleQuestion("k", &mcp.CreateMessageParams{}, new(mcp.CreateMessageResult))
	})
	ask("tools", func() server.Question {
		return server.SampleQuestion("k", &mcp.CreateMessageParams{Tools: []mcp.Tool{{Name: "x"}}}, new(mcp.CreateMessageResult))
	})
	ask("roots", func() server.Question { return server.RootsQuestion("k", new(mcp.ListRootsResult)) })
	for _, tc := range []struct{ tool, capabilities, missing string }{
		{"form", `{}`, "elicitation.form"},
		{"form", `{"elicitation":{"url":{}}}`, "elicitation.form"},
		{"form", `{"elicitation":{}}`, ""},
		{"url", `{"elicitation":{}}`, "elicitation.url"},
		{"url", `{"elicitation":{"url":{}}}`, ""},
		{"sample", `{}`, "sampling"},
		{"sample", `{"sampling":{}}`, ""},
		{"tools", `{"sampling":{}}`, "sampling.tools"},
		{"tools", `{"sampling":{"tools":{}}}`, ""},
		{"roots", `{}`, "roots"},
		{"roots", `{"roots":{}}`, ""},
	} {
		w := dial(t, s)
		params := `{"name":"` + tc.tool + `",` + meta(tc.capabilities, "") + `}`
		if tc.missing == "" {
			w.must("tools/call", params)
			continue
		}
		e := w.wants(mcp.CodeMissingCapability, "tools/call", params)
		data, err := mcp.ErrorData[mcp.CapabilityData](e)
		if err != nil || !data.Required.Has(tc.missing) {
			t.Errorf("%s %s: %s, %v", tc.tool, tc.capabilities, e.Data, err)
		}
		w.initialize(mcp.V20251125, tc.capabilities)
		raw := w.must("tools/call", `{"name":"`+tc.tool+`"}`) // the model is told, as the code is of the modern era
		if !decode[mcp.CallToolResult](t, raw).IsError || !strings.Contains(text(t, raw), tc.missing) {
			t.Errorf("legacy: %s", raw)
		}
	}
	old := dial(t, s)
	old.initialize(mcp.V20250326, everything)
	if raw := old.must("tools/call", `{"name":"form"}`); !decode[mcp.CallToolResult](t, raw).IsError {
		t.Errorf("a revision without elicitation: %s", raw)
	}
}

func TestLegacyRefusals(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) { return interview(ctx) })
	w := dial(t, s)
	w.initialize(mcp.V20251125, everything)
	w.onRequest(func(context.Context, *rpc.Request) (any, error) { return nil, rpc.Errorf(-1, "user rejected") })
	raw := w.must("tools/call", `{"name":"t"}`)
	if !decode[mcp.CallToolResult](t, raw).IsError || !strings.Contains(text(t, raw), "user rejected") {
		t.Errorf("refusal: %s", raw)
	}
	w.onRequest(func(context.Context, *rpc.Request) (any, error) {
		return jsontext.Value(`{"action":"accept","content":{"name":7}}`), nil
	})
	if raw := w.must("tools/call", `{"name":"t"}`); !strings.Contains(text(t, raw), "content.name: must be string") {
		t.Errorf("bad answer: %s", raw)
	}
}

func TestInertCall(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := server.CallFrom(ctx)
	if err := errors.Join(c.Progress(ctx, 1, 2, ""), c.Log(ctx, mcp.LevelError, "x"), c.SetState(1)); err != nil {
		t.Error(err)
	}
	c.Logger().Error("nobody hears this")
	if _, err := c.Elicit(ctx, "k", form("k")); !errors.Is(err, server.ErrNoCall) {
		t.Errorf("got %v", err)
	}
	if err := c.Notify(ctx, "x", nil); !errors.Is(err, server.ErrNoCall) {
		t.Errorf("got %v", err)
	}
}
