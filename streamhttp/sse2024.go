package streamhttp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/rpc"
)

// sessionQuery names a session of HTTP+SSE in the URL that its messages are
// POSTed to.
const sessionQuery = "sessionId"

// An SSEHandler serves HTTP+SSE of 2024-11-05 alone: a GET opens the stream,
// and the messages are POSTed to the URL that its first event names. [Handler]
// serves the same beside all other revisions; this one is for URLs that never
// had another.
type SSEHandler struct{ h *Handler }

// NewSSEHandler returns a handler that serves what b binds.
func NewSSEHandler(b rpc.Binder, opts *Options) *SSEHandler {
	return &SSEHandler{NewHandler(b, opts)}
}

// ServeHTTP implements [http.Handler].
func (sh *SSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := sh.h
	if !h.begin(w, r) {
		return
	}
	defer h.leave()
	switch r.Method {
	case http.MethodGet:
		if can, _ := parseAccept(r); !can.sse {
			h.refuse(w, rpc.ID{}, refuse(http.StatusNotAcceptable, "Accept must allow "+eventsType))
			return
		}
		h.serveSSE(w, r)
	case http.MethodPost:
		s := h.sseSessionOf(r)
		if s == nil {
			h.leaveBody(w, r)
			h.refuse(w, rpc.ID{}, missingSession(r))
			return
		}
		if m, ok := h.readMessage(w, r); ok {
			s.receive(w, r, m)
		}
	default:
		h.notAllowed(w, "GET, POST")
	}
}

// Shutdown ends the streams and waits for them; see [Handler.Shutdown].
func (sh *SSEHandler) Shutdown(ctx context.Context) error { return sh.h.Shutdown(ctx) }

// Close ends everything at once; see [Handler.Close].
func (sh *SSEHandler) Close() error { return sh.h.Close() }

// An sseSession is one client of HTTP+SSE, as the stream under an rpc.Duplex:
// what is POSTed is read, what is written goes out as an event.
type sseSession struct {
	id        string
	principal string
	out       *sseWriter
	in        chan rpc.Message
	over      chan struct{}
	end       sync.Once
}

// Read implements [rpc.Stream].
func (s *sseSession) Read(ctx context.Context) (rpc.Message, error) {
	select {
	case m := <-s.in:
		return m, nil
	case <-s.over:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [rpc.Stream].
func (s *sseSession) Write(_ context.Context, m rpc.Message) error {
	buf := getBuffer()
	defer putBuffer(buf)
	b, encodeErr := rpc.AppendMessage((*buf)[:0], m)
	*buf = b[:0]
	if len(b) == 0 {
		return encodeErr
	}
	return errors.Join(s.out.write(event{name: "message", data: b}), encodeErr)
}

// Close implements [rpc.Stream].
func (s *sseSession) Close() error {
	s.end.Do(func() { close(s.over) })
	return nil
}

// serveSSE opens a session and keeps its stream open. The session lives as
// long as the stream (spec 2.3).
func (h *Handler) serveSSE(w http.ResponseWriter, r *http.Request) {
	s := &sseSession{
		id: rand.Text(), principal: h.opt.principal(r),
		in: make(chan rpc.Message), over: make(chan struct{}),
	}
	endpoint := []byte(endpointOf(r, s.id))
	if !h.openStream() {
		h.tooManyStreams(w, rpc.ID{})
		return
	}
	h.lasting(w, r, func(ctx context.Context, l *line) { h.streamSSE(ctx, l, s, endpoint) })
}

func (h *Handler) streamSSE(ctx context.Context, l *line, s *sseSession, endpoint []byte) {
	s.out = l.open()
	s.out.fail = func() { _ = s.Close() }
	defer s.out.close()
	h.mu.Lock()
	h.sse2024[s.id] = s
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sse2024, s.id)
	}()
	h.keepAlive.add(s.out)
	defer h.keepAlive.remove(s.out)
	if s.out.write(event{name: "endpoint", data: endpoint}) != nil {
		return
	}
	serving, cancel := context.WithCancel(&requestContext{h.ctx, ctx})
	defer cancel()
	conn := rpc.NewDuplex(serving, s, h.binder, &rpc.DuplexOptions{Limits: h.opt.Limits.RPC, Logger: h.opt.given, Grace: closeGrace})
	defer func() { _ = conn.Close() }()
	select {
	case <-ctx.Done():
	case <-s.over:
	case <-h.draining.Done():
		_ = conn.Drain(ctx) // ends with h.ctx, too
	}
}

// endpointOf returns the URL for messages as a reference that is relative to
// the URL of the stream: what the server sees of that URL may not be what the
// client sees.
func endpointOf(r *http.Request, id string) string {
	q := r.URL.Query()
	q.Set(sessionQuery, id)
	return "?" + q.Encode()
}

// sseSessionOf returns the HTTP+SSE session that the URL of a POST names, or
// nil.
func (h *Handler) sseSessionOf(r *http.Request) *sseSession {
	if !strings.Contains(r.URL.RawQuery, sessionQuery) || r.Header[headerSession] != nil {
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil
	}
	h.mu.Lock()
	s := h.sse2024[q.Get(sessionQuery)]
	h.mu.Unlock()
	if s == nil || s.principal != h.opt.principal(r) {
		return nil
	}
	return s
}

// receive takes a message that was POSTed.
func (s *sseSession) receive(w http.ResponseWriter, r *http.Request, m rpc.Message) {
	select {
	case s.in <- m:
		w.WriteHeader(http.StatusAccepted)
	case <-s.over:
		w.WriteHeader(http.StatusNotFound)
	case <-r.Context().Done():
	}
}
