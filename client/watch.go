package client

import (
	"math"
	"sync"
	"time"
)

// A watch ends the flights whose time is over. It has one timer for all of
// them, since one for each would cost more than all the rest of a call: it
// fires when the first of those that fly may be over, and looks up then how
// long nothing happened. Progress does not touch it.
type watch struct {
	c     *Client
	timer *time.Timer

	mu    sync.Mutex
	first *flight       // of those under way that have a limit
	due   time.Duration // when the timer fires, on the clock of the client; 0: it does not
}

func newWatch(c *Client) *watch {
	w := &watch{c: c}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

// add begins the time of f. Without limits there is nothing to do.
func (w *watch) add(f *flight) {
	if l := f.call.opts.limits; l.idle == 0 && l.total == 0 {
		return
	}
	now := w.c.now()
	f.begin = now
	due := w.c.due(f, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	f.watched = true
	if f.next = w.first; f.next != nil {
		f.next.prev = f
	}
	w.first = f
	w.wake(now, due)
}

// remove takes f out, if it is in.
func (w *watch) remove(f *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.watched {
		w.unlink(f)
	}
}

// unlink is called with w.mu held.
func (w *watch) unlink(f *flight) {
	f.watched = false
	if f.next != nil {
		f.next.prev = f.prev
	}
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		w.first = f.next
	}
	f.prev, f.next = nil, nil
}

// wake sees to it that the timer fires at due. It is called with w.mu held.
func (w *watch) wake(now, due time.Duration) {
	if w.due == 0 || due < w.due {
		w.due = due
		w.timer.Reset(due - now)
	}
}

// look ends what is over.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = 0
	now := w.c.now()
	for f := w.first; f != nil; {
		next := f.next
		if due := w.c.due(f, now); due > now {
			w.wake(now, due)
		} else {
			w.unlink(f)
			f.ctx.End(f.timeout(now))
		}
		f = next
	}
}

// timeout is why f ends.
func (f *flight) timeout(now time.Duration) *TimeoutError {
	l := f.call.opts.limits
	if l.total > 0 && now-f.begin >= l.total {
		return &TimeoutError{Method: f.call.Method, After: l.total, Hard: true}
	}
	return &TimeoutError{Method: f.call.Method, After: l.idle}
}

// now is the time since the client was made: it does not jump.
func (c *Client) now() time.Duration { return time.Since(c.start) }

// due returns when a limit of f is reached if nothing more happens.
func (c *Client) due(f *flight, now time.Duration) time.Duration {
	const never = math.MaxInt64 / 2 // and still small enough to add to
	l, due := f.call.opts.limits, time.Duration(never)
	if l.idle > 0 {
		due = min(due, c.quiet(f, now)+min(l.idle, never))
	}
	if l.total > 0 {
		due = min(due, f.begin+min(l.total, never))
	}
	return due
}

// quiet returns since when nothing happened. The clock stands while the client
// answers a request of the server: a person may be thinking.
func (c *Client) quiet(f *flight, now time.Duration) time.Duration {
	if c.answering.Load() > 0 {
		return now
	}
	return max(f.begin, time.Duration(f.last.Load()), time.Duration(c.answered.Load()))
}
