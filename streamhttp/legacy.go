package streamhttp

import (
	"context"
	"net/http"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// opensSession reports whether a request opens a session of Streamable HTTP.
func (h *Handler) opensSession(r *http.Request, req *rpc.Request) bool {
	return req.Method == mcp.MethodInitialize && !req.ID.IsZero() &&
		r.Header[headerSession] == nil && h.sseSessionOf(r) == nil
}

// serveInitialize opens a session: with the result its ID goes out. A failed
// initialize leaves nothing behind.
func (h *Handler) serveInitialize(w http.ResponseWriter, r *http.Request, req *rpc.Request, can accepts) {
	if !h.room() {
		h.tooManySessions(w, req.ID)
		return
	}
	s := h.newSession(h.opt.principal(r))
	x := h.newExchange(w, r, s, can)
	x.mute = true
	a := x.out
	defer a.end()
	ctx := &requestContext{s.ctx, r.Context()}
	res := h.call(ctx, s.handler, req, x)
	result, ok := res.Result.(*mcp.InitializeResult)
	if res.Error != nil || !ok {
		s.end(errSessionOver)
		x.finish(ctx, res)
		return
	}
	s.rev, _ = result.ProtocolVersion.Revision()
	if !h.register(s) {
		s.end(errSessionOver)
		x.drop()
		a.giveBack()
		h.tooManySessions(w, req.ID)
		return
	}
	w.Header()[headerSession] = []string{s.id}
	x.finish(ctx, res)
}

func (h *Handler) tooManySessions(w http.ResponseWriter, id rpc.ID) {
	h.opt.Logger.Warn("session refused: too many")
	w.Header().Set("Retry-After", "30")
	h.refuse(w, id, refuse(http.StatusServiceUnavailable, "too many sessions: try again later"))
}

// serveLegacy handles what a client sends within a session.
func (h *Handler) serveLegacy(w http.ResponseWriter, r *http.Request, m rpc.Message, can accepts) {
	if s := h.sseSessionOf(r); s != nil {
		s.receive(w, r, m)
		return
	}
	s, ref := h.find(r)
	if ref != nil {
		h.refuse(w, idOf(m), ref)
		return
	}
	defer s.leave()
	switch m := m.(type) {
	case *rpc.Response:
		s.calls.Deliver(m) // an unknown ID is a late answer: nobody waits for it
		w.WriteHeader(http.StatusAccepted)
	case *rpc.Request:
		if m.ID.IsZero() {
			s.tell(r, m)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		s.serveRequest(w, r, m, can)
	case rpc.Batch:
		s.serveBatch(w, r, m, can)
	}
}

func idOf(m rpc.Message) rpc.ID {
	if req, ok := m.(*rpc.Request); ok {
		return req.ID
	}
	return rpc.ID{}
}

// tell hands over a notification.
func (s *session) tell(r *http.Request, req *rpc.Request) {
	_, _ = s.handler.Handle(&requestContext{s.ctx, r.Context()}, req, s)
}

// serveRequest handles one request of a session.
func (s *session) serveRequest(w http.ResponseWriter, r *http.Request, req *rpc.Request, can accepts) {
	x := s.h.newExchange(w, r, s, can)
	if ref := s.begin(r, req, x); ref != nil {
		s.h.refuse(w, req.ID, ref)
		return
	}
	if s.rev.Polling && r.ProtoMajor != 1 {
		s.serveApart(r, req, x)
		return
	}
	s.serveHere(req, x)
}

// serveHere handles a request on the goroutine of its HTTP request.
func (s *session) serveHere(req *rpc.Request, x *exchange) {
	s.h.run(x.ticket.Context(), s.handler, req, x)
	s.endRequest()
	x.out.end()
}

// serveApart handles a request on a goroutine of its own, so that the HTTP
// response can end before the handler does: HTTP/2 has no other way to end it.
func (s *session) serveApart(r *http.Request, req *rpc.Request, x *exchange) {
	x.out.left = make(chan struct{})
	s.h.inFlight.Add(1)
	s.enter(true)
	go func() {
		defer s.h.leave()
		defer s.leave()
		s.serveHere(req, x)
	}()
	select {
	case <-x.out.left:
	case <-r.Context().Done():
		x.out.detach()
	}
}

// begin enters the request of an exchange into the session.
func (s *session) begin(r *http.Request, req *rpc.Request, x *exchange) *refusal {
	if !s.startRequest() {
		return refuse(http.StatusTooManyRequests, "the session has too many requests in flight: wait for answers")
	}
	x.values, x.listed = requestContext{s.ctx, r.Context()}, true
	if err := s.inflight.Add(&x.values, &x.ticket, req.ID); err != nil {
		s.endRequest()
		return refuse(http.StatusConflict, "a request with this id is in flight: use each id once")
	}
	return nil
}

// serveBatch handles an array of messages, which only some revisions have: the
// requests in it run at the same time, and share the answer (spec 3.6).
func (s *session) serveBatch(w http.ResponseWriter, r *http.Request, batch rpc.Batch, can accepts) {
	if !s.batches() {
		s.h.refuse(w, rpc.ID{}, refuse(http.StatusBadRequest, "arrays of messages are not part of the revision that this session speaks"))
		return
	}
	a := &answer{batch: true}
	a.init(s.h, w, r, s, can)
	var requests sync.WaitGroup
	for _, m := range batch {
		switch m := m.(type) {
		case *rpc.Response:
			s.calls.Deliver(m)
		case *rpc.DecodeError:
			if res := m.Reply(); res != nil {
				if res.ID.IsZero() && s.rev.ErrorIDNull {
					res.ID = rpc.NullID()
				}
				a.respond(r.Context(), &exchange{out: a}, res)
			}
		case *rpc.Request:
			m.Header = r.Header
			if m.ID.IsZero() {
				s.tell(r, m)
				continue
			}
			requests.Go(func() { s.servePart(r, m, a) })
		}
	}
	requests.Wait()
	a.end()
}

// servePart handles one request of a batch.
func (s *session) servePart(r *http.Request, req *rpc.Request, a *answer) {
	if req.Method == mcp.MethodInitialize {
		s.refusePart(r, req, a, refuse(http.StatusBadRequest, "initialize cannot be in a batch"))
		return
	}
	x := &exchange{out: a}
	if ref := s.begin(r, req, x); ref != nil {
		s.refusePart(r, req, a, ref)
		return
	}
	s.h.run(x.ticket.Context(), s.handler, req, x)
	s.endRequest()
}

func (s *session) refusePart(r *http.Request, req *rpc.Request, a *answer, ref *refusal) {
	a.respond(r.Context(), &exchange{out: a}, &rpc.Response{ID: req.ID, Error: ref.wireError()})
}

// serveGet opens the stream of what belongs to no request, or resumes a stream
// that broke.
func (h *Handler) serveGet(w http.ResponseWriter, r *http.Request) {
	can, explicit := parseAccept(r)
	if r.Header[headerSession] == nil {
		h.serveGetAlone(w, r, explicit)
		return
	}
	if !can.sse {
		h.refuse(w, rpc.ID{}, refuse(http.StatusNotAcceptable, "Accept must allow "+eventsType))
		return
	}
	s, ref := h.find(r)
	if ref != nil {
		h.refuse(w, rpc.ID{}, ref)
		return
	}
	defer s.leave()
	if !h.openStream() {
		h.tooManyStreams(w, rpc.ID{})
		return
	}
	if ref := s.serveStream(w, r); ref != nil {
		h.streams.Add(-1)
		h.refuse(w, rpc.ID{}, ref)
	}
}

// serveGetAlone answers a GET that belongs to no session. Only a client of
// 2024-11-05 opens with a GET: later ones name a revision or a position, and
// modern ones never send GET.
func (h *Handler) serveGetAlone(w http.ResponseWriter, r *http.Request, explicit bool) {
	switch {
	case namesModern(r.Header):
		h.notAllowed(w, http.MethodPost)
	case r.Header[headerVersion] != nil || r.Header[headerEventID] != nil:
		h.refuse(w, rpc.ID{}, missingSession(r))
	case explicit && !h.opt.NoSSE2024:
		h.serveSSE(w, r)
	default:
		h.notAllowed(w, http.MethodPost)
	}
}

// serveStream writes one stream of a session to the client. It returns a
// refusal while nothing has been written.
func (s *session) serveStream(w http.ResponseWriter, r *http.Request) *refusal {
	var stream, after uint64
	id, lines := header(r.Header, headerEventID)
	if lines > 0 {
		var ok bool
		if stream, after, ok = parseEventID(id); !ok {
			return refuse(http.StatusBadRequest, headerEventID+" is not of this session")
		}
	}
	t, rd, ref := s.attach(stream, after, lines > 0)
	if ref != nil {
		return ref
	}
	s.enter(true)
	s.h.lasting(w, r, func(ctx context.Context, l *line) { s.stream(ctx, l, t, rd) })
	return nil
}

func (s *session) stream(ctx context.Context, l *line, t *track, rd *reader) {
	defer s.leave()
	defer s.detach(t, rd)
	cursor, _, _ := s.state(t, rd)
	out := l.open()
	out.fail = func() { l.hangUp(errHungUp) }
	defer out.close()
	s.h.keepAlive.add(out)
	defer s.h.keepAlive.remove(out)
	hello := out.raw
	if s.rev.Polling {
		hello = func([]byte) error { return out.write(event{id: behind(t.id, cursor)}) }
	}
	if hello(nil) == nil {
		s.h.opt.Logger.Debug("stream ended", "reason", s.feed(ctx, t, rd, out))
	}
}

// serveDelete ends a session at the client's wish.
func (h *Handler) serveDelete(w http.ResponseWriter, r *http.Request) {
	if r.Header[headerSession] == nil && namesModern(r.Header) {
		h.notAllowed(w, http.MethodPost)
		return
	}
	s, ref := h.find(r)
	if ref != nil {
		h.refuse(w, rpc.ID{}, ref)
		return
	}
	s.end(errSessionOver)
	s.leave()
	w.WriteHeader(http.StatusNoContent)
}
