package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
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

// listDelay is how long the hub waits for further changes of a list before it
// tells of the first: features are mostly added by the dozen.
const listDelay = 10 * time.Millisecond

// hub knows who wants to hear of what, in both eras: a legacy session and a
// subscriptions/listen request are both a subscriber with a filter. It hands
// events over and never waits for a subscriber.
type hub struct {
	workers *gate
	done    chan struct{} // closed by close

	mu      sync.Mutex
	subs    map[*subscriber]struct{}
	closed  bool
	changed lists
	timer   *time.Timer // runs while changed is not 0
}

func newHub(workers *gate) *hub {
	return &hub{workers: workers, done: make(chan struct{}), subs: map[*subscriber]struct{}{}}
}

// close ends the listeners. What is changed from now on is not told.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	if h.timer != nil && h.timer.Stop() {
		h.workers.leave()
		h.tell()
	}
	close(h.done)
}

// join adds a subscriber. It is not told of what changed before.
func (h *hub) join(sub *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil && h.timer.Stop() {
		h.workers.leave()
	}
	h.tell()
	h.subs[sub] = struct{}{}
}

func (h *hub) leave(sub *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, sub)
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

// tell must be called with h.mu held.
func (h *hub) tell() {
	for sub := range h.subs {
		sub.listChanged(h.changed)
	}
	h.changed, h.timer = 0, nil
}

// updated tells that a resource changed.
func (h *hub) updated(n note) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	for sub := range h.subs {
		sub.updated(n)
	}
}

// subscriber is one who wants to hear of events. A list that changed twice
// before it was told is told once, and so is a resource when the queue is full.
type subscriber struct {
	maxURIs, maxUpdates, maxLogs int
	// deliver is called, once, when there is something to take after there was
	// nothing. It must return at once.
	deliver func()

	mu     sync.Mutex
	lists  lists           // asked for
	uris   map[string]bool // asked for; true = waits to be told
	closed bool            // watches nothing any more
	held   bool            // nothing is delivered yet
	told   bool            // deliver was called, and take did not say it was all
	ready  lists
	queue  []note // of resources, in order
	logs   []note
}

func (h *hub) newSubscriber(f mcp.Filter, l Limits) *subscriber {
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
	if !wanted || waits && over(len(s.queue)+1, s.maxUpdates) {
		return
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

// watch adds a URI. It reports false where that changes nothing: the URI is
// watched already, or cannot be any more.
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

// close ends all watching, and returns what was watched.
func (s *subscriber) close() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := slices.Sorted(maps.Keys(s.uris))
	s.closed, s.uris, s.queue = true, nil, nil
	return was
}

// note is a notification to be sent. Its params are encoded once, however many
// it is sent to.
type note struct {
	method string
	uri    string         // that it is of, where it is of a resource
	params jsontext.Value // an object without _meta
}

func newNote(method string, params any) (note, error) {
	b, err := json.Marshal(params)
	return note{method: method, params: b}, err
}

// of returns the params for one subscription, whose ID they carry.
func (n note) of(id rpc.ID) jsontext.Value {
	meta := `{"_meta":{"` + mcp.MetaSubscriptionID + `":` + id.String() + `}`
	b := make(jsontext.Value, 0, len(meta)+len(n.params)+1)
	if b = append(b, meta...); len(n.params) > len("{}") {
		b = append(b, ',')
	}
	return append(b, n.params[1:]...)
}

// take returns what is to be sent now. Nil says that there is nothing, and that
// deliver will be called again.
func (s *subscriber) take() []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []note
	for _, n := range listNotifications {
		if s.ready&n.list != 0 {
			notes = append(notes, note{method: n.method, params: jsontext.Value("{}")})
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

// honoured is the part of a filter that the server can fulfil.
func honoured(f mcp.Filter, c *mcp.ServerCapabilities) mcp.Filter {
	h := mcp.Filter{
		ToolsListChanged:     f.ToolsListChanged && c.Tools != nil && c.Tools.ListChanged,
		PromptsListChanged:   f.PromptsListChanged && c.Prompts != nil && c.Prompts.ListChanged,
		ResourcesListChanged: f.ResourcesListChanged && c.Resources != nil && c.Resources.ListChanged,
	}
	if c.Resources != nil && c.Resources.Subscribe {
		h.ResourceSubscriptions = slices.Compact(slices.Sorted(slices.Values(f.ResourceSubscriptions)))
	}
	return h
}

// sessionFilter is what a legacy session hears of without asking.
func sessionFilter(c *mcp.ServerCapabilities) mcp.Filter {
	return honoured(mcp.Filter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}, c)
}

// deliver sends what waits for a legacy session, on a goroutine that ends when
// nothing waits any more. It must return at once.
func (ss *session) deliver(sub *subscriber) {
	if !ss.server.workers.enter() {
		return // shutting down
	}
	go func() {
		defer ss.server.workers.leave()
		for notes := sub.take(); notes != nil; notes = sub.take() {
			for _, n := range notes {
				req := &rpc.Request{Method: n.method, Params: n.params}
				if err := ss.conn.Notify(ss.ctx, req); err != nil {
					ss.log().Debug("an event was not delivered", "method", n.method, "error", err)
				}
			}
		}
	}()
}

// ResourceUpdated tells those who watch a resource that it changed. It waits for
// none of them: changes queue up for one that is slow, and those that it has no
// room for are told with an earlier change of the same resource.
func (s *Server) ResourceUpdated(_ context.Context, uri string) error {
	n, err := newNote(mcp.NotificationResourceUpdated, &mcp.ResourceUpdatedParams{URI: uri})
	if err != nil {
		return fmt.Errorf("server: resource %q cannot be told of: %w", capped(uri), err)
	}
	n.uri = uri
	s.hub.updated(n)
	return nil
}

// subscribe is the handler of resources/subscribe. Nothing is told of a resource
// before OnSubscribe has allowed it.
func subscribe(ctx context.Context, c *Call, p *mcp.SubscribeParams) (any, error) {
	if err := checkURI(p.URI); err != nil {
		return nil, err
	}
	s, sub := c.session.server, c.session.sub
	watched, ok := sub.canWatch(p.URI)
	switch {
	case !ok:
		return nil, mcp.InvalidParams("too many subscriptions: unsubscribe from some of %d first", s.opts.Limits.Subscriptions)
	case watched:
		return &mcp.Result{}, nil
	}
	if hook := s.opts.OnSubscribe; hook != nil {
		if err := hook(ctx, p.URI); err != nil {
			return nil, err
		}
	}
	if sub.watch(p.URI) {
		return &mcp.Result{}, nil
	}
	c.session.unsubscribed(ctx, p.URI) // it was begun twice, or in vain
	if watched, _ = sub.canWatch(p.URI); !watched {
		return nil, mcp.InvalidParams("too many subscriptions: unsubscribe from some of %d first", s.opts.Limits.Subscriptions)
	}
	return &mcp.Result{}, nil
}

// unsubscribe is the handler of resources/unsubscribe.
func unsubscribe(ctx context.Context, c *Call, p *mcp.UnsubscribeParams) (any, error) {
	if err := checkURI(p.URI); err != nil {
		return nil, err
	}
	if c.session.sub.unwatch(p.URI) {
		c.session.unsubscribed(ctx, p.URI)
	}
	return &mcp.Result{}, nil
}

func (ss *session) unsubscribed(ctx context.Context, uris ...string) {
	s := ss.server
	if s.opts.OnUnsubscribe == nil {
		return
	}
	for _, uri := range uris {
		func() { // a panic is not to keep the others from it
			defer ss.contain(ctx, "OnUnsubscribe", nil)
			s.opts.OnUnsubscribe(ctx, uri)
		}()
	}
}

// listen is the handler of subscriptions/listen. It is the goroutine that
// delivers to its subscriber, and ends with the request or with the server.
func listen(ctx context.Context, c *Call, p *mcp.ListenParams) (any, error) {
	s := c.session.server
	if over(len(p.Notifications.ResourceSubscriptions), s.opts.Limits.Subscriptions) {
		return nil, mcp.InvalidParams("params.notifications.resourceSubscriptions has more than %d URIs", s.opts.Limits.Subscriptions)
	}
	if !s.listeners.enter(s.opts.Limits.Listeners) {
		return nil, rpc.Errorf(rpc.CodeInternalError, "the server has too many subscriptions: try again later")
	}
	defer s.listeners.leave()

	for _, uri := range p.Notifications.ResourceSubscriptions {
		if len(uri) > maxKeyBytes {
			return nil, mcp.InvalidParams("params.notifications.resourceSubscriptions has a URI of more than %d bytes", maxKeyBytes)
		}
	}
	filter := honoured(p.Notifications, &s.features.Load().capabilities)
	var begun []string
	defer func() { c.session.unsubscribed(context.WithoutCancel(ctx), begun...) }()
	for _, uri := range filter.ResourceSubscriptions {
		if hook := s.opts.OnSubscribe; hook != nil {
			if err := hook(ctx, uri); err != nil {
				return nil, err
			}
		}
		begun = append(begun, uri)
	}
	wake := make(chan struct{}, 1)
	sub := s.hub.newSubscriber(filter, s.opts.Limits)
	sub.deliver = func() {
		select {
		case wake <- struct{}{}:
		default: // a wake-up is under way
		}
	}
	s.hub.join(sub)
	defer s.hub.leave(sub)
	ack, err := newNote(mcp.NotificationAcknowledged, &mcp.AcknowledgedParams{Notifications: filter})
	if err != nil {
		return nil, err
	}
	if err := c.event(ctx, ack); err != nil {
		return nil, err
	}
	sub.release()
	return c.pump(ctx, sub, wake)
}

// pump sends events until the stream is over. It ends with a result when the
// server shuts down, and when the connection ends in good order, which may well
// end ctx at the same time.
func (c *Call) pump(ctx context.Context, sub *subscriber, wake <-chan struct{}) (any, error) {
	ending := c.session.ctx
	for last := false; ; {
		select {
		case <-ctx.Done():
			if ending.Err() == nil {
				return nil, context.Cause(ctx)
			}
			return c.listened(ctx)
		case <-wake:
		case <-ending.Done():
			last = true
		case <-c.session.server.hub.done:
			last = true
		}
		err := c.events(ctx, sub)
		if last || err != nil && ending.Err() != nil {
			return c.listened(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// events sends what waits.
func (c *Call) events(ctx context.Context, sub *subscriber) error {
	for notes := sub.take(); notes != nil; notes = sub.take() {
		for _, n := range notes {
			if err := c.event(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// event sends a notification of a subscription, which carries its ID.
func (c *Call) event(ctx context.Context, n note) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errOver
	}
	return c.peer.Notify(ctx, &rpc.Request{Method: n.method, Params: n.of(c.req.ID)})
}

// listened ends a subscription from this side. On a shared channel two pages
// of the specification want a cancellation and a result; both are sent (spec
// section 8.1, 1).
func (c *Call) listened(ctx context.Context) (any, error) {
	if c.Header == nil {
		p := &mcp.CancelledParams{RequestID: c.req.ID, Reason: "the server ends the subscription"}
		if err := c.Notify(ctx, mcp.NotificationCancelled, p); err != nil {
			return nil, err
		}
	}
	res := &mcp.ListenResult{}
	err := res.Meta.Set(mcp.MetaSubscriptionID, c.req.ID)
	return res, err
}
