package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

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
				if err := ss.conn.Notify(ss.ctx, n.req); err != nil {
					ss.log().Debug("an event was not delivered", "method", n.req.Method, "error", err)
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
	if s.hub.watch(sub, p.URI) {
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
	if c.session.server.hub.unwatch(c.session.sub, p.URI) {
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
	if over(len(p.Notifications.TaskIDs), s.opts.Limits.Subscriptions) {
		return nil, mcp.InvalidParams("params.notifications.taskIds has more than %d IDs", s.opts.Limits.Subscriptions)
	}
	filter := honoured(p.Notifications, &s.features.Load().capabilities)
	var err error
	if filter.TaskIDs, err = s.tasks.listened(ctx, c, p.Notifications.TaskIDs); err != nil {
		return nil, err
	}
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
	sub := newSubscriber(filter, s.opts.Limits)
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
	return c.peer.Notify(ctx, n.of(c.req.ID))
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
