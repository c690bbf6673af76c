package server

import (
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// lists are the lists whose changes are told.
type lists uint8

const (
	listsTools lists = 1 << iota
	listsPrompts
	listsResources

	listsAll = listsTools | listsPrompts | listsResources
)

// listNotifications has the notification of each list.
var listNotifications = [...]struct {
	list   lists
	method string
}{
	{listsTools, mcp.NotificationToolsListChanged},
	{listsPrompts, mcp.NotificationPromptsListChanged},
	{listsResources, mcp.NotificationResourcesListChanged},
}

// subscriber is one who wants to hear of events. A list that changed twice
// before it was told is told once, and so is a resource when the queue is full.
type subscriber struct {
	maxURIs, maxUpdates, maxLogs int
	lists                        lists // asked for
	// deliver is called, once, when there is something to take after there was
	// nothing. It must return at once.
	deliver func()

	mu     sync.Mutex
	uris   map[string]bool // asked for; true = waits to be told
	closed bool            // watches nothing any more
	held   bool            // nothing is delivered yet
	told   bool            // deliver was called, and take did not say it was all
	ready  lists
	queue  []note // of resources, in order
	logs   []note
}

func newSubscriber(f mcp.Filter, l Limits) *subscriber {
	sub := &subscriber{maxURIs: l.Subscriptions, maxUpdates: l.QueuedUpdates, maxLogs: l.QueuedLogs, uris: map[string]bool{}, held: true}
	for _, w := range []struct {
		on   bool
		list lists
	}{{f.ToolsListChanged, listsTools}, {f.PromptsListChanged, listsPrompts}, {f.ResourcesListChanged, listsResources}} {
		if w.on {
			sub.lists |= w.list
		}
	}
	for _, uri := range f.ResourceSubscriptions {
		sub.uris[uri] = false
	}
	for _, id := range f.TaskIDs {
		sub.uris[taskTopic(id)] = false
	}
	return sub
}

// release begins the delivery. It reports false where that was done before.
func (s *subscriber) release() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		return false
	}
	s.held = false
	s.wake()
	return true
}

// wake must be called with s.mu held.
func (s *subscriber) wake() {
	if s.held || s.told || s.ready == 0 && len(s.queue) == 0 && len(s.logs) == 0 {
		return
	}
	s.told = true
	s.deliver()
}

func (s *subscriber) listChanged(l lists) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready |= l & s.lists
	s.wake()
}

func (s *subscriber) updated(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits, wanted := s.uris[n.uri]
	if !wanted {
		return
	}
	if waits && over(len(s.queue)+1, s.maxUpdates) { // what waits says it as well, or is older
		for i := range s.queue {
			if s.queue[i].uri == n.uri {
				s.queue[i] = n
				return
			}
		}
	}
	s.uris[n.uri] = true
	s.queue = append(s.queue, n)
	s.wake()
}

func (s *subscriber) log(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if over(len(s.logs)+1, s.maxLogs) {
		s.logs = s.logs[1:]
	}
	s.logs = append(s.logs, n)
	s.wake()
}

// canWatch reports whether a URI is watched, and where it is not whether it can
// be.
func (s *subscriber) canWatch(uri string) (watched, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, watched = s.uris[uri]
	return watched, watched || !s.closed && !over(len(s.uris)+1, s.maxURIs)
}

// watch, unwatch and close are for the hub to call, so that it knows of them.
func (s *subscriber) watch(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, watched := s.uris[uri]; watched || s.closed || over(len(s.uris)+1, s.maxURIs) {
		return false
	}
	s.uris[uri] = false
	return true
}

func (s *subscriber) unwatch(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits, watched := s.uris[uri]
	delete(s.uris, uri)
	if waits {
		s.queue = slices.DeleteFunc(s.queue, func(n note) bool { return n.uri == uri })
	}
	return watched
}

// watched returns the URIs that are watched.
func (s *subscriber) watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.uris))
}

// close ends all watching, and returns what was watched.
func (s *subscriber) close() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := slices.Sorted(maps.Keys(s.uris))
	s.closed, s.uris, s.queue = true, nil, nil
	return was
}

// take returns what is to be sent now. Nil says that there is nothing, and that
// deliver will be called again.
func (s *subscriber) take() []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []note
	for _, n := range listNotifications {
		if s.ready&n.list != 0 {
			notes = append(notes, note{req: &rpc.Request{Method: n.method, Params: jsontext.Value("{}")}})
		}
	}
	for _, n := range s.queue {
		s.uris[n.uri] = false
	}
	notes = append(append(notes, s.queue...), s.logs...)
	s.ready, s.queue, s.logs = 0, nil, nil
	s.told = len(notes) > 0
	return notes
}

// note is a notification to be sent.
type note struct {
	req *rpc.Request // encoded once, however many it is sent to; params are an object without _meta
	uri string       // that it is of, where it is of a resource
}

func newNote(method string, params any) (note, error) {
	req, err := rpc.NewRequest(method, params)
	return note{req: req}, err
}

// of returns the notification for one subscription, whose ID it carries.
func (n note) of(id rpc.ID) *rpc.Request {
	meta := `{"_meta":{"` + mcp.MetaSubscriptionID + `":` + id.String() + `}`
	b := make(jsontext.Value, 0, len(meta)+len(n.req.Params)+1)
	if b = append(b, meta...); len(n.req.Params) > len("{}") {
		b = append(b, ',')
	}
	return &rpc.Request{Method: n.req.Method, Params: append(b, n.req.Params[1:]...)}
}
