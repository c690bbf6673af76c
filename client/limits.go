package client

import (
	"math"
	"time"
)

// Limits bounds what a server can make the client spend. In each field zero
// means the default and a negative number means no limit.
type Limits struct {
	// Rounds is how often one operation may answer input_required. Default 10.
	Rounds int
	// Asks is how many inputs one input_required may ask for. Default 32.
	Asks int
	// Pages is how many pages an iterator follows. Default 1000.
	Pages int
	// Handlers is how many of the callbacks that answer the server (Elicit,
	// Sample, Roots) run at once; further ones wait. Default 16.
	Handlers int
	// Queue is how many notifications wait for a slow callback, and how much
	// progress waits in one call, before reading from the server pauses. A
	// callback that calls the server while its own queue is full waits for an
	// answer that is not read, until the call's Timeout. Default 4096.
	Queue int
	// CacheEntries is how many results the cache keeps. Default 1000.
	CacheEntries int
	// CacheBytes is how much JSON the cache keeps. Default 16 MiB.
	CacheBytes int
	// Tools is how many tools the client remembers the schemas of, for
	// Mcp-Param headers and the check of output. Default 10000.
	Tools int
	// SchemaBytes is the size of the biggest schema that is used for a check.
	// Default 256 KiB.
	SchemaBytes int
	// Tasks is how many questions of a server are kept as tasks. Default 100.
	Tasks int
	// OutputBytes is the size of the biggest structured content that is
	// checked. Default 4 MiB.
	OutputBytes int
}

const (
	defaultRounds       = 10        // a dialogue, not a loop
	defaultAsks         = 32        // more than a person answers at one time
	defaultPages        = 1000      // at 50 a page, 50,000 things
	defaultHandlers     = 16        // each may hold a window or a model open
	defaultQueue        = 4096      // about a second of a flood, under a megabyte
	defaultCacheEntries = 1000      // lists, and resources that an agent re-reads
	defaultCacheBytes   = 16 << 20  // small beside one model's context
	defaultTools        = 10000     // ten times the largest catalogues seen
	defaultSchemaBytes  = 256 << 10 // the biggest hand-written schemas are a tenth
	defaultTasks        = 100       // each waits for a person or a model
	defaultOutputBytes  = 4 << 20   // the check reads it a second time
)

// Times that are no option.
const (
	// cancelWait bounds one notifications/cancelled or tasks/cancel: the server
	// may not be reading, and nobody waits for it but Close.
	cancelWait = 5 * time.Second
	// cancelsAtOnce bounds how many of them are being sent. One more is not
	// sent: it is advice that the server may ignore.
	cancelsAtOnce = 64
	// goodbyeWait is what Close gives to notifications/cancelled under way.
	goodbyeWait = time.Second
	// closeWait bounds Close: a callback may never return.
	closeWait = 10 * time.Second
	// unsubscribeWait bounds what closing a legacy subscription waits for.
	unsubscribeWait = 10 * time.Second
	// A task is asked for no more often than this, and no less, whatever its
	// server says; where it says nothing every second.
	minPoll     = 50 * time.Millisecond
	maxPoll     = time.Minute
	defaultPoll = time.Second
	// heldTTL is how long a question of the server is kept as a task, at most.
	heldTTL = time.Hour
	// maxTTL caps ttlMs: a day-old answer is not fresh, whatever was said.
	maxTTL = 24 * time.Hour
)

// What a schema may be, to be used for a check: how many schemas one value is
// checked against, and how deep they are nested.
const (
	maxSubschemas  = 20_000 // compiling takes some milliseconds
	maxSchemaDepth = 64     // generators make up to 30
)

// Defaults of the times in Options.
const (
	defaultTimeout      = time.Minute      // what the reference clients use
	defaultMaxTimeout   = 30 * time.Minute // progress must not keep a call for ever
	defaultProbeTimeout = 5 * time.Second  // a person is waiting for the connection
)

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		v   *int
		def int
	}{
		{&l.Rounds, defaultRounds},
		{&l.Asks, defaultAsks},
		{&l.Pages, defaultPages},
		{&l.Handlers, defaultHandlers},
		{&l.Queue, defaultQueue},
		{&l.CacheEntries, defaultCacheEntries},
		{&l.CacheBytes, defaultCacheBytes},
		{&l.Tools, defaultTools},
		{&l.SchemaBytes, defaultSchemaBytes},
		{&l.Tasks, defaultTasks},
		{&l.OutputBytes, defaultOutputBytes},
	} {
		if *f.v == 0 {
			*f.v = f.def
		}
	}
	if l.Queue < 0 {
		l.Queue = math.MaxInt
	}
	if l.Handlers < 0 { // it is the size of a channel of nothing
		l.Handlers = math.MaxInt32
	}
	return l
}

// over reports whether n is past limit, where a negative limit is none.
func over(n, limit int) bool { return limit >= 0 && n > limit }

// orDefault resolves a time of Options: zero is the default, negative is none,
// which is 0 here.
func orDefault(d, def time.Duration) time.Duration {
	switch {
	case d == 0:
		return def
	case d < 0:
		return 0
	}
	return d
}
