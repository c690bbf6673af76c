package streamhttp

import (
	"math"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// DialLimits bounds what a server can cost its client. In each field zero means
// the default, and a negative value means no limit.
type DialLimits struct {
	// MessageBytes is the biggest message: the body of a JSON answer, or the
	// data of one event, after decompression. Default
	// [rpc.DefaultMessageBytes], 16 MiB, as on every transport.
	MessageBytes int
	// Depth bounds how deep a message may nest; see [rpc.Limits].
	Depth int
	// ErrorBodyBytes is how much of the body of an error is kept. Default
	// 16 KiB.
	ErrorBodyBytes int
	// DrainBytes is how much is read behind an answer so that its connection
	// can be used again. Default 64 KiB.
	DrainBytes int
	// Redirects is how many redirects to the same origin are followed.
	// Default 3; negative means none, not all.
	Redirects int
	// HeaderTimeout is how long the dialer waits for the beginning of answers
	// to what it sends by itself: streams it opens, answers to the server's
	// requests, the renewal of a session. Calls are bounded by their context.
	// Default 30 seconds.
	HeaderTimeout time.Duration
	// EndpointTimeout is how long [SSEDialer] waits for the event that names
	// the endpoint. Default 30 seconds.
	EndpointTimeout time.Duration
	// CloseTimeout is how long Close waits: once for the answer to DELETE, and
	// once for the handlers that are still running. Default 2 seconds.
	CloseTimeout time.Duration
	// ServerRequests is how many requests of the server are handled at once;
	// more are refused. Default 64.
	ServerRequests int
	// ResumeAttempts is how often in a row a broken stream is taken up again
	// without anything new coming. Default 5.
	ResumeAttempts int
	// ResumeWait is how long the server may make a call wait, with `retry:`,
	// before anything new comes. Default 5 minutes.
	ResumeWait time.Duration
	// MinRetry is the least time between two attempts, whatever the server
	// says. Default 100 milliseconds.
	MinRetry time.Duration
	// MaxRetry is the most time between two attempts to open the stream for
	// what the server starts. Default 30 seconds.
	MaxRetry time.Duration
}

const (
	// defaultErrorBodyBytes holds any JSON-RPC error, and of an HTML page what
	// says whose it is.
	defaultErrorBodyBytes = 16 << 10
	// defaultDrainBytes: reading more costs more than a new connection.
	defaultDrainBytes = 64 << 10
	// defaultRedirects: a trailing slash is one; more than three is a loop.
	defaultRedirects = 3
	// defaultHeaderTimeout is that of ordinary proxies, less than their 60 s.
	defaultHeaderTimeout = 30 * time.Second
	// defaultEndpointTimeout: the event is the first thing a server writes.
	defaultEndpointTimeout = 30 * time.Second
	// defaultCloseTimeout: a program that ends must not be held by a peer.
	defaultCloseTimeout = 2 * time.Second
	// defaultServerRequests: a person answers one elicitation at a time, but
	// pings and roots may come in between.
	defaultServerRequests = 64
	// defaultResumeAttempts bridges the restart of a server, with the growing
	// pauses between the attempts.
	defaultResumeAttempts = 5
	// defaultResumeWait bounds a `retry:` of years.
	defaultResumeWait = 5 * time.Minute
	// defaultMinRetry keeps `retry: 0` from becoming a busy loop.
	defaultMinRetry = 100 * time.Millisecond
	// streamWait is how long a new session waits for the stream for what the
	// server starts. Most servers answer at once; some only with the first
	// event.
	streamWait = 500 * time.Millisecond
	// defaultMaxRetry: at this pace a dead server costs next to nothing, and
	// one that is back is noticed soon.
	defaultMaxRetry = 30 * time.Second

	// firstRetry is the pause before the first new attempt when the server
	// named none; it doubles.
	firstRetry = time.Second
	// healthyStream is how long a stream has to last to count as good though
	// nothing came on it: proxies cut idle streams after a minute or so.
	healthyStream = 20 * time.Second
)

func (l DialLimits) withDefaults() DialLimits {
	l.MessageBytes = limitOr(l.MessageBytes, rpc.DefaultMessageBytes, noCountLimit)
	l.ErrorBodyBytes = limitOr(l.ErrorBodyBytes, defaultErrorBodyBytes, noCountLimit)
	l.DrainBytes = limitOr(l.DrainBytes, defaultDrainBytes, noCountLimit)
	if l.Redirects == 0 {
		l.Redirects = defaultRedirects
	}
	l.HeaderTimeout = limitOr(l.HeaderTimeout, defaultHeaderTimeout, noTimeLimit)
	l.EndpointTimeout = limitOr(l.EndpointTimeout, defaultEndpointTimeout, noTimeLimit)
	l.CloseTimeout = limitOr(l.CloseTimeout, defaultCloseTimeout, noTimeLimit)
	l.ServerRequests = limitOr(l.ServerRequests, defaultServerRequests, noCountLimit)
	l.ResumeAttempts = limitOr(l.ResumeAttempts, defaultResumeAttempts, noCountLimit)
	l.ResumeWait = limitOr(l.ResumeWait, defaultResumeWait, noTimeLimit)
	l.MinRetry = limitOr(l.MinRetry, defaultMinRetry, 0)
	l.MaxRetry = limitOr(l.MaxRetry, defaultMaxRetry, noTimeLimit)
	return l
}

// limitOr resolves one limit. "None" is a value that is never reached, so that
// using a limit needs no second case.
func limitOr[T int | time.Duration](v, def, none T) T {
	switch {
	case v == 0:
		return def
	case v < 0:
		return none
	}
	return v
}

// No limit, and still small enough to add to.
const (
	noCountLimit = math.MaxInt / 4
	noTimeLimit  = time.Duration(math.MaxInt64 / 4)
)
