package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A TryWriter can write without waiting, which lets whoever has a message write
// it: with another writer that takes a goroutine, since a Write that waits for
// the other side to read cannot be given up.
type TryWriter interface {
	// TryWrite writes what can be written at once, perhaps nothing: that is no
	// error. It is called by one goroutine at a time, and never while a Write
	// is under way.
	TryWrite(b []byte) (n int, err error)
}

// A burster is a Stream that can put off writing until a burst of messages has
// been dealt with.
type burster interface {
	Stream
	// more reports whether Read would return without waiting. Only the
	// goroutine that reads may ask.
	more() bool
	// queue takes m to be written with what is written next. It waits only for
	// room. If a message that is vital cannot be written later, onLost tells.
	queue(ctx context.Context, m Message, vital bool) error
	// answer is queue for a response, which is vital.
	answer(ctx context.Context, res Response) error
	// gather takes m to be written with the next push, and reports whether it is
	// the first such. Where it cannot be written soon it does as Write does. If m
	// cannot be written later, onLost tells.
	gather(ctx context.Context, m Message) (first bool, err error)
	// push begins to write what is queued, and waits for nothing.
	push()
	// spawn does the same on another goroutine: what is queued until that runs
	// goes along.
	spawn()
	// flush writes what is queued.
	flush(ctx context.Context) error
	// onLost is called before anything else.
	onLost(f func(error))
}

// A round is what is written together.
type round struct {
	bufs  []encoding
	open  bool          // more may be appended to the last
	vital bool          // somebody wants to know if it is lost
	done  chan struct{} // closed when it was written, or was not for err; nil when nobody waits
	err   error
}

// add puts e at the end, and takes it over.
func (r *round) add(e encoding) {
	if r.open {
		if last := &r.bufs[len(r.bufs)-1]; len(last.text)+len(e.text) <= joinedBytes {
			last.text = append(last.text, e.text...)
			e.free()
			return
		}
	}
	r.bufs, r.open = append(r.bufs, e), len(e.text) <= aloneBytes
}

// take puts text at the end, which stays who gave it's.
func (r *round) take(text []byte) { r.bufs, r.open = append(r.bufs, encoding{text: text}), false }

// remove takes text out again and reports whether it was there.
func (r *round) remove(text []byte) bool {
	for k, e := range r.bufs {
		if &e.text[0] == &text[0] {
			r.bufs = slices.Delete(r.bufs, k, k+1)
			r.open = false
			return true
		}
	}
	return false
}

// giveBack frees what was taken over.
func (r *round) giveBack() {
	for _, e := range r.bufs {
		e.free()
	}
	clear(r.bufs)
	r.bufs = r.bufs[:0]
}

// left makes the round one of text, the end of what join made of it.
func (r *round) left(text []byte) {
	if len(r.bufs) == 1 {
		r.bufs[0].text = text
		return
	}
	r.giveBack()
	r.take(text)
}

func (r *round) size() int {
	n := 0
	for _, e := range r.bufs {
		n += len(e.text)
	}
	return n
}

// wait returns a channel that is closed when the round was written.
func (r *round) wait() <-chan struct{} {
	if r.done == nil {
		r.done = make(chan struct{})
	}
	return r.done
}

// encoded holds buffers that messages are encoded into.
var encoded = sync.Pool{New: func() any { return new([]byte) }}

// An encoding is the text of messages, in memory from encoded where buf is not
// nil.
type encoding struct {
	text []byte
	buf  *[]byte
}

// encode returns the text of m. It has no bytes if there is none to be sent.
func encode(m Message) (encoding, error) {
	buf := encoded.Get().(*[]byte)
	text, err := AppendMessage((*buf)[:0], m)
	return encoding{text, buf}, err
}

// encodeResponse is encode for a response that is not in memory of its own.
func encodeResponse(res *Response) (encoding, error) {
	buf := encoded.Get().(*[]byte)
	text, err := appendResponse((*buf)[:0], res)
	return encoding{text, buf}, err
}

// free puts the memory back.
func (e encoding) free() {
	if e.buf != nil && cap(e.text) <= keptBytes {
		*e.buf = e.text[:0]
		encoded.Put(e.buf)
	}
}

// Write implements [Stream]. It returns when m was written. When ctx ends before
// that m is not sent, unless its writing has begun.
func (l *lineStream) Write(ctx context.Context, m Message) error {
	e, encodeErr := encode(m)
	if len(e.text) == 0 {
		e.free()
		return encodeErr
	}
	e.text = append(e.text, '\n')
	free, err := l.send(ctx, e.text)
	if free {
		e.free()
	}
	if err != nil {
		return errors.Join(err, encodeErr)
	}
	return encodeErr
}

func (l *lineStream) queue(ctx context.Context, m Message, vital bool) error {
	e, err := encode(m)
	return l.enqueue(ctx, e, err, vital)
}

func (l *lineStream) answer(ctx context.Context, res Response) error {
	e, err := encodeResponse(&res)
	return l.enqueue(ctx, e, err, true)
}

// enqueue is queue for what was encoded, with encodeErr.
func (l *lineStream) enqueue(ctx context.Context, e encoding, encodeErr error, vital bool) error {
	if len(e.text) == 0 {
		e.free()
		return encodeErr
	}
	e.text = append(e.text, '\n')
	l.mu.Lock()
	err := l.reserve(ctx, len(e.text))
	if err == nil {
		l.next.add(e)
		l.next.vital = l.next.vital || vital
		if l.queued >= joinedBytes/2 && l.begin() {
			l.attempt()
		}
	}
	l.mu.Unlock()
	if err != nil {
		e.free()
		return errors.Join(err, encodeErr)
	}
	return encodeErr
}

func (l *lineStream) gather(ctx context.Context, m Message) (first bool, err error) {
	e, err := encode(m)
	if err != nil {
		e.free()
		return false, err
	}
	e.text = append(e.text, '\n')
	l.mu.Lock()
	if l.waits || len(e.text) > aloneBytes || l.queued > joinedBytes {
		l.mu.Unlock()
		free, err := l.send(ctx, e.text)
		if free {
			e.free()
		}
		return false, err
	}
	defer l.mu.Unlock()
	if err := l.reserve(ctx, len(e.text)); err != nil {
		e.free()
		return false, err
	}
	first = len(l.next.bufs) == 0 && !l.busy
	l.next.add(e)
	l.next.vital = true
	return first, nil
}

// send writes text. It reports whether the memory of text is free again.
func (l *lineStream) send(ctx context.Context, text []byte) (free bool, err error) {
	l.mu.Lock()
	if err := l.reserve(ctx, len(text)); err != nil {
		l.mu.Unlock()
		return true, err
	}
	r := l.next
	r.take(text)
	if l.begin() && l.attempt() {
		l.mu.Unlock()
		return true, nil
	}
	done := r.wait()
	l.mu.Unlock()
	select {
	case <-done:
		return true, r.err
	case <-l.closing:
		return false, ErrClosed
	case <-ctx.Done():
		return l.withdraw(r, text), ctx.Err()
	}
}

// withdraw takes back text if its writing has not begun, and reports whether it
// has not.
func (l *lineStream) withdraw(r *round, text []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r != l.next {
		return false
	}
	if r.remove(text) {
		l.shrink(len(text))
	}
	return true
}

func (l *lineStream) push() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.next.bufs) > 0 && l.begin() {
		l.attempt()
	}
}

func (l *lineStream) spawn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.next.bufs) > 0 && l.begin() {
		go l.writeRounds(nil)
	}
}

func (l *lineStream) flush(ctx context.Context) error {
	l.mu.Lock()
	if len(l.next.bufs) == 0 && !l.busy {
		l.mu.Unlock()
		return nil
	}
	r := l.next // where it is empty, what is being written comes before it
	done := r.wait()
	if l.begin() {
		go l.writeRounds(nil)
	}
	l.mu.Unlock()
	select {
	case <-done:
		return r.err
	case <-l.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lineStream) onLost(f func(error)) { l.lost = f }

// writeRounds writes r, if it is not nil, and what is next until there is
// nothing. The stream is busy.
func (l *lineStream) writeRounds(r *round) {
	var lost error
	l.mu.Lock()
	for r != nil || l.pending() {
		if r == nil {
			r = l.turn()
		}
		err := l.err
		l.waits = true
		l.mu.Unlock()
		size, vital := r.size(), r.vital
		if err == nil {
			err = l.writeAll(r.bufs)
		}
		l.mu.Lock()
		l.waits = false
		l.wrote(r, size, err)
		if err != nil && vital {
			lost = l.err
		}
		r = nil
	}
	l.rest()
	l.mu.Unlock()
	if lost != nil && l.lost != nil {
		l.lost(lost)
	}
}

// writeAll writes bufs, small ones together.
func (l *lineStream) writeAll(bufs []encoding) error {
	for len(bufs) > 0 {
		n, size := 1, len(bufs[0].text)
		for n < len(bufs) && len(bufs[n].text) <= aloneBytes && size <= aloneBytes {
			size += len(bufs[n].text)
			n++
		}
		if _, err := l.w.Write(l.join(bufs[:n])); err != nil {
			return err
		}
		bufs = bufs[n:]
	}
	return nil
}

// join returns bufs as one, until it is called again.
func (l *lineStream) join(bufs []encoding) []byte {
	if len(bufs) == 1 {
		return bufs[0].text
	}
	l.joined = l.joined[:0]
	for _, e := range bufs {
		l.joined = append(l.joined, e.text...)
	}
	return l.joined
}

// The functions below are called with l.mu held.

// reserve waits until there is room for size bytes more.
func (l *lineStream) reserve(ctx context.Context, size int) error {
	for l.err == nil && l.queued > 0 && l.queued > l.lim.QueuedBytes-size {
		if l.room == nil {
			l.room = make(chan struct{})
		}
		room := l.room
		if l.begin() {
			go l.writeRounds(nil)
		}
		l.mu.Unlock()
		select {
		case <-room:
		case <-l.closing:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if l.err != nil {
		return l.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.queued += size
	return nil
}

// pending reports whether there is something to write, or somebody to tell that
// there is not.
func (l *lineStream) pending() bool { return len(l.next.bufs) > 0 || l.next.done != nil }

// begin makes the stream busy and reports whether it was not.
func (l *lineStream) begin() bool {
	was := l.busy
	l.busy = true
	return !was
}

// rest ends being busy.
func (l *lineStream) rest() {
	l.busy = false
	if l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// attempt writes what is next if that can be done at once, and reports whether
// it was. Otherwise there is a goroutine. What came meanwhile is written, too.
// The stream is busy; l.mu is released in between.
func (l *lineStream) attempt() bool {
	if !l.attemptTurn() {
		return false
	}
	for range attemptTurns {
		if !l.pending() {
			l.rest()
			return true
		}
		if !l.attemptTurn() {
			return true
		}
	}
	go l.writeRounds(nil)
	return true
}

// attemptTurn is attempt for one round. If it fails there is the goroutine.
func (l *lineStream) attemptTurn() bool {
	r := l.turn()
	size := r.size()
	if l.try == nil || size > joinedBytes || l.err != nil {
		go l.writeRounds(r)
		return false
	}
	text := l.join(r.bufs)
	l.mu.Unlock()
	n, err := l.try.TryWrite(text)
	l.mu.Lock()
	if err != nil || n < size { // Write finds the error again
		l.shrink(n)
		r.left(text[n:])
		go l.writeRounds(r)
		return false
	}
	l.wrote(r, size, nil)
	return true
}

// turn takes the next round, to write it.
func (l *lineStream) turn() *round {
	r := l.next
	l.next, l.spare = l.spare, nil
	if l.next == nil {
		l.next = new(round)
	}
	return r
}

// wrote takes note that r was written, or was not for err.
func (l *lineStream) wrote(r *round, size int, err error) {
	l.shrink(size)
	r.giveBack()
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if r.done == nil {
		*r = round{bufs: r.bufs}
		l.spare = r
		return
	}
	if err != nil {
		r.err = l.err
	}
	close(r.done) // who waits reads r
}

// shrink lets those look again who wait for room.
func (l *lineStream) shrink(size int) {
	l.queued -= size
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
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
	var idle chan struct{}
	if l.busy {
		idle = make(chan struct{})
		l.idle = idle
	}
	l.mu.Unlock()

	var err error
	if l.c != nil {
		err = l.c.Close()
	}
	if idle != nil {
		t := time.NewTimer(closePatience)
		defer t.Stop()
		select {
		case <-idle:
		case <-t.C:
		}
	}
	return err
}
