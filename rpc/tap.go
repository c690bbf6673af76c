package rpc

import "context"

// TapStream returns s with tap seeing every message: after it was read, and just
// before it is written. So that tap sees messages in the order in which they
// go, they are written one at a time.
func TapStream(s Stream, tap Tap) Stream {
	return &tapStream{s: s, tap: tap, turn: make(chan struct{}, 1)}
}

type tapStream struct {
	s    Stream
	tap  Tap
	turn chan struct{} // holds a value while somebody writes
}

func (t *tapStream) Read(ctx context.Context) (Message, error) {
	m, err := t.s.Read(ctx)
	if err == nil {
		t.tap(ctx, Received, m)
	}
	return m, err
}

func (t *tapStream) Write(ctx context.Context, m Message) error {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.turn }()
	t.tap(ctx, Sent, m)
	return t.s.Write(ctx, m)
}

func (t *tapStream) Close() error { return t.s.Close() }
