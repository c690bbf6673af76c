package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// olds is a server of HTTP+SSE whose sessions "1", "2", … end with their
// streams. The method "wait" is not answered.
type olds struct {
	mu      sync.Mutex
	streams []chan string
	cut     func()
	down    atomic.Bool
	version string
	waiting chan struct{}
}

func (s *olds) script(w http.ResponseWriter, r *http.Request, p post) {
	if p.HTTP == "GET" {
		s.stream(w, r)
		return
	}
	s.mu.Lock()
	n := len(s.streams)
	events := s.streams[n-1]
	s.mu.Unlock()
	if r.URL.Query().Get("sid") != strconv.Itoa(n) {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	switch {
	case p.req == nil || p.req.ID.IsZero():
	case p.Method == "wait":
		s.waiting <- struct{}{}
	case p.Method == "initialize":
		events <- "data: " + result(p.req.ID, `{"protocolVersion":"`+s.version+`"}`) + "\n\n"
	default:
		events <- "data: " + result(p.req.ID, `{}`) + "\n\n"
	}
}

func (s *olds) stream(w http.ResponseWriter, r *http.Request) {
	if s.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events := make(chan string, 100)
	s.mu.Lock()
	s.streams, s.cut = append(s.streams, events), cancel
	n := len(s.streams)
	s.mu.Unlock()
	w.Header().Set("Content-Type", sseType)
	fmt.Fprintf(w, "event: endpoint\ndata: /m?sid=%d\n\n", n)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case e := <-events:
			_, _ = io.WriteString(w, e)
		case <-ctx.Done():
			return
		}
	}
}

// breaks ends the stream and returns what the calls that waited got.
func (s *olds) breaks(t *testing.T, c rpc.Conn) error {
	t.Helper()
	errs := make(chan error, 1)
	go func() {
		_, err := call(context.Background(), c, "", "wait", "")
		errs <- err
	}()
	<-s.waiting
	s.mu.Lock()
	s.cut()
	s.mu.Unlock()
	return <-errs
}

func TestSSEStreamBreaks(t *testing.T) {
	t.Parallel()
	s := &olds{version: "2024-11-05", waiting: make(chan struct{}, 1)}
	f := serve(t, s.script)
	c, err := f.dialSSE(t, "/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, set := range [][2]string{{"resources/subscribe", `{"uri":"a://one"}`}, {"logging/setLevel", `{"level":"info"}`}} {
		if _, err := call(t.Context(), c, "", set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		err := s.breaks(t, c)
		if !errors.Is(err, streamhttp.ErrOutcomeUnknown) || errors.Is(err, rpc.ErrClosed) || !strings.Contains(err.Error(), "stream ended") {
			t.Errorf("the call that was under way: %v", err)
		}
		if err := c.Notify(t.Context(), request("", "notifications/cancelled", `{"requestId":1}`)); err != nil {
			t.Error(err)
		}
		before := len(f.all())
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if got, err := call(t.Context(), c, "", "later", ""); err != nil || got != "{}" {
					t.Errorf("a later call: %s, %v", got, err)
				}
			})
		}
		wg.Wait()
		var got []string
		for _, p := range f.all()[before:] {
			if p.Method != "later" {
				got = append(got, p.HTTP+" "+p.Method)
			}
		}
		want := []string{"GET ", "POST initialize", "POST notifications/initialized", "POST logging/setLevel", "POST resources/subscribe"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if n := len(f.seen("later")); n != 10*(round+1) {
			t.Errorf("%d calls, want each once", n)
		}
		if n := len(f.seen("wait")); n != round+1 {
			t.Errorf("the call that was under way was sent %d times", n)
		}
	}
}

func TestSSESessionNotRenewed(t *testing.T) {
	t.Parallel()
	s := &olds{version: "2024-11-05", waiting: make(chan struct{}, 1)}
	f := serve(t, s.script)
	c, err := f.dialSSE(t, "/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_ = s.breaks(t, c)
	s.down.Store(true)
	const text = "a new session could not be opened"
	if _, err := call(t.Context(), c, "", "x", ""); err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "503") {
		t.Errorf("when the server is down: %v", err)
	}
	s.down.Store(false)
	if _, err := call(t.Context(), c, "", "x", ""); err != nil {
		t.Errorf("when it is there again: %v", err)
	}
	_ = s.breaks(t, c)
	s.version = "2025-03-26"
	if _, err := call(t.Context(), c, "", "x", ""); err == nil || !strings.Contains(err.Error(), `revision "2025-03-26"`) {
		t.Errorf("another revision: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call(ctx, c, "", "x", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := call(t.Context(), c, "", "x", ""); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
