package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// legacyState is what a connection remembers only for the legacy era.
type legacyState struct {
	mu sync.Mutex
	// session is the server's name for what initialize opened; "" where it
	// gave none.
	session string
	opening opening

	renewal   *renewal           // under way
	listening context.CancelFunc // ends the stream for what the server starts, so that it is opened anew; nil: there is none

	incoming map[rpc.ID]context.CancelCauseFunc // requests of the server
}

// A renewal is one attempt to open a new session, on which all calls wait that
// were told that theirs is forgotten.
type renewal struct {
	done chan struct{}
	err  error
}

// legacyCall makes one call of the legacy era.
func (c *conn) legacyCall(x *flight, req *rpc.Request, body []byte, in *inbound) error {
	in.legacy = true
	if req.Method == mcp.MethodInitialize {
		return c.openSession(x, req, body, in)
	}
	for again := true; ; again = false {
		in.session = c.currentSession()
		c.tapped(x.ctx, rpc.Sent, req)
		err := c.exchange(x, c.callHeaders(req, in.session), body, in)
		if again && forgotten(err, in.session) {
			if err := c.renew(x.ctx, in.session); err != nil {
				return err
			}
			// The 404 may come from something between here and the server,
			// after the server acted.
			if !mcp.Repeatable(req.Method) {
				return fmt.Errorf("streamhttp: the server forgot the session, so a new one was opened; %s may have run and was not sent again: "+
					"call it again where that is safe: %w: %w", excerpt(req.Method), ErrOutcomeUnknown, err)
			}
			continue
		}
		err = c.resumed(x, req.Header, err, in)
		if err != nil || in.res.Error != nil || c.noted(req, in.session) || !again {
			return err
		}
		// It was set in a session that is being replaced: once more, then.
		if err := c.renew(x.ctx, in.session); err != nil {
			return err
		}
		in.res, in.cursor = nil, cursor{}
	}
}

// noted remembers what is to be so in the next session, too, and reports
// whether it is so in the one there is.
func (c *conn) noted(req *rpc.Request, session string) bool {
	l := &c.legacy
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.opening.note(req) || l.session == session && l.renewal == nil
}

// openSession sends initialize. It is the one request without a session.
func (c *conn) openSession(x *flight, req *rpc.Request, body []byte, in *inbound) error {
	in.opened = func(h http.Header) {
		id := h.Get(headerSession)
		if id != "" && !validSessionID(id) {
			c.log.Warn("streamhttp: the server's session ID is not one that a header can carry; it is ignored", "bytes", len(id))
			id = ""
		}
		in.session = id
	}
	c.tapped(x.ctx, rpc.Sent, req)
	err := c.exchange(x, c.sessionHeaders(req, ""), body, in)
	if err = c.resumed(x, req.Header, err, in); err != nil || in.res.Error != nil {
		return err
	}
	l := &c.legacy
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = in.session
	l.opening.begin(req, rawResult(in.res))
	return nil
}

// agreedVersion returns the protocol version in the result of initialize.
func agreedVersion(result jsontext.Value) string {
	var r struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(result, &r) // who called initialize says what is wrong with it
	return r.Version
}

func rawResult(res *rpc.Response) jsontext.Value {
	raw, _ := res.Result.(jsontext.Value)
	return raw
}

func copyRequest(req *rpc.Request) *rpc.Request {
	return &rpc.Request{Method: req.Method, Params: req.Params.Clone(), Header: req.Header.Clone()}
}

// legacyNotify sends one notification of the legacy era.
func (c *conn) legacyNotify(x *flight, req *rpc.Request, body []byte) error {
	for again := true; ; again = false {
		session := c.currentSession()
		c.tapped(x.ctx, rpc.Sent, req)
		err := c.deliver(x, c.sessionHeaders(req, session), body)
		switch {
		case err == nil:
			if req.Method == mcp.NotificationInitialized {
				c.sessionOpen(x.ctx, req)
			}
			return nil
		case !again || !forgotten(err, session) || req.Method == mcp.NotificationInitialized:
			return err
		case req.Method == mcp.NotificationCancelled || req.Method == mcp.NotificationProgress:
			return nil // it was about a request of the session that is gone
		}
		if err := c.renew(x.ctx, session); err != nil {
			return err
		}
	}
}

// sessionOpen is called when the server has accepted
// notifications/initialized: from now on it may start things.
//
// It waits a little for the stream that carries those: there are servers that
// send on it what belongs to the next call, and drop it where there is none.
func (c *conn) sessionOpen(ctx context.Context, req *rpc.Request) {
	l := &c.legacy
	l.mu.Lock()
	l.opening.initialized = copyRequest(req)
	if l.listening != nil {
		l.listening() // it was for the session before
		l.mu.Unlock()
		return
	}
	l.listening = func() {}
	l.mu.Unlock()
	answered := make(chan struct{})
	if !c.goLive(func() { c.listen(sync.OnceFunc(func() { close(answered) })) }) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, streamWait)
	defer cancel()
	select {
	case <-answered:
	case <-ctx.Done():
	}
}

func (c *conn) currentSession() string {
	c.legacy.mu.Lock()
	defer c.legacy.mu.Unlock()
	return c.legacy.session
}

func (c *conn) sessionHeaders(req *rpc.Request, session string) http.Header {
	h := c.headers(req)
	if session != "" {
		h[headerSession] = []string{session}
	}
	return h
}

// ownHeaders returns the headers of what the dialer sends by itself.
func (c *conn) ownHeaders(session string) http.Header {
	var like rpc.Request
	c.legacy.mu.Lock()
	if req := c.legacy.opening.initialized; req != nil {
		like.Header = req.Header
	}
	c.legacy.mu.Unlock()
	return c.sessionHeaders(&like, session)
}

// forgotten reports whether err says that the server does not know the session
// any more (2025-11-25, session management). A JSON-RPC error about the method
// comes from a server that uses 404 for more.
func forgotten(err error, session string) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && session != "" && e.Code == http.StatusNotFound &&
		(e.wire == nil || e.wire.Code != rpc.CodeMethodNotFound)
}

// renew opens a new session in place of old, once for all who ask.
func (c *conn) renew(ctx context.Context, old string) error {
	l := &c.legacy
	l.mu.Lock()
	if l.session != old {
		l.mu.Unlock()
		return nil // somebody else was faster
	}
	if !l.opening.complete() {
		l.mu.Unlock()
		return errors.New("streamhttp: the server forgot the session before it was open")
	}
	r := l.renewal
	if r == nil {
		r = &renewal{done: make(chan struct{})}
		opening := l.opening.clone()
		// Not on the goroutine of the first caller, whose context is its own.
		if !c.goLive(func() { c.runRenewal(r, opening) }) {
			l.mu.Unlock()
			return rpc.ErrClosed
		}
		l.renewal = r
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if c.life.Err() != nil {
			return rpc.ErrClosed
		}
		return contextError(ctx)
	}
}

func (c *conn) runRenewal(r *renewal, o *opening) {
	n := &newLegacySession{c: c}
	err := o.repeat(n, c.log)
	l := &c.legacy
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewal = nil
	if err != nil {
		r.err = fmt.Errorf("streamhttp: the server forgot the session, and a new one could not be opened: %w", err)
		if c.life.Err() != nil {
			r.err = rpc.ErrClosed
		}
	} else {
		l.session = n.session
		if l.listening != nil {
			l.listening()
		}
	}
	close(r.done)
}

// newLegacySession is a session that is being opened in place of another.
type newLegacySession struct {
	c       *conn
	session string
}

func (n *newLegacySession) call(req *rpc.Request) (jsontext.Value, error) {
	c := n.c
	x, err := c.open(c.life)
	if err != nil {
		return nil, err
	}
	defer x.end()
	defer x.within(c.lim.HeaderTimeout, &headerTimeoutError{c.lim.HeaderTimeout})()
	req.ID = rpc.IntID(-c.ids.Add(1)) // callers count upwards
	in := &inbound{c: c, want: req.ID, legacy: true, session: n.session}
	if req.Method == mcp.MethodInitialize {
		in.opened = func(h http.Header) {
			if id := h.Get(headerSession); validSessionID(id) {
				in.session = id
			}
		}
	}
	body, err := rpc.AppendMessage(nil, req)
	if err != nil {
		return nil, err
	}
	c.tapped(x.ctx, rpc.Sent, req)
	if err := c.exchange(x, c.sessionHeaders(req, n.session), body, in); err != nil {
		return nil, err
	}
	if in.res.Error != nil {
		return nil, in.res.Error
	}
	n.session = in.session
	return rawResult(in.res), nil
}

func (n *newLegacySession) notify(req *rpc.Request) error {
	c := n.c
	x, err := c.open(c.life)
	if err != nil {
		return err
	}
	defer x.end()
	defer x.within(c.lim.HeaderTimeout, &headerTimeoutError{c.lim.HeaderTimeout})()
	body, err := rpc.AppendMessage(nil, req)
	if err != nil {
		return err
	}
	c.tapped(x.ctx, rpc.Sent, req)
	return c.deliver(x, c.sessionHeaders(req, n.session), body)
}

// leave tells the server that the session is over. A server that does not want
// to know (405), or has forgotten it (404), is in the right.
func (c *conn) leave() {
	session := c.currentSession()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), c.lim.CloseTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url, nil)
	if err != nil {
		return
	}
	req.Header = c.ownHeaders(session)
	delete(req.Header, "Content-Type")
	res, err := c.client.Do(req)
	if err != nil {
		c.log.Debug("streamhttp: the session could not be ended at the server")
		return
	}
	res.Body.Close()
}

// serve handles a request of the server on its own goroutine and posts the
// answer. One that came before, as replays do, is not handled twice.
func (c *conn) serve(req *rpc.Request, session string) {
	ctx, cancel := context.WithCancelCause(c.life)
	l := &c.legacy
	l.mu.Lock()
	n := len(l.incoming)
	if _, twice := l.incoming[req.ID]; twice || n >= 2*c.lim.ServerRequests {
		l.mu.Unlock()
		cancel(nil)
		return
	}
	if l.incoming == nil {
		l.incoming = make(map[rpc.ID]context.CancelCauseFunc)
	}
	l.incoming[req.ID] = cancel
	l.mu.Unlock()

	// Refusing takes a request too, and so a goroutine: as many again for
	// that, and what is over is dropped without a word.
	busy := n >= c.lim.ServerRequests
	started := c.goLive(func() {
		var result any
		err := error(rpc.Errorf(rpc.CodeInternalError, "too many requests at once"))
		if !busy {
			result, err = c.handle(ctx, req)
		}
		if ctx.Err() == nil {
			c.answer(rpc.Reply(req, result, err), session)
		}
		c.forget(req.ID, cancel)
	})
	if !started {
		c.forget(req.ID, cancel)
	}
}

func (c *conn) forget(id rpc.ID, cancel context.CancelCauseFunc) {
	cancel(nil)
	c.legacy.mu.Lock()
	delete(c.legacy.incoming, id)
	c.legacy.mu.Unlock()
}

// Cancel implements [rpc.Conn].
func (c *conn) Cancel(id rpc.ID, cause error) {
	c.legacy.mu.Lock()
	cancel := c.legacy.incoming[id]
	c.legacy.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// answer posts the response to a request of the server, in the session in which
// it was asked: no other one waits for it.
func (c *conn) answer(res *rpc.Response, session string) {
	x, err := c.open(c.life)
	if err != nil {
		return
	}
	defer x.end()
	body, err := rpc.AppendMessage(nil, res)
	if err != nil { // body says so to the server
		c.log.Error("streamhttp: answer to the server could not be encoded", "error", err)
	}
	c.tapped(x.ctx, rpc.Sent, res)
	reply, err := c.doSoon(x, http.MethodPost, c.url, c.ownHeaders(session), body)
	if err != nil {
		c.log.Debug("streamhttp: answer to the server was not accepted", "error", err)
		return
	}
	c.finish(x, reply)
}

// cursor is how far a stream has been read.
type cursor struct {
	id    string        // of the last event; "" means that there is nothing to resume
	retry time.Duration // as the server wished; negative: it did not
	known bool          // retry is set
	news  bool          // something came since this was last reset
}

func (k *cursor) note(r *eventReader) {
	if r.lastID != k.id {
		k.id, k.news = r.lastID, true
	}
	if r.retry >= 0 {
		k.retry, k.known = r.retry, true
	}
}

// jitter makes d up to a quarter longer, so that the clients of a server that
// went down do not all come back in the same moment.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/4+1) }
