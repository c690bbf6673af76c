package streamhttp

import (
	"math"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// Limits bounds what clients can make a [Handler] spend. In each field zero
// means the default and a negative number means no limit.
type Limits struct {
	// BodyBytes is the size of the biggest request body. Default 4 MiB, less
	// than the 16 MiB of other transports: anybody on the network may send it.
	BodyBytes int64
	// BodyTime is how long a client may take to send a body, or up to a quarter
	// more. It is not used where the http.Server has a ReadTimeout of its own.
	// Default 30 s.
	BodyTime time.Duration
	// WriteTime is how long one write of an event may wait for a client that
	// does not read; the stream is then given up. Default 30 s.
	WriteTime time.Duration
	// KeepAlive is the time between two comments on a silent stream. Negative
	// means none. Default 15 s.
	KeepAlive time.Duration
	// Streams is how many streams may be open at once that end only when the
	// client wants: listening GETs, subscriptions/listen and HTTP+SSE. Further
	// ones are answered 503. Default 10000.
	Streams int
	// Sessions is how many sessions of legacy clients are kept at once; when
	// they are all in use, initialize is answered 503. Default 10000.
	Sessions int
	// SessionIdle is how long a session is kept that nobody uses. Default
	// 30 min.
	SessionIdle time.Duration
	// SessionRequests is how many requests of one session run at once; further
	// ones are answered 429. Default 256.
	SessionRequests int
	// SessionStreams is how many GET streams one session has at once; a further
	// one ends the oldest. Default 8.
	SessionStreams int
	// ReplayEvents is how many events a session keeps of its POST streams, and
	// as many of its GET stream, for clients that come back. Default 256.
	ReplayEvents int
	// ReplayBytes is the same in bytes. Default 1 MiB.
	ReplayBytes int
	// ReplayTotalBytes is what all sessions together keep. Default 64 MiB.
	ReplayTotalBytes int
	// RPC bounds how messages may be built: nesting, and the size of batches.
	// Its MessageBytes is not used for Streamable HTTP: BodyBytes is.
	RPC rpc.Limits
}

const (
	defaultBodyBytes       = 4 << 20          // an image as Base64 fits; as in the Ruby and TypeScript servers
	defaultBodyTime        = 30 * time.Second // 4 MiB at 1.1 Mbit/s
	defaultWriteTime       = 30 * time.Second // a phone that changes networks comes back in less
	defaultKeepAlive       = 15 * time.Second // proxies cut what is silent for 30 or 60 s
	defaultStreams         = 10_000           // each costs a connection and about 20 KiB in net/http
	defaultSessions        = 10_000           // at 2 KiB each
	defaultSessionIdle     = 30 * time.Minute // a person's lunch ends a session, a cup of coffee does not
	defaultSessionRequests = 256              // more than a model asks for at one time
	defaultSessionStreams  = 8                // one is usual; a client that reconnects leaves dead ones behind
	defaultReplayEvents    = 256
	defaultReplayBytes     = 1 << 20
	defaultReplayTotal     = 64 << 20

	// handshakeTime ends a session that was opened and then never used: who
	// only opens sessions must not fill the table for half an hour.
	handshakeTime = time.Minute
	// firstRead is the first buffer for a body, however long it claims to be.
	firstRead = 64 << 10
	// keepAliveWriteTime bounds the write of one comment: one goroutine writes
	// them all, and a stuck client must not make the others silent.
	keepAliveWriteTime = time.Second
	// pooledBuffer is the biggest buffer that goes back to the pool, which the
	// collector empties: an image as Base64 fits.
	pooledBuffer = 2 << 20
	// shortAnswer is what net/http holds back until the handler has returned, so
	// that it knows the length.
	shortAnswer = 2 << 10
	// bigAnswer is more than net/http and the kernel take without the client
	// reading: writing it gets a deadline.
	bigAnswer = 4 << 10
	// slowestClient is the pace, in bytes a second, that every client gets the
	// time for: a bad mobile connection.
	slowestClient = 16 << 10
	// closeGrace is how long Close lets streams say good-bye.
	closeGrace = time.Second
)

func (l Limits) withDefaults() Limits {
	fill(&l.BodyBytes, defaultBodyBytes)
	fill(&l.BodyTime, defaultBodyTime)
	fill(&l.WriteTime, defaultWriteTime)
	fill(&l.KeepAlive, defaultKeepAlive)
	fill(&l.Streams, defaultStreams)
	fill(&l.Sessions, defaultSessions)
	fill(&l.SessionIdle, defaultSessionIdle)
	fill(&l.SessionRequests, defaultSessionRequests)
	fill(&l.SessionStreams, defaultSessionStreams)
	fill(&l.ReplayEvents, defaultReplayEvents)
	fill(&l.ReplayBytes, defaultReplayBytes)
	fill(&l.ReplayTotalBytes, defaultReplayTotal)
	return l
}

// message is the limit for the decoder; the bytes were counted before.
func (l *Limits) message() rpc.Limits {
	r := l.RPC
	r.MessageBytes = math.MaxInt
	return r
}

// reapEvery is how often sessions are looked at that may have expired.
func reapEvery(idle time.Duration) time.Duration {
	if idle < 0 {
		return 0
	}
	return max(min(idle, handshakeTime)/4, time.Millisecond)
}

func fill[T int | int64 | time.Duration](field *T, def T) {
	if *field == 0 {
		*field = def
	}
}

// over reports whether n is more than limit allows.
func over[T int | int64](n, limit T) bool { return limit >= 0 && n > limit }
