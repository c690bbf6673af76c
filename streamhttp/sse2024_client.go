package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"sync"

	"github.com/tenon-mcp/tenon/rpc"
)

// SSEDialer connects to a server over HTTP+SSE, the transport of 2024-11-05:
// one stream of events carries all that the server sends, and each message of
// the client is a POST to a second URL, which the stream names first. It
// implements [rpc.Dialer]; the fields are those of [Dialer].
type SSEDialer struct {
	URL    string // of the stream
	Client *http.Client
	Header http.Header
	Logger *slog.Logger
	Tap    rpc.Tap
	Limits DialLimits
}

// Dial opens the stream and waits for the name of the second URL. Its error
// matches [ErrNotSSE] where the URL answers, but with something else.
//
// Where the stream ends later, the calls under way return an error that matches
// [ErrOutcomeUnknown], and the next one opens a stream and a session anew. What
// the server starts meanwhile is not heard.
func (d *SSEDialer) Dial(ctx context.Context, h rpc.Handler) (rpc.Conn, error) {
	l, err := newLink(ctx, linkOptions{url: d.URL, client: d.Client, header: d.Header, logger: d.Logger, limits: d.Limits})
	if err != nil {
		return nil, err
	}
	c := &sseConn{link: l, dialer: d, handler: h}
	if c.stream, err = c.connect(ctx); err != nil {
		l.shut()
		_ = l.wait()
		return nil, err
	}
	return c, nil
}

// connect opens a stream. ctx bounds that, not the stream.
func (c *sseConn) connect(ctx context.Context) (*sseStream, error) {
	s := &sseStream{link: c.link}
	if err := s.connect(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.duplex = rpc.NewDuplex(c.life, s, handlerBinder{c.handler}, &rpc.DuplexOptions{
		Limits: c.wire, Logger: c.dialer.Logger, Tap: c.dialer.Tap, Grace: c.lim.CloseTimeout, SkipUnreadable: true,
	})
	return s, nil
}

// handlerBinder binds one handler to whatever connection comes.
type handlerBinder struct{ rpc.Handler }

func (b handlerBinder) Bind(context.Context, rpc.Conn) rpc.Handler { return b.Handler }

// sseStream is an [rpc.Stream]: the duplex above it pairs the responses on the
// stream with the calls.
type sseStream struct {
	*link
	duplex *rpc.Duplex
	flight *flight // of the stream; over with it
	body   io.ReadCloser
	events *eventReader
	post   string // the second URL

	closing sync.Once
}

// connect opens the stream. ctx and EndpointTimeout bound that, not the
// stream.
func (s *sseStream) connect(ctx context.Context) error {
	x, err := s.open(s.life)
	if err != nil {
		return err
	}
	s.flight = x
	defer context.AfterFunc(ctx, func() { x.cancel(ctx.Err()) })()
	defer x.within(s.lim.EndpointTimeout, &headerTimeoutError{s.lim.EndpointTimeout})()
	err = s.handshake(x)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (s *sseStream) handshake(x *flight) error {
	h := s.header.Clone()
	h["Accept"] = []string{eventsType}
	h["Cache-Control"] = []string{"no-store"}
	res, err := s.do(x, http.MethodGet, s.url, h, nil) //nolint:bodyclose // the stream closes it
	if err != nil {
		if e, ok := errors.AsType[*StatusError](err); ok && noSuchThing(e.Code) {
			return fmt.Errorf("%w: %w", ErrNotSSE, err)
		}
		return err
	}
	if mediaType(res.Header) != eventsType {
		return fmt.Errorf("%w: %w", ErrNotSSE, s.contentTypeError(x, http.MethodGet, res))
	}
	s.body, s.events = res.Body, newEventReader(res.Body, s.lim.MessageBytes)
	ev, err := s.events.next()
	if x.ctx.Err() != nil {
		return contextError(x.ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: its stream ended before the event that names the endpoint: %w", ErrNotSSE, err)
	}
	if ev.name != "endpoint" {
		return fmt.Errorf("%w: the first event of its stream does not name the endpoint", ErrNotSSE)
	}
	s.post, err = resolveEndpoint(res.Request.URL, string(ev.data))
	return err
}

// noSuchThing reports whether a status says that the URL has nothing of the
// kind. The others, such as 401 and 503, are about something else.
func noSuchThing(code int) bool {
	switch code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusGone, http.StatusNotImplemented:
		return true
	}
	return false
}

// resolveEndpoint reads the reference to the second URL. Another origin would
// get all that the client sends, so it is refused.
func resolveEndpoint(base *url.URL, ref string) (string, error) {
	u, err := base.Parse(ref)
	if err != nil {
		return "", fmt.Errorf("streamhttp: the server names an endpoint that is no URL: %s", excerpt(ref))
	}
	if originOf(u) != originOf(base) {
		return "", fmt.Errorf("streamhttp: the server names an endpoint on another origin, %s, which is not used", excerpt(u.Scheme+"://"+u.Host))
	}
	u.User, u.Fragment, u.RawFragment = base.User, "", ""
	return u.String(), nil
}

// Read implements [rpc.Stream].
func (s *sseStream) Read(ctx context.Context) (rpc.Message, error) {
	defer context.AfterFunc(ctx, func() { s.flight.cancel(ctx.Err()) })()
	for {
		ev, err := s.events.next()
		if err != nil {
			err = s.ended(ctx, err)
			if s.life.Err() == nil && !s.over() {
				s.log.InfoContext(ctx, "streamhttp: the server's stream ended; the next call opens another")
			}
			s.flight.cancel(err) // before the calls hear of it
			return nil, err
		}
		if ev.name == "message" {
			return rpc.Decode(ev.data, s.wire)
		}
	}
}

// over reports whether nothing comes on the stream any more.
func (s *sseStream) over() bool { return s.flight.ctx.Err() != nil }

func (s *sseStream) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.life.Err() != nil:
		return rpc.ErrClosed
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return fmt.Errorf("streamhttp: the server's stream broke: %w", err)
}

// Write implements [rpc.Stream].
func (s *sseStream) Write(ctx context.Context, m rpc.Message) error {
	body, encodeErr := rpc.AppendMessage(nil, m)
	if len(body) == 0 {
		return encodeErr
	}
	x, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer x.end()
	defer context.AfterFunc(s.flight.ctx, func() { x.cancel(nil) })()
	h := s.header.Clone()
	if req, ok := m.(*rpc.Request); ok {
		maps.Copy(h, req.Header)
	}
	h["Content-Type"] = []string{jsonType}
	h["Accept"] = []string{bothTypes}
	res, err := s.doSoon(x, http.MethodPost, s.post, h, body)
	switch {
	case err == nil:
		s.finish(x, res)
		return encodeErr
	case s.over() && ctx.Err() == nil: // that is why
		return rpc.ErrClosed
	}
	return err
}

// Close implements [rpc.Stream]: the end of the stream is the end of the
// session.
func (s *sseStream) Close() error {
	s.closing.Do(func() {
		if s.flight != nil {
			s.flight.end()
		}
		if s.body != nil {
			_ = s.body.Close()
		}
	})
	return nil
}
