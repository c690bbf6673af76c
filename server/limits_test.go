package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// The limits of subscribers are in subscriptions_test.go.

func TestLimitOfArguments(t *testing.T) {
	t.Parallel()
	params := func(bytes int) string {
		return modern(`"name":"echo","arguments":{"message":"` + strings.Repeat("x", bytes-len(`{"message":""}`)) + `"}`)
	}
	for _, tc := range []struct{ limit, fits, over int }{
		{100, 100, 101},
		{0, 1 << 20, 8<<20 + 1},
		{-1, 8<<20 + 1, 0},
	} {
		h := withEcho(&server.Options{Limits: server.Limits{ArgumentBytes: tc.limit}}).Bind(t.Context(), bare{})
		call := func(bytes int) error {
			req := &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodToolsCall, Params: jsontext.Value(params(bytes))}
			_, err := h.Handle(t.Context(), req, bare{})
			return err
		}
		if err := call(tc.fits); err != nil {
			t.Errorf("limit %d, %d bytes: %v", tc.limit, tc.fits, err)
		}
		if tc.over == 0 {
			continue
		}
		if err := call(tc.over); !errors.Is(err, mcp.ErrInvalidParams) || !strings.Contains(err.Error(), "params.arguments has more than") {
			t.Errorf("limit %d, %d bytes: got %v", tc.limit, tc.over, err)
		}
	}
}

func TestLimitsOfSchemas(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return `{"type":"object","properties":{"a":` + strings.Repeat(`{"items":`, n) + `{}` + strings.Repeat(`}`, n) + `}}`
	}
	wide := func(n int) string { return `{"type":"object","allOf":[` + strings.Repeat(`{},`, n-1) + `{}]}` }
	for _, tc := range []struct {
		name, fits, over, want string
		limits                 server.Limits
	}{
		{"bytes", `{"type":"object"}`, `{"type":"object","title":"0123456789"}`, "Limits.SchemaBytes (30)", server.Limits{SchemaBytes: 30}},
		{"depth", deep(1), deep(5), "Limits.SchemaDepth (3)", server.Limits{SchemaDepth: 3}},
		{"count", wide(4), wide(9), "Limits.Subschemas (8)", server.Limits{Subschemas: 8}},
		{"default bytes", anyObject, `{"type":"object","title":"` + strings.Repeat("x", 1<<20) + `"}`, "Limits.SchemaBytes", server.Limits{}},
		{"default depth", deep(60), deep(64), "Limits.SchemaDepth", server.Limits{}},
		{"default count", wide(100), wide(10_000), "Limits.Subschemas", server.Limits{}},
	} {
		s := newServer(&server.Options{Limits: tc.limits})
		add := func(in, out string) error {
			return s.AddTool(mcp.Tool{Name: "t", InputSchema: jsontext.Value(in), OutputSchema: jsontext.Value(out)},
				func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, nil })
		}
		if err := add(tc.fits, tc.fits); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		for _, err := range []error{add(tc.over, ""), add(tc.fits, tc.over)} {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v", tc.name, err)
			}
		}
	}
}

func TestLimitOfQuestions(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	s := newServer(&server.Options{Limits: server.Limits{Questions: 2}, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	server.AddTool(s, mcp.Tool{Name: "many"}, func(ctx context.Context, _ struct{}) (string, error) {
		qs := make([]server.Question, 3)
		for i := range qs {
			qs[i] = server.ElicitQuestion(strconv.Itoa(i), form("f"), new(mcp.ElicitResult))
		}
		return "", server.CallFrom(ctx).Ask(ctx, qs...)
	})
	server.AddTool(s, mcp.Tool{Name: "rounds"}, func(ctx context.Context, _ struct{}) (string, error) { return interview(ctx) })
	w := dial(t, s)
	raw := w.must("tools/call", asking(`"name":"many"`))
	if !decode[mcp.CallToolResult](t, raw).IsError || !strings.Contains(text(t, raw), "Limits.Questions (2)") {
		t.Errorf("three questions in a round: %s", raw)
	}
	three := `"name":"rounds","inputResponses":{"a":{},"b":{},"c":{}}`
	w.wants(rpc.CodeInvalidParams, "tools/call", asking(three))

	// Two answers in the state and one beside it are three.
	answer := `{"action":"accept","content":{"name":"x"}}`
	first := decode[mcp.InputRequiredResult](t, w.must("tools/call", asking(`"name":"rounds","inputResponses":{"first":`+answer+`}`)))
	again := `"name":"rounds","requestState":"` + *first.RequestState + `","inputResponses":{"second":` + answer + `}`
	second := decode[mcp.InputRequiredResult](t, w.must("tools/call", asking(again)))
	e := w.wants(rpc.CodeInvalidParams, "tools/call",
		asking(`"name":"rounds","requestState":"`+*second.RequestState+`","inputResponses":{"third":`+answer+`}`))
	if !strings.Contains(e.Message, "more than 2 answers") {
		t.Error(e)
	}
}

func TestLimitOfState(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	s := newServer(&server.Options{Limits: server.Limits{StateBytes: 200}, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	type in struct {
		N int `json:"n"`
	}
	server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, in in) (string, error) {
		c := server.CallFrom(ctx)
		if err := c.SetState(strings.Repeat("x", in.N)); err != nil {
			return "", err
		}
		_, err := c.Elicit(ctx, "k", form("k"))
		return "", err
	})
	w := dial(t, s)
	w.must("tools/call", asking(`"name":"t","arguments":{"n":10}`))
	if e := w.wants(rpc.CodeInternalError, "tools/call", asking(`"name":"t","arguments":{"n":300}`)); strings.Contains(e.Message, "StateBytes") {
		t.Errorf("the client was told %v", e)
	}
	if !strings.Contains(logs.String(), "Limits.StateBytes (200)") {
		t.Errorf("the author was told %s", logs.String())
	}
	long := "v1." + base64.RawURLEncoding.EncodeToString(make([]byte, 200))
	w.wants(rpc.CodeInvalidParams, "tools/call", asking(`"name":"t","arguments":{"n":1},"requestState":"`+long+`"`))
}

// A client that floods a slow callback loses notifications, and fills no log.
func TestLimitOfCallbacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		s := newServer(&server.Options{Limits: server.Limits{QueuedNotifications: 3}, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
		var mu sync.Mutex
		var heard []string
		free := make(chan struct{})
		err := s.HandleNotification("x/told", func(_ context.Context, req *rpc.Request) {
			<-free
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, string(req.Params))
		})
		if err != nil {
			t.Fatal(err)
		}
		h := s.Bind(t.Context(), bare{})
		tell := func(i int) {
			req := &rpc.Request{Method: "x/told", Params: jsontext.Value(fmt.Sprintf(`{"i":%d}`, i))}
			if _, err := h.Handle(t.Context(), req, bare{}); err != nil {
				t.Error(err)
			}
		}
		tell(0)
		synctest.Wait() // it is being handled
		for i := range 1000 {
			tell(i + 1)
		}
		if n := strings.Count(logs.String(), "notifications are dropped"); n != 1 {
			t.Errorf("%d lines in the log of one flood", n)
		}
		close(free)
		synctest.Wait()
		tell(9999)
		synctest.Wait()
		if n := strings.Count(logs.String(), "notifications are dropped"); n != 1 {
			t.Errorf("%d lines in the log after it", n)
		}
		free = make(chan struct{})
		for i := range 10 { // another flood is another line
			tell(i)
		}
		close(free)
		synctest.Wait()
		mu.Lock()
		heard = heard[:5]
		mu.Unlock()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		tell(10000) // is dropped without a word
		if got := strings.Join(heard, " "); got != `{"i":0} {"i":1} {"i":2} {"i":3} {"i":9999}` {
			t.Errorf("heard %s", got)
		}
		if n := strings.Count(logs.String(), "notifications are dropped"); n != 2 {
			t.Errorf("%d lines in the log of two floods", n)
		}
	})
}

func TestLimitOfKeys(t *testing.T) {
	t.Parallel()
	const most = 8 << 10
	s := newServer(&server.Options{PageSize: 1})
	add := map[string]func(key string) error{
		"tool": func(key string) error {
			return s.AddTool(mcp.Tool{Name: key, InputSchema: jsontext.Value(anyObject)},
				func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, nil })
		},
		"prompt": func(key string) error {
			return s.AddPrompt(mcp.Prompt{Name: key}, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { return nil, nil })
		},
		"resource": func(key string) error {
			return s.AddResource(mcp.Resource{URI: "x:" + key[2:], Name: "n"}, readNothing)
		},
		"template": func(key string) error {
			return s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: key, Name: "n"}, readNoVars)
		},
	}
	for kind, f := range add {
		if err := errors.Join(f(strings.Repeat("a", most)), f(strings.Repeat("b", most))); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := f(strings.Repeat("a", most+1)); err == nil || !strings.Contains(err.Error(), "8192 are allowed") || len(err.Error()) > 500 {
			t.Errorf("%s: %v", kind, err)
		}
		if f("xx\xff") == nil {
			t.Errorf("%s: a key that is not UTF-8 was taken", kind)
		}
	}
	w := dial(t, s)
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		page := decode[struct {
			NextCursor string `json:"nextCursor"`
		}](t, w.must(method, modern("")))
		w.must(method, modern(`"cursor":"`+page.NextCursor+`"`)) // a cursor of the longest key is good
		w.wants(rpc.CodeInvalidParams, method, modern(`"cursor":"`+strings.Repeat("A", 12<<10)+`"`))
	}
	long := `"uri":"x:` + strings.Repeat("a", most) + `"`
	w.wants(rpc.CodeInvalidParams, "resources/read", modern(long))
	w.initialize(mcp.V20251125, "{}")
	for _, method := range []string{"resources/read", "resources/subscribe", "resources/unsubscribe"} {
		if e := w.wants(rpc.CodeInvalidParams, method, "{"+long+"}"); len(e.Message) > 200 {
			t.Errorf("%s: %v", method, e)
		}
	}
	w.wants(rpc.CodeInvalidParams, "subscriptions/listen", modern(`"notifications":{"resourceSubscriptions":["x:`+strings.Repeat("a", most)+`"]}`))
}

// What a client sent is repeated in errors and logs only in part, and the part
// ends between two characters.
func TestLimitOfEcho(t *testing.T) {
	t.Parallel()
	w := dial(t, withResources(t, nil))
	for i := range 3 {
		long := strings.Repeat("x", i) + strings.Repeat("€", 1000)
		for method, params := range map[string]string{
			long:         "",
			"tools/call": `"name":"` + long + `"`,
		} {
			_, err := w.send(method, modern(params))
			e, ok := errors.AsType[*rpc.Error](err)
			if !ok || len(e.Message) > 200 || strings.ContainsRune(e.Message, '�') {
				t.Errorf("%.20s: %v", method, err)
			}
		}
		uri := "x:" + long // is told whole, as data that programs read
		e := w.wants(rpc.CodeInvalidParams, "resources/read", modern(`"uri":"`+uri+`"`))
		if data, err := mcp.ErrorData[mcp.ResourceData](e); err != nil || data.URI != uri {
			t.Errorf("data: %.50s, %v", e.Data, err)
		}
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]server.Options{
		"short key":   {StateKeys: [][]byte{make([]byte, 15)}},
		"state TTL":   {StateTTL: -1},
		"cache TTL":   {CacheTTL: -1},
		"cache scope": {CacheScope: "everybody"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken", name)
				}
			}()
			newServer(&opts)
		}()
	}
}
