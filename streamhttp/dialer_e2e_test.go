package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// talker is a backend with one method for each way of answering.
func talker() *backend {
	progress := func() *rpc.Request { return &rpc.Request{Method: mcp.NotificationProgress} }
	return &backend{on: map[string]rpc.HandlerFunc{
		"plain": func(context.Context, *rpc.Request, rpc.Peer) (any, error) { return jsontext.Value(`{"plain":1}`), nil },
		"streamed": func(ctx context.Context, _ *rpc.Request, peer rpc.Peer) (any, error) {
			for range 3 {
				if err := peer.Notify(ctx, progress()); err != nil {
					return nil, err
				}
			}
			return jsontext.Value(`{"streamed":1}`), nil
		},
		"asks": func(ctx context.Context, _ *rpc.Request, peer rpc.Peer) (any, error) {
			var answer jsontext.Value
			err := peer.Call(ctx, &rpc.Request{Method: mcp.MethodRootsList}, &answer)
			return answer, err
		},
		"polled": func(ctx context.Context, _ *rpc.Request, peer rpc.Peer) (any, error) {
			p, ok := peer.(interface{ ClosePoll(time.Duration) error })
			if !ok {
				return nil, fmt.Errorf("%T cannot be polled", peer)
			}
			if err := p.ClosePoll(time.Millisecond); err != nil {
				return nil, err
			}
			if err := peer.Notify(ctx, progress()); err != nil {
				return nil, err
			}
			return jsontext.Value(`{"polled":1}`), nil
		},
		"refused": func(context.Context, *rpc.Request, rpc.Peer) (any, error) { return nil, mcp.InvalidParams("no") },
	}}
}

// openAt makes the connection what it has to be before a call at version v.
func openAt(t *testing.T, c rpc.Conn, v mcp.Version) (header http.Header, meta string) {
	t.Helper()
	rev, _ := v.Revision()
	header = http.Header{}
	if rev.HeaderNamed {
		header.Set("Mcp-Protocol-Version", string(v))
	}
	if rev.Era == mcp.Modern {
		return header, fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}`, v)
	}
	init := request("", "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, v))
	if err := c.Call(t.Context(), init, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Notify(t.Context(), &rpc.Request{Method: mcp.NotificationInitialized, Header: header}); err != nil {
		t.Fatal(err)
	}
	return header, ""
}

// Both halves of the package, over real sockets, in every revision.
func TestClientWithServer(t *testing.T) {
	t.Parallel()
	for _, rev := range mcp.Revisions() {
		for _, old := range []bool{false, true} {
			if old && rev.Era == mcp.Modern {
				continue
			}
			name := string(rev.Version)
			if old {
				name += " over HTTP+SSE"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := startSite(t, talker(), nil)
				var progress atomic.Int32
				h := rpc.HandlerFunc(func(_ context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
					if req.Method == mcp.NotificationProgress {
						progress.Add(1)
					}
					return jsontext.Value(`{"roots":[]}`), nil
				})
				var d rpc.Dialer = &streamhttp.Dialer{URL: s.url, Client: s.client}
				if old {
					d = &streamhttp.SSEDialer{URL: s.url, Client: s.client}
				}
				c, err := d.Dial(t.Context(), h)
				if err != nil {
					t.Fatal(err)
				}
				header, params := openAt(t, c, rev.Version)
				got := map[string]string{}
				for _, method := range []string{"plain", "streamed", "asks", "polled", "refused"} {
					req := &rpc.Request{Method: method, Header: header.Clone()}
					if params != "" {
						req.Params = jsontext.Value(params)
					}
					var res jsontext.Value
					if err := c.Call(t.Context(), req, &res); err != nil {
						got[method] = "error"
						continue
					}
					got[method] = string(res)
				}
				want := map[string]string{"plain": `{"plain":1}`, "streamed": `{"streamed":1}`, "asks": `{"roots":[]}`, "polled": "error", "refused": "error"}
				heard := int32(3)
				if rev.Era == mcp.Modern {
					want["asks"] = "error"
				}
				if rev.Polling && !old {
					want["polled"], heard = `{"polled":1}`, 4
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
				if n := progress.Load(); n != heard {
					t.Errorf("%d notifications, want %d", n, heard)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A server that was started again knows no sessions.
func TestClientWithRestartedServer(t *testing.T) {
	t.Parallel()
	first := startSite(t, talker(), nil)
	second := startSite(t, talker(), nil)
	var handler atomic.Pointer[streamhttp.Handler]
	handler.Store(first.h)
	f := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }), new(fake))
	c := f.dial(t, nil)
	header, _ := openAt(t, c, mcp.V20251125)
	handler.Store(second.h)
	for i := range 3 {
		err := c.Call(t.Context(), &rpc.Request{Method: "streamed", Header: header}, nil)
		if lost := errors.Is(err, streamhttp.ErrOutcomeUnknown); lost != (i == 0) || err != nil && !lost {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
