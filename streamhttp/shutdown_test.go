package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func TestShutdownEndsStreamsAndWaitsForRequests(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
		"wait": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
			close(begun)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return jsontext.Value(`{"done":true}`), ctx.Err()
		},
	}}, nil)
	id := s.initialize("2025-11-25")
	listening := s.open(http.MethodGet, "", "Mcp-Session-Id", id)
	old := s.open(http.MethodGet, "")
	answer := make(chan answered, 1)
	go func() {
		answer <- s.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"wait"}`, "Mcp-Session-Id", id)
	}()
	<-begun
	done := make(chan error, 1)
	go func() { done <- s.h.Shutdown(context.Background()) }()
	for _, st := range []*events{listening, old} {
		for _, ok := st.next(); ok; _, ok = st.next() {
		}
	}
	if r := s.do(http.MethodPost, modernBody("echo"), modernHeaders("echo")...); r.status != 503 {
		t.Errorf("new request: %d", r.status)
	}
	close(release)
	if r := <-answer; !strings.Contains(r.body, `"done":true`) {
		t.Errorf("running request: %d %s", r.status, r.body)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestShutdownGivesUp(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		for name, end := range map[string]func(h *streamhttp.Handler) error{
			"Close": (*streamhttp.Handler).Close,
			"Shutdown": func(h *streamhttp.Handler) error {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				if err := h.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("got %w", err)
				}
				return nil
			},
		} {
			t.Run(era+"/"+name, func(t *testing.T) {
				t.Parallel()
				begun, ended := make(chan struct{}), make(chan error, 1)
				s := startSite(t, &backend{on: map[string]rpc.HandlerFunc{
					"wait": func(ctx context.Context, _ *rpc.Request, p rpc.Peer) (any, error) {
						close(begun)
						<-ctx.Done()
						ended <- context.Cause(ctx)
						return nil, ctx.Err()
					},
				}}, nil)
				var first sync.WaitGroup
				first.Go(func() { s.wait(era) })
				<-begun
				if err := end(s.h); err != nil {
					t.Error(err)
				}
				select { // it has waited for the handler
				case cause := <-ended:
					if cause == nil || errors.Is(cause, rpc.ErrCancelled) {
						t.Errorf("cause: %v", cause)
					}
				default:
					t.Error("the handler runs on")
				}
				first.Wait()
			})
		}
	}
}

// wait sends the request wait in the way of an era.
func (s *site) wait(era string) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"wait"}`
	switch era {
	case "modern":
		s.do(http.MethodPost, modernBody("wait"), modernHeaders("wait")...)
	case "2024-11-05":
		st := s.open(http.MethodGet, "")
		e, _ := st.next()
		s.url += e.data
		s.do(http.MethodPost, body)
		for _, ok := st.next(); ok; _, ok = st.next() {
		}
	default:
		s.do(http.MethodPost, body, "Mcp-Session-Id", s.initialize(era))
	}
}
