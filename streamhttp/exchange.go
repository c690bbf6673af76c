package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// ErrNoPolling is returned by ClosePoll where the client does not come back by
// itself: its revision has no polling, or the answer has been given.
var ErrNoPolling = fmt.Errorf("streamhttp: the client does not poll here: %w", errors.ErrUnsupported)

// An exchange is the peer of one request: what is sent to it goes on the answer
// to the POST that brought the request.
type exchange struct {
	out    *answer
	mute   bool           // nothing but the response can be sent
	listed bool           // the request is among those in flight in its session
	ticket rpc.Ticket     // its place there
	values requestContext // what the ticket's context is made of
	res    rpc.Response

	done bool // nothing more is sent; guarded by out.mu
}

// Call implements [rpc.Peer]. Only a session has a way back for the answer.
func (x *exchange) Call(ctx context.Context, req *rpc.Request, result any) error {
	s := x.out.s
	if s == nil || x.mute || !x.out.can.sse {
		return rpc.ErrNoReverse
	}
	return s.call(ctx, req, result, x.send)
}

// Notify implements [rpc.Peer]. Towards a client that reads no event streams
// notifications are dropped.
func (x *exchange) Notify(ctx context.Context, req *rpc.Request) error {
	if x.mute {
		return rpc.ErrNoReverse
	}
	if !x.out.can.sse {
		return nil
	}
	return x.send(ctx, req)
}

// send puts a message on the stream, unless the request is over.
func (x *exchange) send(ctx context.Context, m *rpc.Request) error {
	if !x.listed {
		return x.out.send(ctx, x, m)
	}
	return x.ticket.Send(func() error { return x.out.send(ctx, x, m) })
}

// settle ends the request and reports whether it is to be answered.
func (x *exchange) settle() bool {
	if !x.listed {
		return x.out.s != nil || x.out.client.Err() == nil
	}
	return x.ticket.Finish()
}

// ClosePoll ends the HTTP response and lets the request go on: the client asks
// for the rest after the time retry (2025-11-25, Streamable HTTP, SSE polling).
// It returns [ErrNoPolling] where that cannot be done; nothing has happened
// then.
func (x *exchange) ClosePoll(retry time.Duration) error {
	s := x.out.s
	if s == nil || x.mute || !s.rev.Polling || !x.out.can.sse {
		return ErrNoPolling
	}
	return x.out.poll(x, retry)
}

// finish gives the response. It is called once.
func (x *exchange) finish(ctx context.Context, res *rpc.Response) {
	if !x.settle() {
		x.drop()
		return
	}
	x.out.respond(ctx, x, res)
}

// drop ends the exchange without a response.
func (x *exchange) drop() {
	x.out.mu.Lock()
	defer x.out.mu.Unlock()
	x.done = true
}

// An answer is the HTTP response to a POST: one JSON document, or, from the
// first message that is not the response, a stream of events.
type answer struct {
	h      *Handler
	w      http.ResponseWriter
	s      *session        // nil: the request is modern
	client context.Context // ends when the client hangs up
	can    accepts
	batch  bool
	abort  func() // called when the stream breaks; may be nil
	line   *line  // of a stream that lasts; else nil
	http10 bool

	mu      sync.Mutex
	sse     *sseWriter // nil: not a stream yet
	track   *track     // the stream in its session
	seq     uint64     // the track's last event
	parts   [][]byte   // responses of a batch that is not a stream yet
	written bool       // the response is complete, or its header is out
	gone    bool       // the ResponseWriter is not ours any more

	left chan struct{} // closed with gone; nil where nobody waits for it
}

func (a *answer) init(h *Handler, w http.ResponseWriter, r *http.Request, s *session, can accepts) {
	a.h, a.w, a.s, a.client, a.can, a.http10 = h, w, s, r.Context(), can, !r.ProtoAtLeast(1, 1)
}

// newExchange returns the exchange of a request that is by itself, and its
// answer, in one piece of memory.
func (h *Handler) newExchange(w http.ResponseWriter, r *http.Request, s *session, can accepts) *exchange {
	var single struct {
		exchange
		answer answer
	}
	single.answer.init(h, w, r, s, can)
	single.out = &single.answer
	return &single.exchange
}

// send puts a message of one exchange on the stream.
func (a *answer) send(ctx context.Context, x *exchange, m *rpc.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.done {
		return rpc.ErrEnded
	}
	a.noticeClient()
	if a.gone && a.track == nil {
		return a.lost(m)
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	return a.event(ctx, m)
}

// lost is for what cannot reach the client any more. A legacy client that hung
// up did not cancel: its handler goes on, and hears only that it cannot ask.
func (a *answer) lost(m *rpc.Request) error {
	if a.s != nil && m.ID.IsZero() {
		return nil
	}
	return rpc.ErrClosed
}

// noticeClient looks whether the client has hung up. The caller holds mu.
func (a *answer) noticeClient() {
	if !a.gone && a.client.Err() != nil {
		a.leave()
	}
}

// open turns the answer into a stream. The caller holds mu.
func (a *answer) open(ctx context.Context) error {
	if a.sse != nil || a.gone {
		return nil
	}
	if a.polls() && a.left == nil { // then nobody may count on the connection for the next request
		a.w.Header()["Connection"] = []string{"close"}
	}
	if a.line != nil {
		a.sse, a.written = a.line.open(), true
		a.w = a.line.w // nil when it is not needed any more
	} else {
		a.sse, a.written = openSSE(a.w, a.h.opt.Limits.WriteTime), true
	}
	a.sse.fail = a.abort
	a.h.keepAlive.add(a.sse)
	if a.s != nil && a.s.rev.Resumable {
		a.track = a.s.newTrack(a)
		if a.s.rev.Polling {
			a.prime(0)
		}
	}
	parts := a.parts
	a.parts = nil
	for _, p := range parts {
		if err := a.eventData(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// prime sends an event that only tells the client where it is (2025-11-25). That
// it fails is noticed with the next event.
func (a *answer) prime(retry time.Duration) {
	_ = a.write(event{id: behind(a.track.id, a.seq), retry: retry})
}

// event sends a message as an event. The caller holds mu.
func (a *answer) event(ctx context.Context, m rpc.Message) error {
	buf := getBuffer()
	defer putBuffer(buf)
	b, err := a.h.encode((*buf)[:0], m)
	if err != nil {
		return err
	}
	*buf = b
	return a.eventData(ctx, b)
}

func (a *answer) eventData(ctx context.Context, data []byte) error {
	if a.track == nil {
		return a.write(event{data: data})
	}
	e := event{data: data}
	seq, err := a.s.add(ctx, a.track.id, data)
	if err == nil {
		a.seq, e.id = seq, behind(a.track.id, seq)
	} else { // it goes out all the same; only resuming suffers
		a.h.opt.Logger.Warn("an event could not be kept", "error", err)
	}
	if werr := a.write(e); werr != nil && err != nil {
		return werr
	}
	return nil // what did not get out, the client can come back for
}

// write sends an event on the response, as long as there is one.
func (a *answer) write(e event) error {
	if a.gone {
		return rpc.ErrClosed
	}
	err := a.sse.write(e)
	if err != nil {
		a.leave()
	}
	return err
}

// respond gives the response of one exchange. When all of them have one, the
// answer is complete.
func (a *answer) respond(ctx context.Context, x *exchange, res *rpc.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.done {
		return
	}
	x.done = true
	a.noticeClient()
	if a.sse == nil && a.can.json {
		a.document(res)
		return
	}
	if a.gone && a.track == nil {
		return
	}
	if err := a.open(ctx); err != nil {
		return
	}
	if err := a.event(ctx, res); err != nil {
		a.h.opt.Logger.Debug("a response could not be sent", "error", err)
	}
}

// document gives the response as JSON, or keeps it as a part of a batch. The
// caller holds mu.
func (a *answer) document(res *rpc.Response) {
	if a.gone {
		return
	}
	if a.batch {
		if b, err := a.h.encode(nil, res); err == nil {
			a.parts = append(a.parts, b)
		}
		return
	}
	status := http.StatusOK
	if a.s == nil {
		status = modernStatus(res.Error)
	}
	a.written = true
	a.h.writeMessage(a.w, status, res)
}

// end completes the answer: nothing comes any more.
func (a *answer) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.batch && a.sse == nil && !a.gone && len(a.parts) > 0 {
		a.written = true
		a.h.writeJSON(a.w, http.StatusOK, joinBatch(a.parts))
	}
	if !a.written && !a.gone {
		a.written = true
		a.w.WriteHeader(http.StatusAccepted) // all requests were cancelled
	}
	if a.track != nil {
		a.s.endTrack(a.track)
	}
	a.leave()
}

func joinBatch(parts [][]byte) []byte {
	b := []byte{'['}
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	return append(b, ']')
}

// poll is ClosePoll with the lock.
func (a *answer) poll(x *exchange, retry time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.done {
		return ErrNoPolling
	}
	a.noticeClient()
	if a.gone {
		if a.track == nil {
			return ErrNoPolling
		}
		return nil // the client is away already
	}
	if a.left == nil && hijacker(a.w) == nil {
		return ErrNoPolling
	}
	if err := a.open(x.out.client); err != nil {
		return err
	}
	a.prime(max(retry, time.Millisecond))
	a.letGo()
	return nil
}

// giveBack lets go of the ResponseWriter, so that the caller can use it.
func (a *answer) giveBack() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leave()
}

// detach ends the HTTP response while the handler goes on.
func (a *answer) detach() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.letGo()
}

// letGo is detach for a caller that holds mu.
func (a *answer) letGo() {
	if a.gone {
		return
	}
	a.leave()
	if a.polls() && a.left == nil {
		a.disconnect()
	}
}

// polls reports whether the response may end early.
func (a *answer) polls() bool { return a.s != nil && a.s.rev.Polling }

// hijacker returns what can take a connection of HTTP/1 away from net/http, or
// nil.
func hijacker(w http.ResponseWriter) http.Hijacker {
	for {
		if hj, ok := w.(http.Hijacker); ok {
			return hj
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = u.Unwrap()
	}
}

// disconnect ends an HTTP/1 response, its connection with it, while its handler
// goes on.
func (a *answer) disconnect() {
	hj := hijacker(a.w)
	if hj == nil {
		return
	}
	conn, buf, err := hj.Hijack()
	if err != nil {
		return // the client is away, or notices when the handler is done
	}
	if !a.http10 {
		_, _ = buf.WriteString("0\r\n\r\n") // the last chunk
		_ = buf.Flush()
	}
	_ = conn.Close()
}

// leave lets go of the ResponseWriter. What comes later can only be kept for a
// client that resumes. The caller holds mu.
func (a *answer) leave() {
	if a.gone {
		return
	}
	a.gone = true
	if a.sse != nil {
		a.sse.close()
		a.h.keepAlive.remove(a.sse)
	}
	if a.left != nil {
		close(a.left)
	}
}

// encode appends the text of a message. A result that cannot be encoded is an
// internal error to the client, and news to the operator.
func (h *Handler) encode(b []byte, m rpc.Message) ([]byte, error) {
	b, err := rpc.AppendMessage(b, m)
	if errors.Is(err, rpc.ErrResult) {
		h.opt.Logger.Error("a result cannot be encoded", "error", err)
		return b, nil
	}
	return b, err
}

// writeMessage answers with one message as JSON.
func (h *Handler) writeMessage(w http.ResponseWriter, status int, m *rpc.Response) {
	buf := getBuffer()
	defer putBuffer(buf)
	b, err := h.encode((*buf)[:0], m)
	if err != nil {
		h.opt.Logger.Error("a response cannot be encoded", "error", err)
	}
	*buf = b
	h.writeJSON(w, status, b)
}

// jsonTypes is shared by all answers.
var jsonTypes = []string{jsonType}

func (h *Handler) writeJSON(w http.ResponseWriter, status int, b []byte) {
	hd := w.Header()
	hd["Content-Type"] = jsonTypes
	if len(b) > shortAnswer { // of a shorter one net/http says it
		hd["Content-Length"] = []string{strconv.Itoa(len(b))}
	}
	if len(b) > bigAnswer && h.opt.Limits.WriteTime > 0 {
		rc := http.NewResponseController(w)
		if rc.SetWriteDeadline(time.Now().Add(writeTime(h.opt.Limits.WriteTime, len(b)))) == nil {
			defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
