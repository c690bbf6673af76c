package streamhttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/lazy"
	"github.com/tenon-mcp/tenon/rpc"
)

// A link sends HTTP requests for one connection, and owns what the connection
// started: its context and its goroutines. Both dialers stand on one.
type link struct {
	url     string
	header  http.Header
	log     *slog.Logger
	tap     rpc.Tap
	lim     DialLimits
	wire    rpc.Limits // of one message
	client  *http.Client
	direct  *direct         // nil: all goes through client
	own     *http.Transport // ours to close; nil where the user gave a client
	timeout time.Duration   // of the user's client

	life context.Context // ends with the connection
	kill context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	flights map[*flight]struct{} // under way
	wg      sync.WaitGroup
}

type linkOptions struct {
	url    string
	client *http.Client
	header http.Header
	logger *slog.Logger
	tap    rpc.Tap
	limits DialLimits
}

func newLink(ctx context.Context, o linkOptions) (*link, error) {
	u, err := parseEndpoint(o.url)
	if err != nil {
		return nil, err
	}
	l := &link{
		url:    u.String(),
		header: canonical(o.header),
		log:    cmp.Or(o.logger, slog.New(slog.DiscardHandler)),
		tap:    o.tap,
		lim:    o.limits.withDefaults(),
	}
	l.wire = rpc.Limits{MessageBytes: l.lim.MessageBytes, Depth: l.lim.Depth}
	c := new(http.Client)
	if o.client != nil {
		*c = *o.client
	} else {
		c.Transport, l.own = newTransport()
	}
	l.timeout, c.Timeout = c.Timeout, 0
	c.CheckRedirect = l.checkRedirect(c.CheckRedirect)
	l.client, l.direct = c, newDirect(c, u)
	l.flights = make(map[*flight]struct{})
	l.life, l.kill = context.WithCancelCause(context.WithoutCancel(ctx))
	return l, nil
}

// parseEndpoint checks the URL that the user gave.
func parseEndpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err // the URL itself may hold a secret
		}
		return nil, fmt.Errorf("streamhttp: URL of the server: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("streamhttp: URL of the server has scheme %s: it must begin with http:// or https://", excerpt(u.Scheme))
	}
	if u.Hostname() == "" {
		return nil, errors.New("streamhttp: URL of the server has no host")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func canonical(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, v := range h {
		name = http.CanonicalHeaderKey(name)
		out[name] = append(out[name], v...)
	}
	return out
}

// newTransport returns a transport for one connection: all its requests go to
// one host, where the default keeps two idle connections.
func newTransport() (http.RoundTripper, *http.Transport) {
	def, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport, nil
	}
	t := def.Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	t.MaxResponseHeaderBytes = 1 << 20 // the default is 10 MiB
	return t, t
}

// A flight is one HTTP request under way, until its answer is read.
type flight struct {
	ctx  *lazy.Context // own, or one that was lent
	own  lazy.Context
	link *link

	in     inbound      // of the call
	body   bytes.Reader // of the request
	posted bool         // body is used
}

// open begins a flight, which ends with ctx and with the connection.
func (l *link) open(ctx context.Context) (*flight, error) {
	x := &flight{link: l}
	x.ctx, x.own.Parent = &x.own, ctx
	return x, l.enter(x)
}

// openCall is open for the whole of a call, which ctx may have been made for.
func (l *link) openCall(ctx context.Context) (*flight, error) {
	lent, ok := ctx.(*lazy.Context)
	if !ok || !lent.Lent {
		return l.open(ctx)
	}
	x := &flight{link: l, ctx: lent}
	return x, l.enter(x)
}

func (l *link) enter(x *flight) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return rpc.ErrClosed
	}
	l.flights[x] = struct{}{}
	return nil
}

func (x *flight) cancel(cause error) { x.ctx.End(cause) }

func (x *flight) end() {
	x.link.mu.Lock()
	delete(x.link.flights, x)
	x.link.mu.Unlock()
	x.own.End(nil)
}

// within ends the flight after d unless the function it returns is called.
func (x *flight) within(d time.Duration, cause error) (stop func()) {
	t := time.AfterFunc(d, func() { x.cancel(cause) })
	return func() { t.Stop() }
}

// do sends one request and returns the response if its status says success.
// The caller ends it with finish.
func (l *link) do(x *flight, method, target string, h http.Header, body []byte) (*http.Response, error) {
	var r io.Reader // a nil *bytes.Reader is not a nil io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(x.ctx, method, target, r)
	if err != nil {
		return nil, fmt.Errorf("streamhttp: %w", err)
	}
	return l.send(x, req, h, l.client)
}

// post is do for the endpoint. h may be shared, and is not changed then.
func (l *link) post(x *flight, h http.Header, body []byte) (*http.Response, error) {
	if l.direct == nil {
		return l.do(x, http.MethodPost, l.url, h, body)
	}
	return l.send(x, l.direct.request(x, body), h, l.direct)
}

// A doer is an [http.Client], or does as one.
type doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// send has req sent with the headers h.
func (l *link) send(x *flight, req *http.Request, h http.Header, by doer) (*http.Response, error) {
	req.Header = h
	if host := h.Get("Host"); host != "" {
		req.Host = host
	}
	if l.timeout > 0 {
		defer x.within(l.timeout, &headerTimeoutError{l.timeout})()
	}
	res, err := by.Do(req)
	if err != nil {
		return nil, l.transportError(x, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	return nil, l.statusError(x, req.Method, res)
}

// doSoon is do for what the dialer sends by itself: a server that does not
// begin to answer is not waited for.
func (l *link) doSoon(x *flight, method, target string, h http.Header, body []byte) (*http.Response, error) {
	defer x.within(l.lim.HeaderTimeout, &headerTimeoutError{l.lim.HeaderTimeout})()
	return l.do(x, method, target, h, body)
}

// lingerTime is how long the end of an answer is waited for when all that is
// needed is there. It comes right behind, or the connection is given up.
const lingerTime = 25 * time.Millisecond

// finish reads what is left of an answer, so that its connection can be used
// again, and closes it.
func (l *link) finish(x *flight, res *http.Response) {
	defer res.Body.Close()
	if res.Body == http.NoBody {
		return
	}
	defer x.within(lingerTime, nil)()
	_, _ = io.CopyN(io.Discard, res.Body, int64(l.lim.DrainBytes))
}

// readBody reads a whole body, after decompression.
func (l *link) readBody(x *flight, res *http.Response) ([]byte, error) {
	most := int64(l.lim.MessageBytes)
	src := io.Reader(res.Body)
	if res.ContentLength < 0 || res.ContentLength > most {
		src = io.LimitReader(src, most+1)
	}
	b, err := readAll(src, res.ContentLength)
	if err != nil {
		return nil, l.transportError(x, fmt.Errorf("the answer broke off: %w", err))
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("streamhttp: answer has over %d bytes: %w", most, rpc.ErrTooLarge)
	}
	return b, nil
}

// errorBodyTime is how long the text of an error is waited for.
const errorBodyTime = 2 * time.Second

// excerptOf reads the beginning of a body that explains a failure.
func (l *link) excerptOf(x *flight, res *http.Response, most int) []byte {
	defer res.Body.Close()
	defer x.within(errorBodyTime, nil)()
	b, _ := io.ReadAll(io.LimitReader(res.Body, int64(most)))
	if len(b) == most {
		_, _ = io.CopyN(io.Discard, res.Body, int64(l.lim.DrainBytes))
	}
	return b
}

func (l *link) statusError(x *flight, method string, res *http.Response) error {
	e := &StatusError{Method: method, Code: res.StatusCode, Header: res.Header}
	most := l.lim.ErrorBodyBytes
	if mediaType(res.Header) == jsonType { // a JSON-RPC error is read whole, as one under status 200 is
		most = l.lim.MessageBytes
	}
	body := l.excerptOf(x, res, most)
	e.Body = body[:min(len(body), l.lim.ErrorBodyBytes)]
	if l.life.Err() != nil {
		return rpc.ErrClosed
	}
	if b := bytes.TrimSpace(body); len(b) > 0 && b[0] == '{' {
		if m, err := rpc.Decode(b, l.wire); err == nil {
			if r, ok := m.(*rpc.Response); ok {
				e.wire = r.Error
			}
		}
	}
	return e
}

func (l *link) contentTypeError(x *flight, method string, res *http.Response) error {
	e := &ContentTypeError{Method: method, Code: res.StatusCode, ContentType: res.Header.Get("Content-Type")}
	e.Body = l.excerptOf(x, res, l.lim.ErrorBodyBytes)
	return e
}

// transportError says what a failure below HTTP means. The URL, which may hold
// a secret, is left out.
func (l *link) transportError(x *flight, err error) error {
	if l.life.Err() != nil {
		return rpc.ErrClosed
	}
	if x.ctx.Err() != nil {
		return contextError(x.ctx)
	}
	if e, ok := errors.AsType[*RedirectError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if neverSent(err) {
		return fmt.Errorf("streamhttp: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// neverSent reports whether the request cannot have reached the server.
func neverSent(err error) bool {
	if e, ok := errors.AsType[*net.OpError](err); ok && (e.Op == "dial" || e.Op == "proxyconnect") {
		return true
	}
	_, badCert := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return badCert || noTLS || errors.Is(err, http.ErrSchemeMismatch)
}

// contextError returns why a flight ended: our own reason, or the error of the
// caller's context.
func contextError(ctx context.Context) error {
	if cause, ok := errors.AsType[*headerTimeoutError](context.Cause(ctx)); ok {
		return cause
	}
	return ctx.Err()
}

// checkRedirect allows what stays on the origin and keeps its method, and with
// it the body: 307 and 308, and of 301 to 303 those that answer a GET.
func (l *link) checkRedirect(users func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		from := via[len(via)-1]
		refuse := func(reason string) error {
			e := &RedirectError{Target: req.URL.Scheme + "://" + req.URL.Host + req.URL.EscapedPath(), Reason: reason}
			if req.Response != nil {
				e.Code = req.Response.StatusCode
			}
			return e
		}
		switch {
		case originOf(req.URL) != originOf(from.URL):
			return refuse("it is another origin, which would get the request and its credentials: if you trust it, use that URL")
		case req.Method != from.Method:
			return refuse("a " + from.Method + " would become a " + req.Method)
		case len(via) > max(l.lim.Redirects, 0):
			return refuse(fmt.Sprintf("that would be more than %d redirects", max(l.lim.Redirects, 0)))
		case users != nil:
			return users(req, via)
		}
		return nil
	}
}

// originOf returns scheme, host and port (RFC 6454).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// goLive runs f on a goroutine that Close waits for. It reports false, and does
// nothing, when the connection is closed.
func (l *link) goLive(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wg.Go(f)
	return true
}

// shut ends everything that is under way.
func (l *link) shut() {
	l.mu.Lock()
	l.closed = true
	l.kill(rpc.ErrClosed)
	for x := range l.flights {
		x.cancel(rpc.ErrClosed)
	}
	l.mu.Unlock()
}

// wait waits for the goroutines, and no longer than CloseTimeout: among them
// are the handlers of the user, who may not heed their context.
func (l *link) wait() error {
	done := make(chan struct{})
	go func() { l.wg.Wait(); close(done) }()
	t := time.NewTimer(l.lim.CloseTimeout)
	defer t.Stop()
	if l.own != nil {
		defer l.own.CloseIdleConnections()
	}
	select {
	case <-done:
		return nil
	case <-t.C:
		return fmt.Errorf("streamhttp: handlers of the server's requests still run %s after Close: they should heed their context", l.lim.CloseTimeout)
	}
}

// pause waits for d, and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *link) tapped(ctx context.Context, dir rpc.Direction, m rpc.Message) {
	if l.tap != nil {
		l.tap(ctx, dir, m)
	}
}
