package streamhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// Dialer connects to a server over Streamable HTTP, in the legacy and in the
// modern shape: which one a request has is read off its headers. It implements
// [rpc.Dialer]. It may be used by several goroutines at once, and must not be
// changed after its first use.
type Dialer struct {
	// URL of the endpoint: http or https.
	URL string
	// Client sends the requests; its proxy, TLS and authorization are kept.
	// The dialer uses a copy, which follows no redirect that could carry a
	// body or credentials elsewhere, and in which Timeout bounds the wait for
	// the beginning of an answer, not a stream. Nil means a client of its own
	// for each connection.
	Client *http.Client
	// Header is added to every request. What the protocol says in headers
	// wins over it.
	Header http.Header
	// Logger gets what a developer should know. No payload is logged. Nil
	// discards.
	Logger *slog.Logger
	// Tap, if not nil, sees every message.
	Tap    rpc.Tap
	Limits DialLimits
}

// Dial makes a connection. Nothing is sent before the first call. What the
// server starts goes to h; notifications on several streams may come from
// several goroutines at once.
//
// Errors of the connection's calls are *[rpc.Error], *[StatusError],
// *[ContentTypeError] and *[RedirectError]; those that match
// [ErrOutcomeUnknown] leave open whether the server acted.
func (d *Dialer) Dial(ctx context.Context, h rpc.Handler) (rpc.Conn, error) {
	l, err := newLink(ctx, linkOptions{url: d.URL, client: d.Client, header: d.Header, logger: d.Logger, tap: d.Tap, limits: d.Limits})
	if err != nil {
		return nil, err
	}
	return &conn{link: l, handler: h}, nil
}

// conn is a connection over Streamable HTTP. It keeps no table of its calls:
// the answer to a POST is on that POST.
type conn struct {
	*link
	handler rpc.Handler
	ids     atomic.Int64
	batch   atomic.Bool
	heads   heads
	legacy  legacyState

	closing  sync.Once
	closeErr error
}

// Call implements [rpc.Peer]: one call, one POST.
func (c *conn) Call(ctx context.Context, req *rpc.Request, result any) error {
	if req.ID.IsZero() {
		req.ID = rpc.IntID(c.ids.Add(1))
	}
	x, err := c.openCall(ctx)
	if err != nil {
		return err
	}
	defer x.end()
	body, err := encode(req)
	if err != nil {
		return err
	}
	in := &x.in
	in.c, in.want = c, req.ID
	if namesModern(req.Header) {
		c.tapped(x.ctx, rpc.Sent, req)
		err = c.exchange(x, c.callHeaders(req, ""), body, in)
	} else {
		err = c.legacyCall(x, req, body, in)
	}
	switch {
	case err != nil:
		return err
	case in.res.Error != nil:
		return in.res.Error
	}
	return rpc.DecodeResult(in.res, result)
}

// Notify implements [rpc.Peer]. It returns when the server has accepted the
// notification.
func (c *conn) Notify(ctx context.Context, req *rpc.Request) error {
	modern := namesModern(req.Header)
	if modern && req.Method == mcp.NotificationCancelled {
		return nil // the end of the response stream has said it
	}
	x, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer x.end()
	body, err := rpc.AppendMessage(nil, req)
	if err != nil {
		return err
	}
	if !modern {
		return c.legacyNotify(x, req, body)
	}
	c.tapped(x.ctx, rpc.Sent, req)
	return c.deliver(x, c.callHeaders(req, ""), body)
}

// encode returns the body for a request.
func encode(req *rpc.Request) ([]byte, error) {
	const around = len(`{"jsonrpc":"2.0","id":,"method":"","params":}`)
	return rpc.AppendMessage(make([]byte, 0, around+len(req.Method)+len(req.ID.String())+len(req.Params)), req)
}

// AllowBatch implements [rpc.Conn].
func (c *conn) AllowBatch(ok bool) { c.batch.Store(ok) }

// Close implements [rpc.Conn]: it ends all calls and streams, takes leave of
// the session, and waits, at most for Limits.CloseTimeout, for the handlers.
func (c *conn) Close() error {
	c.closing.Do(func() {
		c.shut()
		c.leave()
		c.closeErr = c.wait()
	})
	return c.closeErr
}

// exchange posts a request and reads what comes until the response is there.
func (c *conn) exchange(x *flight, h http.Header, body []byte, in *inbound) error {
	res, err := c.post(x, h, body)
	if err != nil {
		return err
	}
	if in.opened != nil {
		in.opened(res.Header)
	}
	kind := mediaType(res.Header)
	if kind == jsonType {
		defer res.Body.Close() // it is read to its end
		return c.readJSON(x, res, in)
	}
	defer c.finish(x, res)
	if kind == eventsType {
		return in.read(x, newEventReader(res.Body, c.lim.MessageBytes))
	}
	if res.StatusCode == http.StatusAccepted || res.StatusCode == http.StatusNoContent {
		return fmt.Errorf("streamhttp: the server took the request as a notification (status %d) and gave no response", res.StatusCode)
	}
	return c.contentTypeError(x, http.MethodPost, res)
}

// deliver posts what has no response. Servers say in many ways that they took
// it; any success will do.
func (c *conn) deliver(x *flight, h http.Header, body []byte) error {
	res, err := c.post(x, h, body)
	if err != nil {
		return err
	}
	c.finish(x, res)
	return nil
}

// readJSON reads a response that came without a stream.
func (c *conn) readJSON(x *flight, res *http.Response, in *inbound) error {
	b, err := c.readBody(x, res)
	if err != nil {
		return err
	}
	m, err := c.decode(b)
	if err != nil {
		return fmt.Errorf("streamhttp: the server's answer is not a JSON-RPC message: %w", err)
	}
	if err := in.take(x.ctx, m); err != nil {
		return err
	}
	if in.res == nil {
		return fmt.Errorf("streamhttp: the server's answer holds no response to request %s", in.want)
	}
	return nil
}

// decode reads one message, or an array of them where the revision has that.
func (c *conn) decode(b []byte) (rpc.Message, error) {
	m, err := rpc.Decode(b, c.wire)
	if err != nil {
		return nil, err
	}
	if _, ok := m.(rpc.Batch); ok && !c.batch.Load() {
		return nil, rpc.ErrBatch
	}
	return m, nil
}

// inbound is what comes back: the stream of one POST, of its resumption, or
// the one on which the server starts things.
type inbound struct {
	c    *conn
	want rpc.ID        // its response ends the stream; zero: nothing does
	res  *rpc.Response // that response

	legacy  bool   // the server may ask
	session string // in which the answers are sent
	opened  func(http.Header)
	cursor  cursor
	bad     error // the first message that could not be read
}

// errOtherTransport says that a GET has opened a session of HTTP+SSE, which
// servers may offer at the same URL.
var errOtherTransport = errors.New("streamhttp: the stream is one of HTTP+SSE")

// read takes messages until the response is there. An error says why the
// stream is of no more use.
func (in *inbound) read(x *flight, r *eventReader) error {
	for {
		ev, err := r.next()
		in.cursor.note(r)
		if err != nil {
			return in.broken(x, err)
		}
		if ev.name == "endpoint" && in.want.IsZero() {
			return errOtherTransport
		}
		if ev.name != "message" {
			continue
		}
		m, err := in.c.decode(ev.data)
		if err == nil {
			in.cursor.news = true
			err = in.take(x.ctx, m)
		}
		if err = in.unreadable(x.ctx, err); err != nil || in.res != nil {
			return err
		}
	}
}

// unreadable decides about a message that could not be read. If it was the
// response, the call has failed. It may also be nothing that the call needs;
// should the response be missing in the end, this is probably why.
func (in *inbound) unreadable(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*rpc.DecodeError](err)
	if ok && e.Response && !in.want.IsZero() && (e.ID == in.want || e.ID.IsZero()) {
		return fmt.Errorf("streamhttp: the server's response cannot be read: %w", err)
	}
	in.bad = cmp.Or(in.bad, err)
	in.c.log.DebugContext(ctx, "streamhttp: a message of the server cannot be read")
	return nil
}

// broken says what the end of a stream before its response means.
func (in *inbound) broken(x *flight, err error) error {
	switch {
	case in.c.life.Err() != nil:
		return rpc.ErrClosed
	case x.ctx.Err() != nil:
		return contextError(x.ctx)
	case errors.Is(err, rpc.ErrTooLarge):
		return err
	}
	if in.bad != nil {
		err = fmt.Errorf("%w; a message before that could not be read: %w", err, in.bad)
	}
	return fmt.Errorf("%w: the stream ended: %w", ErrOutcomeUnknown, err)
}

// take does with one message what is to be done.
func (in *inbound) take(ctx context.Context, m rpc.Message) error {
	switch m := m.(type) {
	case rpc.Batch:
		var bad error
		for _, one := range m {
			bad = cmp.Or(bad, in.take(ctx, one))
		}
		return bad
	case *rpc.DecodeError:
		return m
	case *rpc.Response:
		in.c.tapped(ctx, rpc.Received, m)
		// An error without an ID is about the only request there is.
		if !in.want.IsZero() && (m.ID == in.want || m.ID.IsZero() && m.Error != nil) {
			in.res = m
			return nil //nolint:nilerr // the error is the answer
		}
		in.c.log.DebugContext(ctx, "streamhttp: response to no request on its stream")
	case *rpc.Request:
		in.c.tapped(ctx, rpc.Received, m)
		switch {
		case m.ID.IsZero():
			_, _ = in.c.handle(in.c.life, m)
		case in.legacy:
			in.c.serve(m, in.session)
		default:
			in.c.log.DebugContext(ctx, "streamhttp: request of the server, which the modern era has not", "method", excerpt(m.Method))
		}
	}
	return nil
}

// handle runs the handler. Its panic, which may come of what the server sent,
// is answered for, and the server is not told what it was.
func (c *conn) handle(ctx context.Context, req *rpc.Request) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("handler panicked", "method", req.Method, "panic", v, "stack", string(debug.Stack()))
			result, err = nil, errors.New("streamhttp: the handler panicked")
		}
	}()
	return c.handler.Handle(ctx, req, c)
}
