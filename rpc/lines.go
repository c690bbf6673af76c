package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

// NewLineStream returns a Stream of messages that are lines of JSON: the framing
// of MCP's stdio transport (and of sockets, by its advice).
//
// Reading accepts lines that end with "\r\n", empty lines, and a byte order mark
// at the start. A line over [Limits.MessageBytes] is skipped and reported as a
// [*DecodeError], and so is one that cannot be read. The last line need not end
// with a line break if it is whole.
//
// A message is written with one call of w.Write, together with those that
// came while the one before was being written. After w fails all writes fail.
// Where w is a [TryWriter] most messages need no goroutine to be written.
//
// Close closes c. Where c is nil it closes r if that is an [io.Closer], since
// otherwise a Read under way could not be ended; w it leaves alone. It is best that
// c ends a w.Write under way, too.
func NewLineStream(r io.Reader, w io.Writer, c io.Closer, lim Limits) Stream {
	if c == nil {
		c, _ = r.(io.Closer)
	}
	l := &lineStream{
		r:       bufio.NewReaderSize(r, readBytes),
		c:       c,
		lim:     lim.withDefaults(),
		closing: make(chan struct{}),
		w:       w,
		next:    new(round),
	}
	l.try, _ = w.(TryWriter)
	return l
}

const (
	// One read takes in a burst of ordinary messages.
	readBytes = 64 << 10
	// The memory of a larger message is not used again.
	keptBytes = 2 << 20
	// Messages are written together up to this, which is what a pipe holds.
	joinedBytes = 64 << 10
	// A message above this is written by itself: copying it would take longer.
	aloneBytes = 16 << 10
	// So often one goes on with what others queued meanwhile, before a goroutine
	// does it.
	attemptTurns = 4
	// How long Close waits for a write that closing does not end.
	closePatience = time.Second
	// A line longer than the buffer is given this much at first.
	longBytes = 4 * readBytes
)

type lineStream struct {
	lim     Limits
	c       io.Closer
	closing chan struct{}

	// Only Read uses these.
	r       *bufio.Reader
	started bool
	longest int // length of the last line that was longer than the buffer

	w    io.Writer
	try  TryWriter   // w, where it can that
	lost func(error) // see burster; nil = nobody is told

	mu     sync.Mutex
	next   *round        // what is written next
	spare  *round        // one that was written, for its memory
	queued int           // bytes in rounds that are not written yet
	room   chan struct{} // closed when queued shrinks; nil when nobody waits
	busy   bool          // somebody writes
	waits  bool          // a goroutine writes, and may have to wait
	idle   chan struct{} // closed when nobody writes any more; nil when nobody waits
	err    error         // why nothing can be written any more

	joined []byte // only who made the stream busy uses it
}

// Read implements [Stream]. It ends with Close, not with ctx.
func (l *lineStream) Read(ctx context.Context) (Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, tooLong, err := l.line()
		if tooLong {
			return nil, tooLarge(line, l.lim)
		}
		if line = trim(line); len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			m, bad := decode(line, l.lim)
			return m, explain(line, bad)
		}
		if err != nil {
			return nil, l.readError(err)
		}
	}
}

// line returns the next line in memory of its own, or its beginning if it is too
// long.
func (l *lineStream) line() (line []byte, tooLong bool, err error) {
	for {
		part, err := l.r.ReadSlice('\n')
		if !l.started {
			l.started = true
			part = bytes.TrimPrefix(part, []byte("\ufeff"))
		}
		more := errors.Is(err, bufio.ErrBufferFull)
		if !tooLong {
			line = append(l.grown(line, len(part), more), part...)
		}
		if limit := l.lim.MessageBytes; len(line) > limit && len(trimBreak(line)) > limit {
			line, tooLong = line[:limit], true
		}
		if !more {
			if len(line) > readBytes {
				l.longest = len(line)
			}
			return line, tooLong, err
		}
	}
}

// grown makes room in line for n more bytes. A line that goes on is given the
// room that the last such line took: most of them are about as long.
func (l *lineStream) grown(line []byte, n int, more bool) []byte {
	if cap(line)-len(line) >= n {
		return line
	}
	if line == nil && !more {
		return make([]byte, 0, n)
	}
	guess := min(max(longBytes, l.longest+l.longest/8), l.lim.MessageBytes)
	return slices.Grow(line, max(n, len(line), guess-len(line)))
}

// more implements burster.
func (l *lineStream) more() bool {
	b, _ := l.r.Peek(l.r.Buffered()) // never fails
	i := skipSpace(b, 0)
	return bytes.IndexByte(b[i:], '\n') >= 0
}

// trim cuts off the space around a message.
func trim(line []byte) []byte {
	line = line[skipSpace(line, 0):]
	for n := len(line); n > 0; n-- {
		switch line[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return line[:n]
		}
	}
	return nil
}

// trimBreak cuts off one line break.
func trimBreak(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// readError tells an end by Close from others.
func (l *lineStream) readError(err error) error {
	select {
	case <-l.closing:
		return ErrClosed
	default:
		return err
	}
}

// explain helps those who speak the framing of the Language Server Protocol.
func explain(line []byte, err error) error {
	bad, ok := errors.AsType[*DecodeError](err)
	if ok && bytes.HasPrefix(line, []byte("Content-Length:")) {
		bad.err.Message = "messages are lines of JSON, without Content-Length headers"
	}
	return err
}
