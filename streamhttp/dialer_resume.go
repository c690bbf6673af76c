package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// This file takes up the streams of the legacy era again: that of a call whose
// response has not come, and that on which the server starts things
// (2025-11-25, resumability and redelivery).

// resumed returns the outcome of a call whose first stream ended with err. A
// call is never sent again; but where the server numbers its events, the rest
// of the stream can be asked for, and servers since 2025-11-25 end streams on
// purpose to be polled.
func (c *conn) resumed(x *flight, version http.Header, err error, in *inbound) error {
	if !errors.Is(err, ErrOutcomeUnknown) || in.cursor.id == "" {
		return err
	}
	var waited time.Duration
	fails := 0
	for first := true; ; first = false {
		d := c.resumeDelay(&in.cursor, first, fails)
		if waited += d; waited > c.lim.ResumeWait {
			return fmt.Errorf("%w; the server wants the client to wait for %s, which is more than the %s allowed in all", err, d, c.lim.ResumeWait)
		}
		if !pause(x.ctx, d) {
			return in.broken(x, err)
		}
		in.cursor.news = false
		again, e := c.resume(x, version, in)
		if e == nil {
			return nil
		}
		if x.ctx.Err() != nil || errors.Is(e, rpc.ErrTooLarge) {
			return in.broken(x, e)
		}
		if !again {
			return fmt.Errorf("%w; and the stream could not be resumed: %w", err, e)
		}
		if fails++; in.cursor.news {
			fails, waited = 0, 0
		}
		if fails >= c.lim.ResumeAttempts {
			return fmt.Errorf("%w; nor did %d attempts to resume the stream bring anything: %w", err, fails, e)
		}
	}
}

// resumeDelay is how long to wait: as long as the server said, otherwise
// hardly at all the first time, and then longer and longer.
func (c *conn) resumeDelay(k *cursor, first bool, fails int) time.Duration {
	if k.known {
		return max(k.retry, c.lim.MinRetry)
	}
	if first {
		return c.lim.MinRetry
	}
	return c.backoff(fails - 1)
}

// backoff doubles with every failure that came before.
func (c *conn) backoff(fails int) time.Duration {
	return jitter(min(firstRetry<<min(max(fails, 0), 16), c.lim.MaxRetry))
}

// resume asks once for the rest of a stream and reads it. again says that
// another attempt may do better.
func (c *conn) resume(x *flight, like http.Header, in *inbound) (again bool, err error) {
	y, err := c.open(x.ctx)
	if err != nil {
		return false, err
	}
	defer y.end()
	h := c.sessionHeaders(&rpc.Request{Header: like}, in.session)
	res, err := c.get(y, h, in.cursor.id)
	if err != nil {
		return passing(err), err
	}
	defer c.finish(y, res)
	r := newEventReader(res.Body, c.lim.MessageBytes)
	r.id, r.lastID = in.cursor.id, in.cursor.id
	err = in.read(y, r)
	return true, err
}

// get opens a stream. What is not a stream is an error.
func (c *conn) get(x *flight, h http.Header, after string) (*http.Response, error) {
	delete(h, "Content-Type")
	h["Accept"] = []string{eventsType}
	if after != "" {
		h[headerEventID] = []string{after}
	}
	res, err := c.doSoon(x, http.MethodGet, c.url, h, nil)
	if err != nil {
		return nil, err
	}
	if mediaType(res.Header) != eventsType {
		return nil, c.contentTypeError(x, http.MethodGet, res)
	}
	return res, nil
}

// passing reports whether a failure is one that may not be there the next time.
func passing(err error) bool {
	var status *StatusError
	var redirect *RedirectError
	var kind *ContentTypeError
	switch {
	case errors.As(err, &status):
		switch status.Code {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
			return true
		}
		return status.Code >= 500 && status.Code != http.StatusNotImplemented
	case errors.As(err, &redirect), errors.As(err, &kind), errors.Is(err, rpc.ErrClosed):
		return false
	}
	return true
}

// A listener keeps the stream open on which the server starts things.
type listener struct {
	c       *conn
	session string // of the last stream
	held    bool   // the server has had a stream in this session
	cursor  cursor
	fails   int // in a row

	answered func() // called when the server has answered the first time
}

// listen runs until the connection is closed, or the server shows that it
// offers no such stream. Its failures are nobody else's. answered is called
// when the server has answered the first try, in whatever way.
func (c *conn) listen(answered func()) {
	n := &listener{c: c, answered: answered}
	defer answered()
	for c.life.Err() == nil {
		ctx, cancel := context.WithCancel(c.life)
		c.legacy.mu.Lock()
		session := c.legacy.session
		c.legacy.listening = cancel
		c.legacy.mu.Unlock()
		if session != n.session {
			n.session, n.held, n.cursor, n.fails = session, false, cursor{}, 0
		}
		more := n.once(ctx) && pause(ctx, n.delay())
		renewed := ctx.Err() != nil // by the renewal of the session, or by Close
		cancel()
		if !more && !renewed {
			return
		}
	}
}

// once holds the stream once, and reports whether it is worth another try.
func (n *listener) once(ctx context.Context) bool {
	c := n.c
	x, err := c.open(ctx)
	if err != nil {
		return false
	}
	defer x.end()
	n.cursor.news = false
	began := time.Now()
	res, err := c.get(x, c.ownHeaders(n.session), n.cursor.id)
	n.answered()
	if err != nil {
		n.fails++
		return n.failed(ctx, err)
	}
	n.held = true
	in := &inbound{c: c, legacy: true, session: n.session, cursor: n.cursor}
	r := newEventReader(res.Body, c.lim.MessageBytes)
	r.id, r.lastID = n.cursor.id, n.cursor.id
	err = in.read(x, r)
	res.Body.Close()
	n.cursor = in.cursor
	if errors.Is(err, errOtherTransport) {
		return false
	}
	if errors.Is(err, rpc.ErrTooLarge) {
		c.log.Warn("streamhttp: the server's stream is given up", "error", err)
		return false
	}
	// A server that closes every stream at once would be asked for ever at
	// the pace of a first try. What counts as a good stream brought something,
	// or lasted.
	if n.fails++; n.cursor.news || time.Since(began) >= healthyStream {
		n.fails = 0
	}
	return true
}

func (n *listener) failed(ctx context.Context, err error) bool {
	c := n.c
	// 404 is a forgotten session only to who had a stream in it: other servers
	// say so that they offer none.
	if n.held && forgotten(err, n.session) {
		if err := c.renew(ctx, n.session); err != nil {
			c.log.Debug("streamhttp: session could not be renewed", "error", err)
		}
		return true
	}
	if passing(err) {
		return true
	}
	c.log.Debug("streamhttp: the server offers no stream", "error", err)
	return false
}

func (n *listener) delay() time.Duration {
	var wish time.Duration
	if n.cursor.known {
		wish = max(n.cursor.retry, n.c.lim.MinRetry)
	}
	if n.fails == 0 && n.cursor.known {
		return wish
	}
	return max(wish, n.c.backoff(n.fails-1))
}
