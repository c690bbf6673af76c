package rpc

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// pipeMessages is how many messages are under way in a [Pipe] before a Write
// waits. It lets both ends work at once, and is small enough that tests see
// back-pressure.
const pipeMessages = 16

// Pipe returns the two ends of a Stream in memory. Messages are encoded and
// decoded as on a wire, so the ends share no memory. When one end is closed the
// other reads what was written before, and then io.EOF.
func Pipe() (Stream, Stream) {
	ab, ba := newHalfPipe(), newHalfPipe()
	return &pipe{in: ba, out: ab}, &pipe{in: ab, out: ba}
}

type pipe struct {
	in, out *halfPipe
	read    bool // a message was read since the last Read began; only Read uses it
}

// A halfPipe goes one way.
type halfPipe struct {
	texts  chan []byte
	once   sync.Once
	closed chan struct{} // by either end

	// Whoever writes a response hands it to the call that waits, where nothing is
	// under way that must come before it: that saves waking the reader.
	deliver atomic.Pointer[func(*Response) bool]
	pending atomic.Int64 // messages that the reader has not done with
}

// direct hands over a response and reports whether that was done.
func (h *halfPipe) direct(text []byte) bool {
	f := h.deliver.Load()
	if f == nil || h.pending.Load() > 0 {
		return false
	}
	m, _ := Decode(text, Limits{})
	res, ok := m.(*Response)
	return ok && (*f)(res)
}

// A courier is a Stream that may hand a response to whoever waits for it without
// its being read: deliver reports whether somebody did.
type courier interface {
	onResponse(deliver func(*Response) bool)
}

func (p *pipe) onResponse(deliver func(*Response) bool) { p.in.deliver.Store(&deliver) }

func newHalfPipe() *halfPipe {
	return &halfPipe{texts: make(chan []byte, pipeMessages), closed: make(chan struct{})}
}

func (h *halfPipe) close() { h.once.Do(func() { close(h.closed) }) }

func (p *pipe) Read(ctx context.Context) (Message, error) {
	if p.read { // the reader is done with that one
		p.in.pending.Add(-1)
	}
	b, err := p.next(ctx)
	if p.read = err == nil; !p.read {
		return nil, err
	}
	return Decode(b, Limits{})
}

// next waits for the text of a message.
func (p *pipe) next(ctx context.Context) ([]byte, error) {
	select {
	case b := <-p.in.texts:
		return b, nil
	default:
	}
	select {
	case b := <-p.in.texts:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.in.closed:
	}
	select {
	case b := <-p.in.texts: // written before the end
		return b, nil
	default:
		return nil, io.EOF
	}
}

func (p *pipe) Write(ctx context.Context, m Message) error {
	e, encodeErr := encode(m)
	b := bytes.Clone(e.text) // the other end keeps it
	e.free()
	if len(b) == 0 {
		return encodeErr
	}
	select {
	case <-p.out.closed:
		return ErrClosed
	default:
	}
	if _, ok := m.(*Response); ok && p.out.direct(b) {
		return encodeErr
	}
	p.out.pending.Add(1)
	select {
	case p.out.texts <- b: // as a rule: nobody has to know when ctx ends
		return encodeErr
	default:
	}
	var err error
	select {
	case p.out.texts <- b:
		return encodeErr
	case <-p.out.closed:
		err = ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.out.pending.Add(-1)
	return err
}

func (p *pipe) Close() error {
	p.in.close()
	p.out.close()
	return nil
}

// StreamDialer is a [Dialer] that speaks to a server over a Stream.
type StreamDialer struct {
	// Open makes the Stream of a new connection. ctx bounds only that.
	Open func(ctx context.Context) (Stream, error)
	// Options may be nil.
	Options *DuplexOptions
}

// Dial implements [Dialer].
func (s StreamDialer) Dial(ctx context.Context, h Handler) (Conn, error) {
	stream, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	return NewDuplex(context.WithoutCancel(ctx), stream, bound{h}, s.Options), nil
}

// bound is the Binder of a Handler that is there already.
type bound struct{ h Handler }

func (b bound) Bind(context.Context, Conn) Handler { return b.h }
