// Package streamhttp carries MCP over HTTP: Streamable HTTP in all its
// revisions, and HTTP+SSE of 2024-11-05, as server ([Handler]) and as client
// ([Dialer], [SSEDialer]).
package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

const allowMethods = "GET, POST, DELETE"

// A Handler serves one MCP endpoint to clients of every revision. A POST is an
// exchange: one message in, and out one JSON document or a stream that ends
// with the response. What an exchange belongs to is all that differs: nothing
// in the modern era, a session in the legacy era.
//
// Streams that last take their connection away from the [http.Server]: they end
// with the Handler, which is to be shut down before the server is.
//
// A GET that belongs to no session opens an HTTP+SSE session of 2024-11-05; the
// endpoint that it is told is the same URL.
type Handler struct {
	binder rpc.Binder
	opt    Options

	ctx      context.Context // ends when nothing is served any more
	stop     context.CancelCauseFunc
	draining context.Context // ends when streams are to end
	drain    context.CancelFunc

	modern    rpc.Handler // serves the requests that belong to nothing
	stateless *stateless  // and is their connection
	keepAlive wheel[*sseWriter]
	reaper    wheel[*Handler]
	bodies    wheel[*slowBody]
	streams   atomic.Int64 // open streams of unknown length

	inFlight atomic.Int64
	closing  atomic.Bool
	idle     chan struct{} // gets a value when the last request leaves a closing handler

	mu       sync.RWMutex
	sessions map[string]*session
	sse2024  map[string]*sseSession
}

// NewHandler returns a handler that serves what b binds. Call
// [Handler.Shutdown] or [Handler.Close] when it is not needed any more.
func NewHandler(b rpc.Binder, opts *Options) *Handler {
	h := &Handler{
		binder: b, opt: opts.withDefaults(), idle: make(chan struct{}, 1),
		sessions: make(map[string]*session), sse2024: make(map[string]*sseSession),
	}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	h.draining, h.drain = context.WithCancel(h.ctx)
	h.keepAlive = wheel[*sseWriter]{every: h.opt.Limits.KeepAlive, visit: (*sseWriter).keepAlive}
	h.reaper = wheel[*Handler]{every: reapEvery(h.opt.Limits.SessionIdle), visit: (*Handler).reap}
	h.bodies = wheel[*slowBody]{every: max(h.opt.Limits.BodyTime/bodyTurns, time.Millisecond), visit: (*slowBody).expire}
	h.stateless = &stateless{log: h.opt.given}
	h.stateless.ctx, h.stateless.cancel = context.WithCancelCause(h.ctx)
	h.modern = b.Bind(h.draining, h.stateless)
	return h
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.begin(w, r) {
		return
	}
	defer h.leave()
	switch r.Method {
	case http.MethodPost:
		h.servePost(w, r)
	case http.MethodGet:
		h.serveGet(w, r)
	case http.MethodDelete:
		h.serveDelete(w, r)
	default:
		h.notAllowed(w, allowMethods)
	}
}

// begin lets a request in, to leave again, or answers it itself.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request) bool {
	if !h.enter() {
		h.leaveBody(w, r)
		w.Header().Set("Retry-After", "1")
		h.refuse(w, rpc.ID{}, refuse(http.StatusServiceUnavailable, "the server is shutting down"))
		return false
	}
	if ref := h.checkHost(r); ref != nil {
		h.leaveBody(w, r)
		h.opt.Logger.Warn("request refused", "reason", ref.why, "host", brief(r.Host), "origin", brief(r.Header.Get("Origin")))
		h.refuse(w, rpc.ID{}, ref)
		h.leave()
		return false
	}
	if r.Method != http.MethodPost { // nobody reads a body
		h.leaveBody(w, r)
	}
	if h.cors(w, r) {
		h.leave()
		return false
	}
	return true
}

// cors writes the headers for browsers and reports whether the request was a
// preflight, which is then answered.
func (h *Handler) cors(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if h.opt.CORS == nil || origin == "" {
		return false
	}
	h.opt.CORS.answer(w.Header(), origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.opt.CORS.preflight(w, r)
	return true
}

// servePost decides whose a message, or a batch, is.
func (h *Handler) servePost(w http.ResponseWriter, r *http.Request) {
	can, _ := parseAccept(r)
	if !can.json && !can.sse {
		h.leaveBody(w, r)
		h.refuse(w, rpc.ID{}, refuse(http.StatusNotAcceptable, "Accept must allow "+bothTypes))
		return
	}
	m, ok := h.readMessage(w, r)
	if !ok {
		return
	}
	req, ok := m.(*rpc.Request)
	if !ok {
		h.serveLegacy(w, r, m, can)
		return
	}
	req.Header = r.Header
	if e := readEnvelope(req); isModern(req, e) {
		h.serveModern(w, r, req, e, can)
		return
	}
	if h.opensSession(r, req) {
		h.serveInitialize(w, r, req, can)
		return
	}
	h.serveLegacy(w, r, req, can)
}

// readMessage reads the message of a POST, or answers what is wrong with it.
func (h *Handler) readMessage(w http.ResponseWriter, r *http.Request) (rpc.Message, bool) {
	if ref := checkContentType(r); ref != nil {
		h.leaveBody(w, r)
		h.refuse(w, rpc.ID{}, ref)
		return nil, false
	}
	body, ref := h.readBody(w, r)
	if ref != nil {
		h.refuse(w, rpc.ID{}, ref)
		return nil, false
	}
	m, err := rpc.Decode(body, h.opt.Limits.message())
	if err == nil {
		return m, true
	}
	res := &rpc.Response{Error: rpc.AsError(err)}
	if d, ok := errors.AsType[*rpc.DecodeError](err); ok && !d.Response {
		res.ID = d.ID
	}
	h.writeMessage(w, http.StatusBadRequest, res)
	return nil, false
}

// serveModern handles a request that belongs to nothing (spec 2.5 and 2.6).
func (h *Handler) serveModern(w http.ResponseWriter, r *http.Request, req *rpc.Request, e envelope, can accepts) {
	if req.ID.IsZero() {
		_, _ = h.modern.Handle(r.Context(), req, h.stateless)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	err := checkEnvelope(e)
	if err == nil {
		err = checkHeaders(req, e)
	}
	if err != nil {
		h.writeMessage(w, http.StatusBadRequest, &rpc.Response{ID: req.ID, Error: err})
		return
	}
	if req.Method == mcp.MethodListen {
		h.serveListen(w, r, req, can)
		return
	}
	x := h.newModern(w, r, can)
	defer x.end()
	h.run(&x.ctx, h.modern, req, &x.exchange)
}

// modernExchange is an exchange that belongs to nothing, with its context and its
// answer.
type modernExchange struct {
	exchange
	ctx    modernContext
	answer answer
}

func (h *Handler) newModern(w http.ResponseWriter, r *http.Request, can accepts) *modernExchange {
	x := &modernExchange{ctx: modernContext{http: r.Context(), server: h.stateless.ctx}}
	x.answer.init(h, w, r, nil, can)
	x.out = &x.answer
	return x
}

// belongTo makes x end with a stream that lasts.
func (x *modernExchange) belongTo(ctx context.Context, l *line) {
	x.ctx.http, x.out.client, x.out.line = ctx, ctx, l //nolint:fatcontext // it replaces that of the HTTP request
}

func (x *modernExchange) end() {
	x.out.end()
	x.ctx.end()
}

// serveListen handles the one modern request that lasts: its stream is counted,
// ends when writing to the client fails, and, with the handler's good-bye, when
// the server shuts down.
func (h *Handler) serveListen(w http.ResponseWriter, r *http.Request, req *rpc.Request, can accepts) {
	if !can.sse {
		h.refuse(w, req.ID, refuse(http.StatusNotAcceptable, "Accept must allow "+eventsType))
		return
	}
	if !h.openStream() {
		h.tooManyStreams(w, req.ID)
		return
	}
	x := h.newModern(w, r, can)
	h.lasting(w, r, func(ctx context.Context, l *line) { h.listen(ctx, l, req, x) })
}

func (h *Handler) listen(ctx context.Context, l *line, req *rpc.Request, x *modernExchange) {
	x.belongTo(ctx, l)
	defer x.end()
	ctx, cancel := context.WithCancelCause(&x.ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.draining, func() { cancel(errShutdown) })()
	x.out.abort = func() { cancel(errHungUp) }
	res := h.call(ctx, h.modern, req, &x.exchange)
	if res.Error != nil && h.draining.Err() != nil {
		x.drop() // nothing was wrong with the request: let the client ask again elsewhere
		return
	}
	x.finish(ctx, res)
}

// run has a request handled and gives the response.
func (h *Handler) run(ctx context.Context, handler rpc.Handler, req *rpc.Request, x *exchange) {
	x.finish(ctx, h.call(ctx, handler, req, x))
}

// call has a request handled. A panic of the handler ends the request only;
// what it says stays here.
func (h *Handler) call(ctx context.Context, handler rpc.Handler, req *rpc.Request, x *exchange) (res *rpc.Response) {
	res = &x.res
	defer func() {
		if p := recover(); p != nil {
			h.opt.Logger.Error("panic while handling a request", "method", req.Method, "panic", p, "stack", string(debug.Stack()))
			*res = *rpc.Reply(req, nil, &rpc.Error{Code: rpc.CodeInternalError, Message: "internal error"})
		}
	}()
	result, err := handler.Handle(ctx, req, x)
	*res = *rpc.Reply(req, result, err)
	return res
}

func (h *Handler) openStream() bool {
	if n := h.streams.Add(1); over(n, int64(h.opt.Limits.Streams)) {
		h.streams.Add(-1)
		return false
	}
	return true
}

func (h *Handler) tooManyStreams(w http.ResponseWriter, id rpc.ID) {
	h.refuse(w, id, refuse(http.StatusServiceUnavailable, "too many open streams: try again later"))
}

// refuse answers with an HTTP status and the reason as a JSON-RPC error.
func (h *Handler) refuse(w http.ResponseWriter, id rpc.ID, ref *refusal) {
	h.writeMessage(w, ref.status, &rpc.Response{ID: id, Error: ref.wireError()})
}

func (h *Handler) notAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	h.refuse(w, rpc.ID{}, refuse(http.StatusMethodNotAllowed, "method not allowed: POST an MCP message"))
}

// enter counts a request in and reports whether it may be served.
func (h *Handler) enter() bool {
	h.inFlight.Add(1)
	if !h.closing.Load() {
		return true
	}
	h.leave()
	return false
}

func (h *Handler) leave() {
	if h.inFlight.Add(-1) > 0 || !h.closing.Load() {
		return
	}
	select {
	case h.idle <- struct{}{}:
	default:
	}
}

// Shutdown refuses new requests, ends the streams that only listen, and waits
// for the requests in flight. When they are done, or ctx ends, it ends all
// sessions, and cancels what still runs as [Handler.Close] does. It returns
// ctx's error if that was needed.
//
// The order is: Shutdown of the server.Server, so that listeners are told;
// Shutdown of the Handler; Shutdown of the http.Server, which by itself would
// wait for streams that do not end.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.closing.Store(true)
	h.drain()
	err := h.wait(ctx)
	if cerr := h.end(); err == nil {
		return cerr
	}
	return err
}

// Close cancels the contexts of all requests at once and waits for them, no
// longer than a second: the error says that there are handlers which ignore
// their context.
func (h *Handler) Close() error {
	h.closing.Store(true)
	return h.end()
}

// end ends what still runs.
func (h *Handler) end() error {
	h.stop(errShutdown)
	for _, s := range h.allSessions() {
		s.end(errShutdown)
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	err := h.wait(ctx)
	h.keepAlive.stop()
	h.bodies.stop()
	h.reaper.stop()
	if err != nil {
		return fmt.Errorf("streamhttp: handlers still run %v after they were cancelled", closeGrace)
	}
	return nil
}

func (h *Handler) wait(ctx context.Context) error {
	for h.inFlight.Load() > 0 {
		select {
		case <-h.idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (h *Handler) allSessions() []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		list = append(list, s)
	}
	return list
}

// stateless is the connection of requests that belong to nothing: there is
// nobody to talk to outside of them. Its end is theirs.
type stateless struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	log    *slog.Logger // nil: none
}

func (*stateless) Call(context.Context, *rpc.Request, any) error { return rpc.ErrNoReverse }
func (*stateless) Notify(context.Context, *rpc.Request) error    { return rpc.ErrNoReverse }
func (*stateless) Cancel(rpc.ID, error)                          {}
func (*stateless) AllowBatch(bool)                               {}

// Logger is for handlers that have none of their own; nil where there is none.
func (s *stateless) Logger() *slog.Logger { return s.log }

// Close cancels the requests. Their goroutines are those of HTTP requests:
// [Handler.Shutdown] waits for them.
func (s *stateless) Close() error {
	s.cancel(errShutdown)
	return nil
}

var _ rpc.Conn = (*stateless)(nil)
