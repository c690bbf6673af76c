package recording_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/cmd/tenon/internal/everything"
	"github.com/tenon-mcp/tenon/cmd/tenon/internal/recording"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// use is what a client does in these tests. It returns what it was told.
func use(t *testing.T, c *client.Client) []string {
	t.Helper()
	var mu sync.Mutex
	var got []string
	tools := 0
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tools++
	}
	if tools == 0 {
		t.Error("no tools")
	}
	for _, a := range []string{"one", "two", "one"} {
		text, err := client.CallTool[string](t.Context(), c, "echo", map[string]string{"message": a})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	_, err := client.CallTool[any](t.Context(), c, "slow", map[string]any{"steps": 3, "seconds": 0.01}, client.OnProgress(func(p mcp.ProgressParams) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, "progress")
	}))
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return got
}

func serve(t *testing.T, b rpc.Binder) string {
	t.Helper()
	h := streamhttp.NewHandler(b, nil)
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		_ = h.Shutdown(context.WithoutCancel(t.Context()))
		web.Close()
	})
	return web.URL
}

// A client does not notice the recorder, and then not that the server is a
// recording, in any revision.
func TestProxyAndReplay(t *testing.T) {
	t.Parallel()
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev.Version), func(t *testing.T) {
			t.Parallel()
			target, err := url.Parse(serve(t, everything.New("1", nil)) + "/mcp")
			if err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			w, err := recording.NewWriter(&file, recording.Header{}, false)
			if err != nil {
				t.Fatal(err)
			}
			transport := http.DefaultTransport.(*http.Transport).Clone()
			t.Cleanup(transport.CloseIdleConnections)
			proxy := httptest.NewServer(recording.NewProxy(w, target, transport))
			t.Cleanup(proxy.Close)

			run := func(url string) []string {
				hc := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
				defer hc.CloseIdleConnections()
				c, err := tenon.Connect(t.Context(), url, tenon.WithHTTPClient(hc), tenon.WithHeader("X-Api-Key", "hidden"),
					tenon.WithClient(&client.Options{Version: rev.Version}))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				return use(t, c)
			}
			want := run(proxy.URL + "/mcp")
			if len(want) != 3+3 {
				t.Errorf("through the proxy: %q", want)
			}
			if strings.Contains(file.String(), "hidden") || w.Err() != nil {
				t.Errorf("the key is in the recording, or %v", w.Err())
			}
			rec, err := recording.Read(&file)
			if err != nil {
				t.Fatal(err)
			}
			if got := run(serve(t, recording.NewReplay(rec)) + "/mcp"); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("the recording says %q, the server %q", got, want)
			}
		})
	}
}

func TestReplayUnknown(t *testing.T) {
	t.Parallel()
	rec, err := recording.Read(strings.NewReader(`{"mcprec":1}
{"t":0,"dir":"c2s","kind":"message","msg":{"id":1,"method":"initialize","params":{}}}
{"t":0,"dir":"s2c","kind":"message","msg":{"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}}
{"t":0,"dir":"c2s","kind":"message","msg":{"id":2,"method":"tools/call","params":{"name":"a"}}}
{"t":0,"dir":"c2s","kind":"message","msg":{"id":3,"method":"tools/call","params":{"name":"b"}}}
{"t":0,"dir":"s2c","kind":"message","msg":{"id":3,"result":{"content":[]}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.Pair(t, recording.NewReplay(rec), nil)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"a": "no answer to call 2", "b": "", "c": "not with these parameters"} {
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if err := c.Request(t.Context(), "acme/x", nil, nil); err == nil || !strings.Contains(err.Error(), "has no acme/x") {
		t.Error(err)
	}
}
