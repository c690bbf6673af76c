package server_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// What a server declares it does: each list that changes is told of.
func TestEveryListIsTold(t *testing.T) {
	t.Parallel()
	s := withResources(t, nil)
	noPrompt := func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { return nil, nil }
	if err := s.AddPrompt(mcp.Prompt{Name: "p"}, noPrompt); err != nil {
		t.Fatal(err)
	}
	w := dial(t, s)
	got := decode[mcp.DiscoverResult](t, w.must("server/discover", modern(""))).Capabilities
	if got.Logging == nil || !got.Tools.ListChanged || !got.Prompts.ListChanged || !got.Resources.ListChanged || !got.Resources.Subscribe {
		t.Errorf("capabilities: %v", got.Names())
	}
	done := w.listen(w.ctx, rpc.IntID(9), `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`)
	w.want(0, "notifications/subscriptions/acknowledged", `"promptsListChanged":true`)
	for i, change := range []struct {
		method string
		do     func() error
	}{
		{"notifications/prompts/list_changed", func() error { return s.AddPrompt(mcp.Prompt{Name: "q"}, noPrompt) }},
		{"notifications/prompts/list_changed", func() error { s.RemovePrompts("q"); return nil }},
		{"notifications/resources/list_changed", func() error { return s.AddResource(mcp.Resource{URI: "x:c", Name: "c"}, readNothing) }},
		{"notifications/resources/list_changed", func() error {
			return s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "y:{id}", Name: "t"}, readNoVars)
		}},
		{"notifications/tools/list_changed", func() error { s.RemoveTools("echo"); return nil }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		w.want(i+1, change.method, `subscriptionId":9`)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What belongs to a request goes over its own stream.
func TestListenHasNoLogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := withResources(t, nil)
		server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
			c := server.CallFrom(ctx)
			if err := c.Progress(ctx, 1, 2, ""); err != nil {
				return "", err
			}
			return "", c.Log(ctx, mcp.LevelError, "x")
		})
		conn, listening, calling := &far{}, &far{}, &far{}
		h := s.Bind(t.Context(), conn)
		end := make(chan error, 1)
		go func() {
			_, err := h.Handle(t.Context(), listenRequest(`{"resourceSubscriptions":["x:a"]}`), listening)
			end <- err
		}()
		synctest.Wait()
		more := `,"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"`
		req := &rpc.Request{ID: rpc.IntID(8), Method: mcp.MethodToolsCall, Params: jsontext.Value(`{"name":"t",` + meta("{}", more) + `}`)}
		if _, err := h.Handle(t.Context(), req, calling); err != nil {
			t.Error(err)
		}
		if err := s.Log(t.Context(), mcp.LevelError, "", "of nobody's request"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := calling.methods(); got != "progress message" {
			t.Errorf("the call heard %q", got)
		}
		if got := listening.methods() + conn.methods(); strings.Contains(got, "message") || strings.Contains(got, "progress") {
			t.Errorf("the listener heard %q", got)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}

func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	for name, fine := range map[string]bool{
		"a": true, "A_b-c.9": true, strings.Repeat("n", 128): true,
		strings.Repeat("n", 129): false, "a b": false, "a,b": false, "a/b": false, "é": false,
	} {
		var logs bytes.Buffer
		s := newServer(&server.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
		server.AddTool(s, mcp.Tool{Name: name}, echo)
		if warned := strings.Contains(logs.String(), "some clients refuse"); warned == fine {
			t.Errorf("%.20q: warned is %v", name, warned)
		}
	}
}

func TestURLsOfQuestions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, params func(string) string, open func(*wire)) { //nolint:thelper // a test, not a helper
		s := newServer(nil)
		var link string
		server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
			_, err := server.CallFrom(ctx).Elicit(ctx, "k", &mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "m", URL: link})
			return "", err
		})
		w := dial(t, s)
		open(w)
		for _, link = range []string{"", "login", "//x.test/", "https://", "https://x.test/%zz"} {
			raw := w.must("tools/call", params(`"name":"t"`))
			if !decode[mcp.CallToolResult](t, raw).IsError || !strings.Contains(text(t, raw), "must be absolute") {
				t.Errorf("%q: %s", link, raw)
			}
		}
	})
}

// An initialize without a version opens no session; what else it lacks is
// taken as empty.
func TestInitializeWithoutVersion(t *testing.T) {
	t.Parallel()
	w := dial(t, withEcho(nil))
	for _, params := range []string{
		"", "{}",
		`{"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
		`{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{"name":"c","version":"1"}}`,
	} {
		w.wants(rpc.CodeInvalidParams, "initialize", params)
	}
	w.wants(rpc.CodeInvalidRequest, "tools/list", "")
	w.initialize(mcp.V20251125, "{}")
	for _, method := range []string{"notifications/cancelled", "notifications/initialized", "notifications/progress"} {
		w.wants(rpc.CodeMethodNotFound, method, `{"requestId":1}`) // as requests
	}
}
