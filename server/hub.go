package server

import (
	"sync"
	"time"
)

// listDelay is how long the hub waits for further changes of a list before it
// tells of the first: features are mostly added by the dozen.
const listDelay = 10 * time.Millisecond

// hub knows who wants to hear of what, in both eras: a legacy session and a
// subscriptions/listen request are both a subscriber with a filter. It hands
// events over and never waits for a subscriber. What an event costs follows
// from how many it is told to, not from how many there are.
type hub struct {
	workers *gate
	done    chan struct{} // closed by close

	mu       sync.Mutex
	audience audience
	closed   bool
	changed  lists
	timer    *time.Timer // runs while changed is not 0
}

func newHub(workers *gate) *hub {
	return &hub{workers: workers, done: make(chan struct{})}
}

// close ends the listeners. What is changed from now on is not told.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	h.tellNow()
	close(h.done)
}

// join adds a subscriber. It is not told of what changed before.
func (h *hub) join(sub *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tellNow()
	h.audience.add(sub)
}

// leave ends all watching of a subscriber, and returns what it watched.
func (h *hub) leave(sub *subscriber) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	uris := sub.close()
	h.audience.remove(sub, uris)
	return uris
}

// watch adds a URI to those of a subscriber. It reports false where that
// changes nothing: the URI is watched already, or cannot be any more.
func (h *hub) watch(sub *subscriber, uri string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !sub.watch(uri) {
		return false
	}
	h.audience.watch(sub, uri)
	return true
}

// unwatch reports whether the URI was watched.
func (h *hub) unwatch(sub *subscriber, uri string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !sub.unwatch(uri) {
		return false
	}
	h.audience.unwatch(sub, uri)
	return true
}

// watched reports whether anybody watches a URI or topic.
func (h *hub) watched(uri string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.audience.uris[uri]) > 0
}

// listChanged tells soon that lists changed.
func (h *hub) listChanged(l lists) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if h.changed |= l; h.timer != nil || !h.workers.enter() {
		return
	}
	h.timer = time.AfterFunc(listDelay, func() {
		defer h.workers.leave()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tell()
	})
}

// tellNow tells of what changed without waiting for more of it. It must be
// called with h.mu held.
func (h *hub) tellNow() {
	if h.timer != nil && h.timer.Stop() {
		h.workers.leave()
	}
	h.tell()
}

// tell must be called with h.mu held.
func (h *hub) tell() {
	h.audience.ofLists(h.changed, func(sub *subscriber) { sub.listChanged(h.changed) })
	h.changed, h.timer = 0, nil
}

// updated tells that a resource changed.
func (h *hub) updated(n note) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	for sub := range h.audience.uris[n.uri] {
		sub.updated(n)
	}
}

type subscribers map[*subscriber]struct{}

// audience finds the subscribers of an event. The zero audience is empty.
type audience struct {
	lists [listsAll + 1]subscribers // by all the lists that they watch
	uris  map[string]subscribers    // by each URI
}

func (a *audience) add(sub *subscriber) {
	if sub.lists != 0 {
		if a.lists[sub.lists] == nil {
			a.lists[sub.lists] = subscribers{}
		}
		a.lists[sub.lists][sub] = struct{}{}
	}
	for _, uri := range sub.watched() {
		a.watch(sub, uri)
	}
}

// remove takes out a subscriber that watched these URIs.
func (a *audience) remove(sub *subscriber, uris []string) {
	delete(a.lists[sub.lists], sub)
	for _, uri := range uris {
		a.unwatch(sub, uri)
	}
}

func (a *audience) watch(sub *subscriber, uri string) {
	if a.uris == nil {
		a.uris = map[string]subscribers{}
	}
	if a.uris[uri] == nil {
		a.uris[uri] = subscribers{}
	}
	a.uris[uri][sub] = struct{}{}
}

func (a *audience) unwatch(sub *subscriber, uri string) {
	delete(a.uris[uri], sub)
	if len(a.uris[uri]) == 0 {
		delete(a.uris, uri)
	}
}

// ofLists calls f with those who watch any of some lists.
func (a *audience) ofLists(changed lists, f func(*subscriber)) {
	for watched, subs := range a.lists {
		if lists(watched)&changed == 0 {
			continue
		}
		for sub := range subs {
			f(sub)
		}
	}
}
