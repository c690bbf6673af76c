package client

import (
	"context"
	"sync"
)

// fifo is a bounded queue that takes memory only for what is in it. Several
// goroutines may push, one takes.
type fifo[T any] struct {
	limit int
	ready chan struct{} // has a token while there may be something to take
	room  chan struct{} // has a token while there may be room for a waiting push
	over  chan struct{} // closed when nothing is taken any more

	mu    sync.Mutex
	items []T
}

func newFIFO[T any](limit int) *fifo[T] {
	return &fifo[T]{
		limit: limit,
		ready: make(chan struct{}, 1), room: make(chan struct{}, 1), over: make(chan struct{}),
	}
}

// push adds v. It waits while the queue is full, and gives up when ctx ends or
// the queue is over.
func (q *fifo[T]) push(ctx context.Context, v T) {
	for !q.add(v) {
		select {
		case <-q.room:
		case <-q.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (q *fifo[T]) add(v T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) >= q.limit {
		return false
	}
	q.items = append(q.items, v)
	signal(q.ready)
	if len(q.items) < q.limit {
		signal(q.room) // for the next that waits
	}
	return true
}

// take returns all there is, in order.
func (q *fifo[T]) take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	signal(q.room)
	return items
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
