package server

import (
	"context"
	"sync"
	"sync/atomic"
)

// A gate counts what is inside, and can be shut: what is inside may finish,
// nothing more comes in. The zero gate is open.
type gate struct {
	n     atomic.Int64
	shut  atomic.Bool
	once  sync.Once
	mu    sync.Mutex
	empty chan struct{} // closed when shut and n was 0
}

// enter reports whether the gate is open. Whoever entered must leave.
func (g *gate) enter() bool {
	g.n.Add(1)
	if !g.shut.Load() {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.n.Add(-1) == 0 && g.shut.Load() {
		g.once.Do(func() { close(g.emptied()) })
	}
}

// close shuts the gate. It may be called more than once.
func (g *gate) close() {
	g.shut.Store(true)
	if g.n.Load() == 0 {
		g.once.Do(func() { close(g.emptied()) })
	}
}

// emptied returns the channel, which is made when it is first needed.
func (g *gate) emptied() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	return g.empty
}

// wait returns when a shut gate has nothing inside any more, or with the error
// of ctx.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.emptied():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serial runs functions one after another, in the order they were added, on a
// goroutine that lives only as long as there is something to run. workers
// counts that goroutine.
type serial struct {
	workers *gate
	max     int // waiting functions; negative = no limit

	mu    sync.Mutex
	queue []func()
	busy  bool
	full  bool // some were dropped since the queue was empty
}

// add has f run, unless too many wait or workers is shut. It reports the first
// one that is dropped as too many wait, until the queue has been empty again.
func (q *serial) add(f func()) (overflow bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if over(len(q.queue)+1, q.max) {
		overflow, q.full = !q.full, true
		return overflow
	}
	if !q.busy {
		if !q.workers.enter() {
			return false
		}
		q.busy = true
		go q.run()
	}
	q.queue = append(q.queue, f)
	return false
}

func (q *serial) run() {
	defer q.workers.leave()
	for {
		q.mu.Lock()
		if len(q.queue) == 0 {
			q.busy, q.full = false, false
			q.mu.Unlock()
			return
		}
		f := q.queue[0]
		q.queue = q.queue[1:]
		q.mu.Unlock()
		f()
	}
}

// A quota counts what is inside, up to a limit.
type quota struct{ n atomic.Int64 }

func (q *quota) enter(limit int) bool {
	if over(int(q.n.Add(1)), limit) {
		q.n.Add(-1)
		return false
	}
	return true
}

func (q *quota) leave() { q.n.Add(-1) }
