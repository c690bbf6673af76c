package streamhttp

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A session is what a legacy client comes back to with each request. It is the
// rpc.Conn of that client. All that an idle session does not need is made when
// it is first used.
type session struct {
	h         *Handler
	id        string
	principal string
	ctx       context.Context
	cancel    context.CancelCauseFunc
	handler   rpc.Handler
	rev       mcp.Revision // what initialize agreed on; set before the ID is known to anybody

	calls    rpc.Calls    // requests of the server that wait for the client
	inflight rpc.Inflight // requests of the client that are not answered
	handled  atomic.Int64 // requests whose handler runs, cancelled ones too

	mu      sync.Mutex
	batch   bool
	ended   bool
	active  int       // requests, streams and writes that use the session now
	used    bool      // the client came back after initialize
	last    time.Time // when active became zero
	streams uint64    // how many POST streams there were
	tracks  map[uint64]*track
}

var (
	errSessionOver = errors.New("streamhttp: the session is over")
	errExpired     = errors.New("streamhttp: the session was not used for too long")
	errShutdown    = errors.New("streamhttp: the server is shutting down")
	errTaken       = errors.New("streamhttp: the stream goes on elsewhere")
)

// newSession makes a session that nobody knows yet.
func (h *Handler) newSession(principal string) *session {
	s := &session{h: h, id: rand.Text(), principal: principal, last: time.Now()}
	s.ctx, s.cancel = context.WithCancelCause(h.ctx)
	s.handler = h.binder.Bind(s.ctx, s)
	return s
}

// room reports whether one more session can be kept, if need be after those
// have gone that are not used. A session in use never makes room.
func (h *Handler) room() bool {
	if h.full() {
		h.reap()
	}
	return !h.full()
}

func (h *Handler) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return over(len(h.sessions)+1, h.opt.Limits.Sessions)
}

// register makes the session known. It reports whether there was room.
func (h *Handler) register(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if over(len(h.sessions)+1, h.opt.Limits.Sessions) || h.ctx.Err() != nil {
		return false
	}
	h.sessions[s.id] = s
	h.reaper.add(h)
	return true
}

// reap ends the sessions that were not used for too long.
func (h *Handler) reap() {
	now := time.Now()
	var dead []*session
	h.mu.Lock()
	for _, s := range h.sessions {
		if s.expired(now) {
			dead = append(dead, s)
		}
	}
	h.mu.Unlock()
	for _, s := range dead {
		s.end(errExpired)
	}
	if len(dead) > 0 {
		h.opt.Logger.Debug("sessions expired", "count", len(dead))
	}
}

func (s *session) expired(now time.Time) bool {
	limit := s.h.opt.Limits.SessionIdle
	if limit < 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.used {
		limit = min(limit, handshakeTime)
	}
	return s.active == 0 && now.Sub(s.last) >= limit
}

// find returns the session that a request names and begins to use it; leave
// ends the use.
func (h *Handler) find(r *http.Request) (*session, *refusal) {
	id, lines := header(r.Header, headerSession)
	if lines == 0 {
		return nil, missingSession(r)
	}
	h.mu.RLock()
	s := h.sessions[id]
	h.mu.RUnlock()
	if s == nil || s.principal != h.opt.principal(r) || !s.enter(true) {
		return nil, refuse(http.StatusNotFound, "no such session: open a new one with initialize, without "+headerSession)
	}
	if ref := checkVersion(r.Header); ref != nil {
		s.leave()
		return nil, ref
	}
	return s, nil
}

// missingSession refuses a request that names no session. One that names an
// HTTP+SSE session is told that this one is over.
func missingSession(r *http.Request) *refusal {
	if r.URL.Query().Has(sessionQuery) {
		return refuse(http.StatusNotFound, "no such session: open the stream again")
	}
	return refuse(http.StatusBadRequest, headerSession+" is missing: open a session with initialize")
}

// enter begins a use of the session and reports whether it is still there.
func (s *session) enter(byClient bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.active++
	s.used = s.used || byClient
	return true
}

func (s *session) leave() {
	s.mu.Lock()
	s.active--
	forget := s.ended && s.active == 0
	if s.active == 0 {
		s.last = time.Now()
	}
	s.mu.Unlock()
	if forget {
		s.forget()
	}
}

// forget drops the kept events, once nobody adds to them any more.
func (s *session) forget() {
	if err := s.h.opt.Events.Drop(context.WithoutCancel(s.ctx), s.id); err != nil {
		s.h.opt.Logger.Warn("events of a session that is over could not be dropped", "error", err)
	}
}

// end closes the session for good.
func (s *session) end(cause error) {
	s.h.mu.Lock()
	if s.h.sessions[s.id] == s {
		delete(s.h.sessions, s.id)
	}
	if len(s.h.sessions) == 0 {
		s.h.reaper.remove(s.h)
	}
	s.h.mu.Unlock()

	s.mu.Lock()
	again := s.ended
	s.ended = true
	forget := s.active == 0
	s.mu.Unlock()
	if again {
		return
	}
	s.cancel(cause)
	s.calls.Fail(rpc.ErrClosed)
	if forget {
		s.forget()
	}
}

// Call sends a request that belongs to no request of the client.
func (s *session) Call(ctx context.Context, req *rpc.Request, result any) error {
	return s.call(ctx, req, result, s.push)
}

// call sends a request by way of send and waits for the answer, which comes
// with a POST of its own.
func (s *session) call(ctx context.Context, req *rpc.Request, result any, send func(context.Context, *rpc.Request) error) error {
	p, err := s.calls.Start(req)
	if err != nil {
		return err
	}
	if err := send(ctx, req); err != nil {
		p.Abandon()
		return err
	}
	return p.Wait(ctx, result)
}

// Notify sends a notification that belongs to no request of the client. It is
// kept, within limits, until the client listens.
func (s *session) Notify(ctx context.Context, req *rpc.Request) error { return s.push(ctx, req) }

// Cancel implements [rpc.Conn].
func (s *session) Cancel(id rpc.ID, cause error) { s.inflight.Cancel(id, cause) }

// AllowBatch implements [rpc.Conn].
func (s *session) AllowBatch(ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch = ok
}

func (s *session) batches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batch
}

// Logger is for handlers that have none of their own; nil where there is none.
func (s *session) Logger() *slog.Logger { return s.h.opt.given }

// Close implements [rpc.Conn]. The goroutines of a session are those of HTTP
// requests: [Handler.Shutdown] waits for them, Close does not, since it may be
// called by one of them.
func (s *session) Close() error {
	s.end(errSessionOver)
	return nil
}

// startRequest counts a request of the client and reports whether there is
// room.
func (s *session) startRequest() bool {
	if over(s.handled.Add(1), int64(s.h.opt.Limits.SessionRequests)) {
		s.endRequest()
		return false
	}
	return true
}

func (s *session) endRequest() { s.handled.Add(-1) }
