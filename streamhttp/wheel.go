package streamhttp

import (
	"sync"
	"time"
)

// A wheel calls visit for each of its members once per period, one after the
// other. It has one timer for all of them, and none when it has had no members
// for a period.
type wheel[T comparable] struct {
	every time.Duration // zero or less: the wheel stands still
	visit func(T)

	mu      sync.Mutex
	members map[T]struct{}
	timer   *time.Timer
	turning sync.WaitGroup
	stopped bool
}

func (w *wheel[T]) add(m T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.members == nil {
		w.members = make(map[T]struct{})
	}
	w.members[m] = struct{}{}
	w.arm()
}

func (w *wheel[T]) remove(m T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.members, m)
}

// all returns the members of this moment.
func (w *wheel[T]) all() []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]T, 0, len(w.members))
	for m := range w.members {
		list = append(list, m)
	}
	return list
}

// arm starts the timer where one is needed. The caller holds mu.
func (w *wheel[T]) arm() {
	if w.timer != nil || w.stopped || w.every <= 0 || len(w.members) == 0 {
		return
	}
	w.turning.Add(1)
	w.timer = time.AfterFunc(w.every, w.turn)
}

func (w *wheel[T]) turn() {
	defer w.turning.Done()
	for _, m := range w.all() {
		w.visit(m)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	w.arm()
}

// stop ends the turning and waits for the turn that is under way.
func (w *wheel[T]) stop() {
	w.mu.Lock()
	w.stopped = true
	if w.timer != nil && w.timer.Stop() {
		w.timer = nil
		w.turning.Done()
	}
	w.mu.Unlock()
	w.turning.Wait()
}
