package streamhttp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"sync"
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
	inflight rpc.Inflight // requests of the client that are being handled

	mu       sync.Mutex
	batch    bool
	ended    bool
	active   int       // requests, streams and writes that use the session now
	requests int       // of them, requests being handled
	used     bool      // the client came back after initialize
	last     time.Time // when active became zero
	streams  uint64    // how many POST streams there were
	tracks   map[uint64]*track
	reading  int // GET streams
}

// A track is one stream of events of a session, as the client knows it. It
// outlives the HTTP responses that carry it.
type track struct {
	id      uint64
	cursor  uint64    // the last event that a reader took
	readers []*reader // responses to GETs; the last one gets the events
	ended   bool      // no event will be added
	answer  *answer   // the response to the POST, while it carries the track
}

// A reader is one response to a GET.
type reader struct{ wake chan struct{} }

func (rd *reader) notify() {
	select {
	case rd.wake <- struct{}{}:
	default:
	}
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
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
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

// Close implements [rpc.Conn]. The goroutines of a session are those of HTTP
// requests: [Handler.Shutdown] waits for them, Close does not, since it may be
// called by one of them.
func (s *session) Close() error {
	s.end(errSessionOver)
	return nil
}

// push adds a message to the stream that belongs to no request.
func (s *session) push(ctx context.Context, m *rpc.Request) error {
	if !s.enter(false) {
		return rpc.ErrClosed
	}
	defer s.leave()
	data, err := rpc.AppendMessage(nil, m)
	if err != nil {
		return err
	}
	_, err = s.add(ctx, listening, data)
	return err
}

// add keeps an event and wakes who reads its stream. The event keeps data.
func (s *session) add(ctx context.Context, stream uint64, data []byte) (uint64, error) {
	seq, err := s.h.opt.Events.Append(context.WithoutCancel(ctx), s.id, stream, data)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tracks[stream]; t != nil {
		t.notify()
	}
	return seq, nil
}

// notify wakes the reader whose turn it is. The caller holds the session's mu.
func (t *track) notify() {
	if n := len(t.readers); n > 0 {
		t.readers[n-1].notify()
	}
}

// newTrack opens the stream of a POST.
func (s *session) newTrack(a *answer) *track {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
	t := &track{id: s.streams, answer: a}
	s.keep(t)
	return t
}

// keep enters a track in the table. The caller holds mu.
func (s *session) keep(t *track) {
	if s.tracks == nil {
		s.tracks = make(map[uint64]*track)
	}
	s.tracks[t.id] = t
}

// endTrack says that no event will be added to the stream of a POST.
func (s *session) endTrack(t *track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ended = true
	t.answer = nil
	delete(s.tracks, t.id)
	for _, rd := range t.readers {
		rd.notify()
	}
}

// attach adds a reader to a stream. after is the last event that the client
// has seen; resume is false where it did not say.
func (s *session) attach(stream, after uint64, resume bool) (*track, *reader, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream > s.streams {
		return nil, nil, refuse(http.StatusBadRequest, headerEventID+" is not of this session")
	}
	if over(s.reading+1, s.h.opt.Limits.SessionStreams) {
		return nil, nil, refuse(http.StatusTooManyRequests, "the session has too many open streams")
	}
	t := s.tracks[stream]
	if t == nil {
		t = &track{id: stream, ended: stream != listening}
		if stream == listening {
			s.keep(t)
		}
	}
	if resume {
		t.cursor = after
	}
	s.reading++
	rd := &reader{wake: make(chan struct{}, 1)}
	t.readers = append(t.readers, rd)
	return t, rd, nil
}

// detach takes a reader away; the one before it takes over.
func (s *session) detach(t *track, rd *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading--
	t.readers = slices.DeleteFunc(t.readers, func(x *reader) bool { return x == rd })
	t.notify()
}

// take moves the stream's cursor to an event and reports whether rd is to write
// it: each message goes to one reader only (spec 3.2, Multiple streams).
func (s *session) take(t *track, rd *reader, seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.readers[len(t.readers)-1] != rd {
		return false
	}
	t.cursor = seq
	return true
}

// state returns what a reader needs to know before it looks for events.
func (s *session) state(t *track) (cursor uint64, ended bool, carrier *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.cursor, t.ended, t.answer
}

// current reports whether rd is the reader that gets the events.
func (s *session) current(t *track, rd *reader) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.readers[len(t.readers)-1] == rd
}

// feed writes the events of a stream until the stream, the session, the client
// or the server ends, or, for the stream of a POST, another reader takes over.
func (s *session) feed(ctx context.Context, t *track, rd *reader, out *sseWriter) error {
	for {
		// The order matters: what is added before the end is found below.
		cursor, ended, _ := s.state(t)
		if s.current(t, rd) {
			if err := s.copyEvents(ctx, t, rd, out, cursor); err != nil {
				return err
			}
		} else if t.id != listening {
			return errTaken
		}
		if ended {
			return nil
		}
		select {
		case <-rd.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		case <-s.h.draining.Done():
			return errShutdown
		}
	}
}

// copyEvents writes the kept events behind cursor.
func (s *session) copyEvents(ctx context.Context, t *track, rd *reader, out *sseWriter, cursor uint64) error {
	for e, err := range s.h.opt.Events.After(ctx, s.id, t.id, cursor) {
		if err != nil {
			return err
		}
		if !s.take(t, rd, e.Seq) {
			return nil
		}
		if err := out.write(event{id: eventID(t.id, e.Seq), data: e.Data}); err != nil {
			return err
		}
	}
	return nil
}

// startRequest counts a request of the client and reports whether there is
// room.
func (s *session) startRequest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if over(s.requests+1, s.h.opt.Limits.SessionRequests) {
		return false
	}
	s.requests++
	return true
}

func (s *session) endRequest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
}

// requestContext is the context of one request in a session: it has the values
// of the HTTP request, but it ends with the session, not with the connection
// (spec 3.2: a disconnect is not a cancel).
type requestContext struct {
	context.Context
	values context.Context
}

// Value asks the session first, so that the context package recognizes its own
// parent and needs no goroutine to watch it.
func (c requestContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
