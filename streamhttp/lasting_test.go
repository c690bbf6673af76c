package streamhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// plainWriter hides what net/http's writer can do besides.
type plainWriter struct{ http.ResponseWriter }

func (w plainWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A stream ends when its client hangs up, whether its connection was taken from
// net/http or not, and makes room for the next.
func TestStreamsEndWithTheirClient(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"taken": func(h http.Handler) http.Handler { return h },
		"not taken": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(plainWriter{w}, r) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := streamhttp.NewHandler(&backend{}, &streamhttp.Options{Limits: streamhttp.Limits{Streams: 1}})
			srv := httptest.NewServer(wrap(h))
			t.Cleanup(func() {
				h.Close()
				srv.CloseClientConnections()
				srv.Close()
			})
			s := &site{t: t, h: h, url: srv.URL, client: srv.Client()}
			id := s.initialize("2025-11-25")
			for range 3 {
				conn := openRaw(t, srv.URL, id, name == "taken")
				conn.Close()
			}
		})
	}
}

// openRaw opens a stream, as soon as there is room for it.
func openRaw(t *testing.T, url, session string, taken bool) net.Conn {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", session)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusServiceUnavailable {
			conn.Close()
			continue
		}
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Close != taken || res.TransferEncoding[0] != "chunked" {
			t.Fatalf("%s %v", res.Status, res.Header)
		}
		if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "id: ") {
			t.Fatalf("first line %q, %v", line, err)
		}
		return conn
	}
}

// A client that goes on sending on the connection of a stream is cut off.
func TestStreamOfAClientThatTalks(t *testing.T) {
	t.Parallel()
	s := startSite(t, &backend{}, nil)
	conn := openRaw(t, s.url, s.initialize("2025-11-25"), true)
	defer conn.Close()
	if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
		return // cut off already
	}
	if _, err := bufio.NewReader(conn).ReadString(0); err == nil {
		t.Error("the stream goes on")
	}
}

// A stream that has not begun yet has one place, not two.
func TestStreamThatHasNotBegun(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{}, 1)
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		mcp.MethodListen: func(ctx context.Context, _ *rpc.Request, _ rpc.Peer) (any, error) {
			waits <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}, &streamhttp.Options{Limits: streamhttp.Limits{Streams: 2}})
	id := s.initialize("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	asking.Go(func() {
		if res, err := s.client.Do(s.request(ctx, http.MethodPost, modernBody(mcp.MethodListen), modernHeaders(mcp.MethodListen)...)); err == nil {
			res.Body.Close()
		}
	})
	<-waits
	if st := s.open(http.MethodGet, "", "Mcp-Session-Id", id); st.res.StatusCode != http.StatusOK {
		t.Errorf("status %d", st.res.StatusCode)
	}
}
