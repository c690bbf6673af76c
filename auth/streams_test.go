package auth_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/auth"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

const (
	opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	slow    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// TestRealStreamsEndWithTheirToken: tokens last a minute.
func TestRealStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, hc *http.Client, url string) *http.Response{
		"HTTP+SSE": func(t *testing.T, hc *http.Client, url string) *http.Response {
			t.Helper()
			return send(t, hc, "GET", url, "")
		},
		"GET of a session": func(t *testing.T, hc *http.Client, url string) *http.Response {
			t.Helper()
			res := send(t, hc, "POST", url, opening)
			if _, err := io.ReadAll(res.Body); err != nil {
				t.Error(err)
			}
			return send(t, hc, "GET", url, "", "Mcp-Session-Id", res.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25")
		},
		"call": func(t *testing.T, hc *http.Client, url string) *http.Response {
			t.Helper()
			return send(t, hc, "POST", url, slow, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "slow")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
				server.AddTool(srv, mcp.Tool{Name: "slow"}, func(ctx context.Context, _ struct{}) (string, error) {
					<-ctx.Done()
					return "", ctx.Err()
				})
				h := streamhttp.NewHandler(srv, &streamhttp.Options{Principal: auth.PrincipalID, InsecureSkipHostAndOriginChecks: true})
				hc, base := mcptest.HTTP(t, protect(t, options(), h.ServeHTTP))
				start := time.Now()
				res := open(t, hc, base+"/mcp")
				if name != "call" && res.StatusCode != http.StatusOK { // a cancelled call has no answer
					t.Errorf("status %d", res.StatusCode)
				}
				_, err := io.Copy(io.Discard, res.Body)
				if took := time.Since(start); took < time.Minute || took > time.Minute+time.Second {
					t.Errorf("the stream took %v: %v", took, err)
				}
				if err := h.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func send(t *testing.T, hc *http.Client, method, url, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := hc.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}
