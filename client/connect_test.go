package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// statusError is what a transport over HTTP returns.
type statusError struct {
	code int
	wire *rpc.Error
}

func (e *statusError) Error() string   { return fmt.Sprintf("HTTP %d", e.code) }
func (e *statusError) HTTPStatus() int { return e.code }
func (e *statusError) Unwrap() error {
	if e.wire == nil {
		return nil
	}
	return e.wire
}

var errNetwork = errors.New("connection refused")

func TestFallback(t *testing.T) {
	t.Parallel()
	wire := func(code int) *rpc.Error { return &rpc.Error{Code: code, Message: "no"} }
	modern := []string{"server/discover", "server/discover"}
	legacy := []string{"server/discover", "initialize", "notifications/initialized"}
	refused := []string{"server/discover"}
	unsupported := func(vs ...mcp.Version) error {
		return &statusError{400, mcp.UnsupportedVersion("2026-07-28", vs)}
	}
	for name, tt := range map[string]struct {
		first   any // the answer to server/discover: an error, or a result
		want    mcp.Version
		methods []string
	}{
		// A shared channel.
		"method not found":            {wire(-32601), mcp.V20251125, legacy},
		"invalid params":              {wire(-32602), mcp.V20251125, legacy},
		"server not initialized":      {wire(-32000), mcp.V20251125, legacy},
		"internal error":              {wire(-32603), mcp.V20251125, legacy},
		"unsupported, same offered":   {mcp.UnsupportedVersion("2026-07-28", []mcp.Version{"2026-07-28"}), mcp.V20260728, modern},
		"unsupported, older offered":  {mcp.UnsupportedVersion("2026-07-28", []mcp.Version{"2025-06-18", "2025-11-25"}), mcp.V20251125, legacy},
		"unsupported, unknown":        {mcp.UnsupportedVersion("2026-07-28", []mcp.Version{"2031-01-01"}), "", refused},
		"header mismatch":             {wire(-32020), "", refused},
		"missing capability":          {wire(-32021), "", refused},
		"answer without versions":     {`{}`, mcp.V20251125, legacy},
		"answer with empty list":      {`{"supportedVersions":[]}`, mcp.V20251125, legacy},
		"answer of another shape":     {`{"supportedVersions":"2026-07-28"}`, mcp.V20251125, legacy},
		"answer with legacy only":     {`{"supportedVersions":["2025-06-18","2024-11-05"],"capabilities":{}}`, mcp.V20250618, legacy},
		"answer with unknown only":    {`{"supportedVersions":["2031-01-01"],"capabilities":{}}`, "", refused},
		"answer with unknown besides": {`{"supportedVersions":["2031-01-01","2026-07-28"],"capabilities":{}}`, mcp.V20260728, refused},

		// HTTP.
		"400 empty":                   {&statusError{code: 400}, mcp.V20251125, legacy},
		"400 free text":               {&statusError{400, wire(-32000)}, mcp.V20251125, legacy},
		"400 invalid params":          {&statusError{400, wire(-32602)}, mcp.V20251125, legacy},
		"404 empty":                   {&statusError{code: 404}, mcp.V20251125, legacy},
		"404 session":                 {&statusError{404, wire(-32001)}, mcp.V20251125, legacy},
		"405":                         {&statusError{code: 405}, mcp.V20251125, legacy},
		"200 method not found":        {&statusError{200, wire(-32601)}, mcp.V20251125, legacy},
		"400 unsupported, same":       {unsupported("2026-07-28"), mcp.V20260728, modern},
		"400 unsupported, older":      {unsupported("2025-11-25"), mcp.V20251125, legacy},
		"404 method not found":        {&statusError{404, wire(-32601)}, mcp.V20260728, refused},
		"401":                         {&statusError{code: 401}, "", refused},
		"401 with a modern error":     {&statusError{401, wire(-32020)}, "", refused},
		"403":                         {&statusError{code: 403}, "", refused},
		"407":                         {&statusError{code: 407}, "", refused},
		"429":                         {&statusError{code: 429}, "", refused},
		"500":                         {&statusError{code: 500}, "", refused},
		"503 with a JSON-RPC error":   {&statusError{503, wire(-32603)}, "", refused},
		"network":                     {errNetwork, "", refused},
		"answer that is not readable": {fmt.Errorf("decode: %w", errNetwork), "", refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s := &fakeServer{}
			s.script = func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
				switch req.Method {
				case mcp.MethodDiscover:
					if asked++; asked > 1 {
						return discovered, nil
					}
					err, _ := tt.first.(error)
					return tt.first, err
				case mcp.MethodInitialize:
					return fmt.Sprintf(initialized, unquote(member(t, req.Params, "protocolVersion"))), nil
				}
				return nil, errNoMethod
			}
			c, err := client.Connect(t.Context(), s, nil)
			if err == nil {
				defer c.Close()
			}
			if diff := cmp.Diff(tt.methods, s.methods()); diff != "" {
				t.Errorf("methods sent (-want +got):\n%s", diff)
			}
			if tt.want == "" {
				if err == nil {
					t.Fatalf("connected at %s, want an error", c.Version())
				}
				first, isErr := tt.first.(error)
				var v *client.VersionError
				if isErr && !errors.Is(err, first) && !errors.As(err, &v) {
					t.Errorf("error %v does not wrap %v", err, first)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Version() != tt.want {
				t.Errorf("version %s, want %s", c.Version(), tt.want)
			}
		})
	}
}

func unquote(s string) string { return s[1 : len(s)-1] }

func TestConnectModern(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20260728, map[string]string{
		"tools/list": `{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`,
		"tools/call": `{"resultType":"complete","content":[{"type":"text","text":"hi"}]}`,
	})}
	c := connect(t, s, &client.Options{Info: mcp.Implementation{Name: "me", Version: "2"}})
	if c.ServerInfo().Name != "fake" || c.Instructions() != "be kind" || c.ServerCapabilities().Tools == nil {
		t.Errorf("server: %v %q %v", c.ServerInfo(), c.Instructions(), c.ServerCapabilities())
	}
	if _, err := c.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Content) != 1 {
		t.Errorf("content: %v", res.Content)
	}
	ids := make(map[rpc.ID]bool)
	for _, req := range s.sent("") {
		if ids[req.ID] {
			t.Errorf("id %s twice", req.ID)
		}
		ids[req.ID] = true
		if got := member(t, req.Params, "_meta", mcp.MetaProtocolVersion); got != `"2026-07-28"` {
			t.Errorf("%s: version %s in _meta", req.Method, got)
		}
		if got := member(t, req.Params, "_meta", mcp.MetaClientInfo); got != `{"name":"me","version":"2"}` {
			t.Errorf("%s: info %s in _meta", req.Method, got)
		}
		if got := member(t, req.Params, "_meta", mcp.MetaClientCapabilities); got != `{}` {
			t.Errorf("%s: capabilities %s in _meta", req.Method, got)
		}
		if got := req.Header.Get("Mcp-Protocol-Version"); got != "2026-07-28" {
			t.Errorf("%s: version %q in the header", req.Method, got)
		}
	}
}

func TestConnectLegacy(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Versions(mcp.Legacy) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			s := &fakeServer{script: answers(v, map[string]string{
				"tools/call": `{"content":[{"type":"text","text":"hi"}]}`,
			})}
			c := connect(t, s, &client.Options{Version: v})
			if c.Version() != v || c.ServerInfo().Name != "fake" {
				t.Errorf("version %s of %v", c.Version(), c.ServerInfo())
			}
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"initialize", "notifications/initialized", "tools/call"}, s.methods()); diff != "" {
				t.Error(diff)
			}
			rev, _ := v.Revision()
			if s.batch != rev.Batch {
				t.Errorf("batches allowed: %v, want %v", s.batch, rev.Batch)
			}
			for _, req := range s.sent("")[1:] {
				if got := req.Header.Get("Mcp-Protocol-Version") == string(v); got != rev.HeaderNamed {
					t.Errorf("%s: version in the header: %v", req.Method, got)
				}
				if member(t, orObject(req), "_meta") != "" {
					t.Errorf("%s: has _meta: %s", req.Method, req.Params)
				}
			}
		})
	}
}

func orObject(req *rpc.Request) []byte {
	if len(req.Params) == 0 {
		return []byte("{}")
	}
	return req.Params
}

func TestConnectVersions(t *testing.T) {
	t.Parallel()
	offer := func(v mcp.Version) script {
		return func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
			if req.Method == mcp.MethodInitialize {
				return fmt.Sprintf(initialized, v), nil
			}
			return nil, errNoMethod
		}
	}
	t.Run("counter-offer", func(t *testing.T) {
		t.Parallel()
		c := connect(t, &fakeServer{script: offer("2024-11-05")}, nil)
		if c.Version() != mcp.V20241105 {
			t.Error(c.Version())
		}
	})
	for name, v := range map[string]mcp.Version{"unknown": "1999-01-01", "modern": "2026-07-28", "empty": ""} {
		t.Run(name+" counter-offer", func(t *testing.T) {
			t.Parallel()
			s := &fakeServer{script: offer(v)}
			_, err := client.Connect(t.Context(), s, nil)
			if _, ok := errors.AsType[*client.VersionError](err); !ok {
				t.Errorf("error %v, want a VersionError", err)
			}
			if slices.Contains(s.methods(), "notifications/initialized") {
				t.Error("initialized was sent")
			}
		})
	}
	t.Run("forced", func(t *testing.T) {
		t.Parallel()
		_, err := client.Connect(t.Context(), &fakeServer{script: offer("2024-11-05")}, &client.Options{Version: "2025-06-18"})
		if _, ok := errors.AsType[*client.VersionError](err); !ok {
			t.Errorf("error %v, want a VersionError", err)
		}
	})
	t.Run("forced modern never falls back", func(t *testing.T) {
		t.Parallel()
		s := &fakeServer{script: offer("2025-11-25")}
		if _, err := client.Connect(t.Context(), s, &client.Options{Version: "2026-07-28"}); !errors.Is(err, errNoMethod) {
			t.Errorf("error %v", err)
		}
		if diff := cmp.Diff([]string{"server/discover"}, s.methods()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("forced unknown", func(t *testing.T) {
		t.Parallel()
		if _, err := client.Connect(t.Context(), &fakeServer{script: offer("")}, &client.Options{Version: "1.0"}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("refusal that names versions", func(t *testing.T) {
		t.Parallel()
		n := 0
		s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
			if req.Method != mcp.MethodInitialize {
				return nil, errNoMethod
			}
			if n++; n == 1 {
				return nil, (&rpc.Error{Code: -32602}).WithData(mcp.VersionData{Supported: []mcp.Version{"2024-11-05"}})
			}
			return fmt.Sprintf(initialized, "2024-11-05"), nil
		}}
		if c := connect(t, s, nil); c.Version() != mcp.V20241105 {
			t.Error(c.Version())
		}
	})
}

func TestPriorVersion(t *testing.T) {
	t.Parallel()
	t.Run("legacy saves the probe", func(t *testing.T) {
		t.Parallel()
		s := &fakeServer{script: answers(mcp.V20250618, nil)}
		connect(t, s, &client.Options{PriorVersion: "2025-06-18"})
		if diff := cmp.Diff([]string{"initialize", "notifications/initialized"}, s.methods()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("legacy no more", func(t *testing.T) {
		t.Parallel()
		s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
			if req.Method == mcp.MethodInitialize {
				return nil, &statusError{404, errNoMethod}
			}
			return greeting(mcp.V20260728, req)
		}}
		if c := connect(t, s, &client.Options{PriorVersion: "2025-06-18"}); c.Version() != mcp.V20260728 {
			t.Error(c.Version())
		}
	})
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		s := &fakeServer{script: func(context.Context, *fakeServer, *rpc.Request) (any, error) {
			return nil, &statusError{code: http.StatusServiceUnavailable}
		}}
		if _, err := client.Connect(t.Context(), s, &client.Options{PriorVersion: "2025-06-18"}); err == nil {
			t.Error("no error")
		}
		if diff := cmp.Diff([]string{"initialize"}, s.methods()); diff != "" {
			t.Error(diff)
		}
	})
}

// Servers of old: one that ignores what comes before initialize, one that ends.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeServer{script: func(ctx context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
			if req.Method == mcp.MethodDiscover {
				<-ctx.Done()
			}
			return greeting(mcp.V20241105, req)
		}}
		start := time.Now()
		c := connect(t, s, nil)
		if took := time.Since(start); c.Version() != mcp.V20241105 || took != 5*time.Second {
			t.Errorf("version %s after %v", c.Version(), took)
		}
		if diff := cmp.Diff([]string{"server/discover", "initialize", "notifications/initialized"}, s.methods()); diff != "" {
			t.Error(diff)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSlowModernServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
			if req.Method == mcp.MethodInitialize {
				return nil, &statusError{400, mcp.UnsupportedVersion("", []mcp.Version{"2026-07-28"})}
			}
			<-time.After(8 * time.Second)
			return greeting(mcp.V20260728, req)
		}}
		c := connect(t, s, nil)
		if c.Version() != mcp.V20260728 {
			t.Error(c.Version())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestServerHangsUpOnProbe(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		if req.Method == mcp.MethodDiscover {
			return nil, fmt.Errorf("exit status 1: %w", rpc.ErrClosed)
		}
		return greeting(mcp.V20250618, req)
	}}
	if c := connect(t, s, nil); c.Version() != mcp.V20250618 || s.dialed != 2 {
		t.Errorf("version %s, dialed %d times", c.Version(), s.dialed)
	}
	dead := &fakeServer{script: func(context.Context, *fakeServer, *rpc.Request) (any, error) { return nil, rpc.ErrClosed }}
	if _, err := client.Connect(t.Context(), dead, nil); !errors.Is(err, rpc.ErrClosed) || dead.dialed != 2 {
		t.Errorf("error %v after %d dials", err, dead.dialed)
	}
}

// initialize must not be cancelled, and nothing else may come before it.
func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeServer{script: func(ctx context.Context, _ *fakeServer, _ *rpc.Request) (any, error) {
			<-ctx.Done()
			return nil, rpc.ErrClosed
		}}
		_, err := client.Connect(t.Context(), s, &client.Options{Timeout: 20 * time.Second})
		if !errors.Is(err, client.ErrTimeout) {
			t.Errorf("error %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Connect(ctx, s, nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrTimeout) {
			t.Errorf("error %v", err)
		}
		if diff := cmp.Diff([]string{"server/discover", "initialize", "server/discover"}, s.methods()); diff != "" {
			t.Error(diff)
		}
	})
}
