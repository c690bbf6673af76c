package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/mcp"
)

// scanned are the subscribers that f holds of, found by asking each.
func scanned(subs []*subscriber, f func(*subscriber) bool) []*subscriber {
	return slices.DeleteFunc(slices.Clone(subs), func(s *subscriber) bool { return !f(s) })
}

// sameSubscribers compares without order.
func sameSubscribers(a, b []*subscriber) bool {
	if len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(a, func(s *subscriber) bool { return !slices.Contains(b, s) })
}

// TestAudience has subscribers come, go, watch and unwatch at random. Whom the
// hub tells must always be whom a look at every subscriber finds, and nothing
// may be left in the index of those who are gone.
func TestAudience(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { walk(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func walk(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	h := newHub(&gate{})
	var subs, told []*subscriber
	coin := func() bool { return rnd.IntN(2) == 0 }
	uri := func() string { return fmt.Sprint("x:", rnd.IntN(6)) }
	want := func(event string, subs []*subscriber) {
		t.Helper()
		if !sameSubscribers(told, subs) {
			t.Fatalf("%s: %d are told, %d should be", event, len(told), len(subs))
		}
		for _, s := range told {
			if s.take() == nil || s.take() != nil {
				t.Fatalf("%s: nothing is there for one who is told", event)
			}
		}
		told = told[:0]
	}
	for range 500 {
		switch rnd.IntN(6) {
		case 0:
			f := mcp.Filter{ToolsListChanged: coin(), PromptsListChanged: coin(), ResourcesListChanged: coin()}
			for coin() {
				f.ResourceSubscriptions = append(f.ResourceSubscriptions, uri())
			}
			s := newSubscriber(f, Limits{Subscriptions: 3, QueuedUpdates: 3}) // one may begin with more
			s.deliver = func() { told = append(told, s) }
			s.release()
			h.join(s)
			subs = append(subs, s)
		case 1:
			if len(subs) > 0 {
				i := rnd.IntN(len(subs))
				s := subs[i]
				subs = slices.Delete(subs, i, i+1)
				h.leave(s)
				if h.watch(s, uri()) || h.unwatch(s, uri()) {
					t.Fatal("one who left watches")
				}
			}
		case 2:
			if len(subs) > 0 {
				h.watch(subs[rnd.IntN(len(subs))], uri())
			}
		case 3:
			if len(subs) > 0 {
				h.unwatch(subs[rnd.IntN(len(subs))], uri())
			}
		case 4:
			l := lists(rnd.IntN(int(listsAll) + 1))
			h.listChanged(l)
			h.mu.Lock()
			h.tellNow()
			h.mu.Unlock()
			want("a list", scanned(subs, func(s *subscriber) bool { return s.lists&l != 0 }))
		case 5:
			u := uri()
			h.updated(note{uri: u})
			want("a resource", scanned(subs, func(s *subscriber) bool { return slices.Contains(s.watched(), u) }))
		}
	}
	for _, s := range subs {
		h.leave(s)
	}
	if len(h.audience.uris) > 0 {
		t.Errorf("%d URIs have watchers that are gone", len(h.audience.uris))
	}
	for l, s := range h.audience.lists {
		if len(s) > 0 {
			t.Errorf("lists %d have watchers that are gone", l)
		}
	}
}

// TestJoiningTellsNobody keeps a session that opens from visiting the others.
func TestJoiningTellsNobody(t *testing.T) {
	t.Parallel()
	h := newHub(&gate{})
	first := newSubscriber(mcp.Filter{ToolsListChanged: true}, Limits{})
	h.join(first)
	first.mu.Lock() // whoever visits it waits for ever
	defer first.mu.Unlock()
	for range 3 {
		h.join(newSubscriber(mcp.Filter{ToolsListChanged: true}, Limits{}))
	}
	h.updated(note{uri: "x:a"})
}

// TestHubUnderWay has everything happen at once, for the race detector. Nothing
// that is watched the whole time is lost.
func TestHubUnderWay(t *testing.T) {
	t.Parallel()
	const n = 200
	h := newHub(&gate{})
	constant := newSubscriber(mcp.Filter{ResourceSubscriptions: []string{"x:0"}}, Limits{QueuedUpdates: -1})
	constant.deliver = func() {}
	constant.release()
	h.join(constant)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range n {
				uri := fmt.Sprint("x:", i%3)
				s := newSubscriber(mcp.Filter{ToolsListChanged: i%2 == 0, ResourceSubscriptions: []string{uri}}, Limits{Subscriptions: -1, QueuedUpdates: -1})
				s.deliver = func() {}
				h.join(s)
				s.release()
				h.watch(s, "x:w")
				h.listChanged(listsTools)
				h.updated(note{uri: "x:0"})
				s.take()
				h.unwatch(s, uri)
				h.leave(s)
			}
		})
	}
	all.Wait()
	h.close()
	if got := len(constant.take()); got != 4*n {
		t.Errorf("%d of %d updates are there", got, 4*n)
	}
}
