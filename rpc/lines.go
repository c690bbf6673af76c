package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
//
// Close closes c. Where c is nil it closes r if that is an [io.Closer], since
// otherwise a Read under way could not be ended; w it leaves alone. It is best that
// c ends a w.Write under way, too.
func NewLineStream(r io.Reader, w io.Writer, c io.Closer, lim Limits) Stream {
	if c == nil {
		c, _ = r.(io.Closer)
	}
	return &lineStream{
		r:       bufio.NewReaderSize(r, readBytes),
		w:       w,
		c:       c,
		lim:     lim.withDefaults(),
		next:    newRound(),
		closing: make(chan struct{}),
	}
}

const (
	// One read takes in a burst of ordinary messages.
	readBytes = 64 << 10
	// What a large message has left behind is not kept.
	keptBytes = 256 << 10
	// A message above this is written by itself rather than copied.
	joinedBytes = 64 << 10
	// How long Close waits for a write that closing does not end.
	closePatience = time.Second
)

type lineStream struct {
	lim Limits
	c   io.Closer

	// Only Read uses these.
	r       *bufio.Reader
	started bool

	w       io.Writer
	closing chan struct{}

	mu     sync.Mutex
	next   *round        // what is written next
	queued int           // bytes in rounds that are not written yet
	room   chan struct{} // closed when queued shrinks; nil when nobody waits
	busy   bool          // somebody writes
	idle   chan struct{} // closed when nobody writes any more
	err    error         // why nothing can be written any more
}

// A round is what is written together.
type round struct {
	bufs [][]byte
	done chan struct{} // closed when it was written, or was not for err
	err  error
}

func newRound() *round { return &round{done: make(chan struct{})} }

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
		if line = bytes.Trim(line, " \t\r\n"); len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			m, bad := Decode(line, l.lim)
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
		if !tooLong {
			line = append(line, part...)
		}
		if limit := l.lim.MessageBytes; len(line) > limit && len(trimBreak(line)) > limit {
			line, tooLong = line[:limit], true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
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

// encoded holds buffers that messages are encoded into.
var encoded = sync.Pool{New: func() any { return new([]byte) }}

// Write implements [Stream]. It returns when m was written. When ctx ends before
// that m is not sent, unless its writing has begun.
func (l *lineStream) Write(ctx context.Context, m Message) error {
	buf := encoded.Get().(*[]byte)
	text, encodeErr := AppendMessage((*buf)[:0], m)
	if len(text) == 0 {
		encoded.Put(buf)
		return encodeErr
	}
	text = append(text, '\n')
	sent, err := l.send(ctx, text)
	if sent && cap(text) <= keptBytes {
		*buf = text
		encoded.Put(buf)
	}
	if err != nil {
		return err
	}
	return encodeErr
}

// send writes text. It reports whether the memory of text is free again.
func (l *lineStream) send(ctx context.Context, text []byte) (free bool, err error) {
	l.mu.Lock()
	for l.err == nil && l.queued > 0 && l.queued > l.lim.QueuedBytes-len(text) {
		if l.room == nil {
			l.room = make(chan struct{})
		}
		room := l.room
		l.mu.Unlock()
		select {
		case <-room:
		case <-l.closing:
		case <-ctx.Done():
			return true, ctx.Err()
		}
		l.mu.Lock()
	}
	if l.err != nil {
		defer l.mu.Unlock()
		return true, l.err
	}
	if ctx.Err() != nil {
		defer l.mu.Unlock()
		return true, ctx.Err()
	}
	l.queued += len(text)
	if !l.busy && ctx.Done() == nil {
		return true, l.writeNow(text)
	}
	r := l.next
	r.bufs = append(r.bufs, text)
	if !l.busy {
		l.begin()
		go l.flush()
	}
	l.mu.Unlock()
	return l.await(ctx, r, text)
}

// await waits until r was written. A text that is still queued when ctx ends is
// taken back.
func (l *lineStream) await(ctx context.Context, r *round, text []byte) (free bool, err error) {
	select {
	case <-r.done:
		return true, r.err
	case <-l.closing:
		return false, ErrClosed
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r != l.next {
		return false, ctx.Err()
	}
	for k, b := range r.bufs {
		if &b[0] == &text[0] {
			r.bufs = append(r.bufs[:k], r.bufs[k+1:]...)
			l.shrink(len(text))
			break
		}
	}
	return true, ctx.Err()
}

// writeNow writes text without the help of another goroutine, since its caller
// waits whatever comes. l.mu is held, and is released.
func (l *lineStream) writeNow(text []byte) error {
	l.begin()
	l.mu.Unlock()
	_, err := l.w.Write(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote(len(text), err)
	if len(l.next.bufs) > 0 {
		go l.flush()
		return l.writeErr(err)
	}
	l.rest()
	return l.writeErr(err)
}

// flush writes rounds until there is none.
func (l *lineStream) flush() {
	for {
		l.mu.Lock()
		r := l.next
		if len(r.bufs) == 0 {
			l.rest()
			l.mu.Unlock()
			return
		}
		l.next = newRound()
		failed := l.err
		l.mu.Unlock()

		size, err := 0, failed
		for _, b := range r.bufs {
			size += len(b)
		}
		if failed == nil {
			err = l.writeAll(r.bufs)
		}
		l.mu.Lock()
		l.wrote(size, err)
		r.err = l.writeErr(err)
		close(r.done)
		l.mu.Unlock()
	}
}

// writeAll writes bufs, small ones together.
func (l *lineStream) writeAll(bufs [][]byte) error {
	var joined []byte
	for k, b := range bufs {
		last := k == len(bufs)-1
		if len(joined) == 0 && (last || len(b) > joinedBytes) {
			if _, err := l.w.Write(b); err != nil {
				return err
			}
			continue
		}
		joined = append(joined, b...)
		if last || len(joined) > joinedBytes {
			if _, err := l.w.Write(joined); err != nil {
				return err
			}
			joined = joined[:0]
		}
	}
	return nil
}

// The functions below are called with l.mu held.

func (l *lineStream) begin() {
	l.busy = true
	l.idle = make(chan struct{})
}

func (l *lineStream) rest() {
	l.busy = false
	close(l.idle)
}

// shrink lets those look again who wait for room.
func (l *lineStream) shrink(size int) {
	l.queued -= size
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
}

// wrote takes note of a write.
func (l *lineStream) wrote(size int, err error) {
	l.shrink(size)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
}

func (l *lineStream) writeErr(err error) error {
	if err == nil {
		return nil
	}
	return l.err
}

// Close implements [Stream].
func (l *lineStream) Close() error {
	l.mu.Lock()
	select {
	case <-l.closing:
		l.mu.Unlock()
		return nil
	default:
	}
	close(l.closing)
	if l.err == nil {
		l.err = ErrClosed
	}
	busy, idle := l.busy, l.idle
	l.mu.Unlock()

	var err error
	if l.c != nil {
		err = l.c.Close()
	}
	if busy {
		t := time.NewTimer(closePatience)
		defer t.Stop()
		select {
		case <-idle:
		case <-t.C:
		}
	}
	return err
}
