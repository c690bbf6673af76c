package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A Subscription keeps a server telling what changes. What it tells goes to
// the functions in [Options]: OnToolsChanged and its like, OnResourceUpdated,
// which are called for what there is a subscription of, in every revision.
type Subscription struct {
	c      *Client
	id     rpc.ID // modern: of the request that listens
	closer func() error

	acked chan struct{} // closed when the server agreed
	done  chan struct{}

	mu     sync.Mutex
	filter mcp.Filter
	agreed bool
	ended  bool
	err    error
}

// Subscribe asks the server to tell of the changes in f, and returns when it
// agreed. What it agreed to, [Subscription.Filter], may be less. A change
// before that is not told: list again after Subscribe. Subscribe the same
// again when the subscription ended and nobody closed it.
//
// ctx bounds the asking, not the life of the subscription.
func (c *Client) Subscribe(ctx context.Context, f mcp.Filter) (*Subscription, error) {
	return c.session.Load().era.subscribe(ctx, c, f)
}

// Filter returns what the server agreed to tell.
func (s *Subscription) Filter() mcp.Filter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filter
}

// Done is closed when the subscription has ended, whoever ended it.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Err returns why the subscription ended: nil where it was closed, or the
// server brought it to an orderly end, or it has not ended.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() error {
	if !s.end(nil) {
		return nil
	}
	return s.closer()
}

// end reports whether it was this that ended the subscription.
func (s *Subscription) end(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended, s.err = true, err
	s.c.subs.remove(s)
	close(s.done)
	return true
}

func (s *Subscription) agree(f mcp.Filter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agreed {
		return
	}
	s.agreed, s.filter = true, f
	close(s.acked)
}

func (s *Subscription) isAcknowledged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agreed
}

func newSubscription(c *Client) *Subscription {
	return &Subscription{c: c, acked: make(chan struct{}), done: make(chan struct{})}
}

// subscriptions are those that have not ended.
type subscriptions struct {
	mu   sync.Mutex
	all  map[*Subscription]struct{}
	byID map[rpc.ID]*Subscription // modern

	// Legacy: how many subscriptions there are of each URI. It is used by one
	// goroutine at a time, the one that put its token into turn.
	turn chan struct{}
	uris map[string]int
}

func (s *subscriptions) init() {
	s.all = make(map[*Subscription]struct{})
	s.byID = make(map[rpc.ID]*Subscription)
	s.turn = make(chan struct{}, 1)
	s.uris = make(map[string]int)
}

func (s *subscriptions) add(sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[sub] = struct{}{}
	if !sub.id.IsZero() {
		s.byID[sub.id] = sub
	}
}

func (s *subscriptions) remove(sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sub)
	delete(s.byID, sub.id)
}

// cover reports whether there is a subscription that covers something.
func (s *subscriptions) cover(covers func(*mcp.Filter) bool) bool {
	return slices.ContainsFunc(s.list(), func(sub *Subscription) bool {
		f := sub.Filter()
		return covers(&f)
	})
}

// list returns those there are. The lock is not held when they are locked.
func (s *subscriptions) list() []*Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

// endAll ends what is left when the client is closed.
func (s *subscriptions) endAll(err error) {
	for _, sub := range s.list() {
		sub.end(err)
	}
}

func (c *Client) subscription(id rpc.ID) *Subscription {
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	return c.subs.byID[id]
}

// acknowledged handles notifications/subscriptions/acknowledged. What changed
// before it was not told, so what is in the cache is not known to be true.
func (c *Client) acknowledged(req *rpc.Request) {
	var p mcp.AcknowledgedParams
	if err := json.Unmarshal(req.Params, &p); err != nil {
		c.log.Warn("client: notification that cannot be read", "method", req.Method, "error", err)
		return
	}
	sub := c.subscription(p.Meta.SubscriptionID())
	if sub == nil {
		return
	}
	c.forget(p.Notifications)
	sub.agree(p.Notifications)
}

func (c *Client) forget(f mcp.Filter) {
	if f.ToolsListChanged {
		c.cache.drop(mcp.MethodToolsList)
	}
	if f.PromptsListChanged {
		c.cache.drop(mcp.MethodPromptsList)
	}
	if f.ResourcesListChanged {
		c.cache.drop(mcp.MethodResourcesList, mcp.MethodResourceTemplatesList)
	}
	for _, uri := range f.ResourceSubscriptions {
		c.cache.dropRead(mcp.MethodResourcesRead, uri)
	}
}

// subscribe opens a stream of its own, which lives as long as the request.
func (modern) subscribe(ctx context.Context, c *Client, f mcp.Filter) (*Subscription, error) { //nolint:contextcheck // ctx is for the asking only
	s := c.session.Load()
	call := &Call{Method: mcp.MethodListen}
	b, err := encodeParams(&mcp.ListenParams{Notifications: f}, nil, false)
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", call.Method, err)
	}
	req, err := rpc.NewRequest(call.Method, &sent{body: b, stamp: s.identity})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	req.ID, req.Header = c.ids.Next(), s.header
	sub := newSubscription(c)
	sub.id = req.ID
	lctx, cancel := context.WithCancel(c.ctx)
	sub.closer = func() error { //nolint:contextcheck // it outlives ctx
		c.sendCancelled(req, "unsubscribed")
		cancel()
		return nil
	}
	c.subs.add(sub)
	started := c.spawn(func() {
		defer cancel()
		err := c.connection().Call(lctx, req, &answer{call: call, modern: true})
		if c.ctx.Err() != nil {
			err = rpc.ErrClosed
		}
		sub.end(err)
	})
	if !started {
		cancel()
		sub.end(rpc.ErrClosed)
		return nil, rpc.ErrClosed
	}
	if err := sub.wait(ctx, c.limits.idle); err != nil {
		return nil, err
	}
	return sub, nil
}

// wait returns when the server agreed, or will not.
func (s *Subscription) wait(ctx context.Context, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &TimeoutError{Method: mcp.MethodListen, After: limit})
		defer cancel()
	}
	select {
	case <-s.acked:
		return nil
	case <-s.done:
		if s.isAcknowledged() {
			return nil
		}
		if err := s.Err(); err != nil {
			return err
		}
		return errors.New("client: the server ended the subscription before it agreed to it")
	case <-ctx.Done():
		if err := s.Close(); err != nil {
			s.c.log.Debug("client: close of a subscription", "error", err)
		}
		return context.Cause(ctx)
	}
}

// subscribe asks for each resource. Changes of lists need no asking in this
// era: a server that declared them sends them to all.
func (l legacy) subscribe(ctx context.Context, c *Client, f mcp.Filter) (*Subscription, error) {
	s := c.session.Load()
	honoured := mcp.Filter{
		ToolsListChanged:     f.ToolsListChanged && s.caps.Tools != nil && s.caps.Tools.ListChanged,
		PromptsListChanged:   f.PromptsListChanged && s.caps.Prompts != nil && s.caps.Prompts.ListChanged,
		ResourcesListChanged: f.ResourcesListChanged && s.caps.Resources != nil && s.caps.Resources.ListChanged,
	}
	if s.caps.Resources != nil && s.caps.Resources.Subscribe {
		honoured.ResourceSubscriptions = f.ResourceSubscriptions
	}
	sub := newSubscription(c)
	sub.closer = func() error { //nolint:contextcheck // it outlives ctx
		ctx, cancel := context.WithTimeout(c.ctx, unsubscribeWait)
		defer cancel()
		return l.unsubscribeAll(ctx, c, honoured.ResourceSubscriptions)
	}
	// Before it asks: what the server tells right behind its answer is heard.
	sub.agree(honoured)
	c.subs.add(sub)
	if err := l.subscribeAll(ctx, c, honoured.ResourceSubscriptions); err != nil {
		sub.end(err)
		return nil, err
	}
	if c.ctx.Err() != nil { // Close may have missed it
		sub.end(rpc.ErrClosed)
		return nil, rpc.ErrClosed
	}
	c.forget(honoured)
	return sub, nil
}

// subscribeAll subscribes to all or to none.
func (l legacy) subscribeAll(ctx context.Context, c *Client, uris []string) error {
	if len(uris) == 0 {
		return nil
	}
	release, err := c.subs.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer release()
	for i, uri := range uris {
		if c.subs.uris[uri] == 0 {
			err = c.do(ctx, mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: uri}, nil, nil)
		}
		if err != nil {
			uctx, cancel := context.WithTimeout(c.ctx, unsubscribeWait)
			defer cancel()
			return errors.Join(err, l.drop(uctx, c, uris[:i])) //nolint:contextcheck // ctx may have ended
		}
		c.subs.uris[uri]++
	}
	return nil
}

func (l legacy) unsubscribeAll(ctx context.Context, c *Client, uris []string) error {
	if len(uris) == 0 || c.ctx.Err() != nil {
		return nil
	}
	release, err := c.subs.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer release()
	return l.drop(ctx, c, uris)
}

// drop unsubscribes from what nobody else is subscribed to. The turn is taken.
func (legacy) drop(ctx context.Context, c *Client, uris []string) error {
	var errs []error
	for _, uri := range uris {
		if c.subs.uris[uri]--; c.subs.uris[uri] > 0 {
			continue
		}
		delete(c.subs.uris, uri)
		errs = append(errs, c.do(ctx, mcp.MethodResourcesUnsubscribe, &mcp.UnsubscribeParams{URI: uri}, nil, nil))
	}
	return errors.Join(errs...)
}

func (s *subscriptions) takeTurn(ctx context.Context) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
