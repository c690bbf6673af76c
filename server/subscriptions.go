package server

import (
	"context"
	"slices"
	"sync"
	"time"

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
func (h *hub) updated(uri string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	for sub := range h.subs {
		sub.updated(uri)
	}
}

// subscriber is one who wants to hear of events. A list that changed twice
// before it was told is told once, and so is a resource when the queue is full.
type subscriber struct {
	maxURIs, maxUpdates, maxLogs int
	// deliver is called, once, when there is something to take after there was
	// nothing. It must return at once.
	deliver func()

	mu    sync.Mutex
	lists lists           // asked for
	uris  map[string]bool // asked for; true = waits to be told
	held  bool            // nothing is delivered yet
	told  bool            // deliver was called, and take did not say it was all
	ready lists
	queue []string // the URIs that wait, in order
	logs  []*mcp.LogParams
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

func (s *subscriber) updated(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits, wanted := s.uris[uri]
	if !wanted || waits && over(len(s.queue)+1, s.maxUpdates) {
		return
	}
	s.uris[uri] = true
	s.queue = append(s.queue, uri)
	s.wake()
}

func (s *subscriber) log(p *mcp.LogParams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if over(len(s.logs)+1, s.maxLogs) {
		s.logs = s.logs[1:]
	}
	s.logs = append(s.logs, p)
	s.wake()
}

// watch adds a URI. It reports whether that is new, and false for ok where
// there are too many.
func (s *subscriber) watch(uri string) (added, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, watched := s.uris[uri]; watched {
		return false, true
	}
	if over(len(s.uris)+1, s.maxURIs) {
		return false, false
	}
	s.uris[uri] = false
	return true, true
}

func (s *subscriber) unwatch(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits, watched := s.uris[uri]
	delete(s.uris, uri)
	if waits {
		s.queue = slices.DeleteFunc(s.queue, func(u string) bool { return u == uri })
	}
	return watched
}

// watched returns all URIs.
func (s *subscriber) watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sortedKeys(s.uris)
}

// note is a notification to be sent.
type note struct {
	method string
	params mcp.AnyParams
}

// take returns what is to be sent now. Nil says that there is nothing, and that
// deliver will be called again.
func (s *subscriber) take() []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []note
	for _, n := range listNotifications {
		if s.ready&n.list != 0 {
			notes = append(notes, note{n.method, &mcp.ListChangedParams{}})
		}
	}
	for _, uri := range s.queue {
		s.uris[uri] = false
		notes = append(notes, note{mcp.NotificationResourceUpdated, &mcp.ResourceUpdatedParams{URI: uri}})
	}
	for _, p := range s.logs {
		cp := *p // other sessions have the same
		notes = append(notes, note{mcp.NotificationMessage, &cp})
	}
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
				if err := ss.send(n); err != nil {
					ss.server.log.Debug("an event was not delivered", "method", n.method, "error", err)
				}
			}
		}
	}()
}

// send sends a notification that belongs to no request.
func (ss *session) send(n note) error {
	req, err := rpc.NewRequest(n.method, n.params)
	if err != nil {
		return err
	}
	return ss.conn.Notify(ss.ctx, req)
}

// ResourceUpdated tells those who watch a resource that it changed.
func (s *Server) ResourceUpdated(_ context.Context, uri string) error {
	s.hub.updated(uri)
	return nil
}

// subscribe is the handler of resources/subscribe.
func subscribe(ctx context.Context, c *Call, p *mcp.SubscribeParams) (any, error) {
	if p.URI == "" {
		return nil, mcp.InvalidParams("params.uri is required")
	}
	s := c.session.server
	added, ok := c.session.sub.watch(p.URI)
	if !ok {
		return nil, mcp.InvalidParams("too many subscriptions: unsubscribe from some of %d first", s.opts.Limits.Subscriptions)
	}
	if hook := s.opts.OnSubscribe; added && hook != nil {
		if err := hook(ctx, p.URI); err != nil {
			c.session.sub.unwatch(p.URI)
			return nil, err
		}
	}
	return &mcp.Result{}, nil
}

// unsubscribe is the handler of resources/unsubscribe.
func unsubscribe(ctx context.Context, c *Call, p *mcp.UnsubscribeParams) (any, error) {
	if p.URI == "" {
		return nil, mcp.InvalidParams("params.uri is required")
	}
	if c.session.sub.unwatch(p.URI) {
		c.session.server.unsubscribed(ctx, p.URI)
	}
	return &mcp.Result{}, nil
}

func (s *Server) unsubscribed(ctx context.Context, uris ...string) {
	if s.opts.OnUnsubscribe == nil {
		return
	}
	for _, uri := range uris {
		s.opts.OnUnsubscribe(ctx, uri)
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

	filter := honoured(p.Notifications, &s.features.Load().capabilities)
	watching, err := s.watchAll(ctx, filter.ResourceSubscriptions)
	defer func() { s.unsubscribed(context.WithoutCancel(ctx), watching...) }()
	if err != nil {
		return nil, err
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
	if err := c.event(ctx, note{mcp.NotificationAcknowledged, &mcp.AcknowledgedParams{Notifications: filter}}); err != nil {
		return nil, err
	}
	sub.release()
	return c.pump(ctx, sub, wake)
}

func (s *Server) watchAll(ctx context.Context, uris []string) (done []string, err error) {
	if s.opts.OnSubscribe == nil {
		return uris, nil
	}
	for i, uri := range uris {
		if err := s.opts.OnSubscribe(ctx, uri); err != nil {
			return uris[:i], err
		}
	}
	return uris, nil
}

// pump sends events until the stream is over.
func (c *Call) pump(ctx context.Context, sub *subscriber, wake <-chan struct{}) (any, error) {
	for last := false; ; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-wake:
		case <-c.session.server.hub.done:
			last = true
		}
		for notes := sub.take(); notes != nil; notes = sub.take() {
			for _, n := range notes {
				if err := c.event(ctx, n); err != nil {
					return nil, err
				}
			}
		}
		if last {
			return c.listened(ctx)
		}
	}
}

// event sends a notification of a subscription, which carries its ID.
func (c *Call) event(ctx context.Context, n note) error {
	p := n.params.CommonParams()
	if err := p.Meta.Set(mcp.MetaSubscriptionID, c.req.ID); err != nil {
		return err
	}
	return c.Notify(ctx, n.method, n.params)
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
