package client

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// inbound is the [rpc.Handler] of what the server starts.
type inbound struct{ c *Client }

// Handle is called by the goroutine that reads, for notifications.
func (in inbound) Handle(ctx context.Context, req *rpc.Request, _ rpc.Peer) (any, error) {
	if req.ID.IsZero() {
		in.c.told(ctx, req)
		return nil, nil
	}
	s := in.c.session.Load()
	if s != nil {
		if err := s.era.asked(in.c, req); err != nil {
			return nil, err
		}
	}
	in.c.answering.Add(1)
	defer func() {
		in.c.answered.Store(int64(in.c.now()))
		in.c.answering.Add(-1)
	}()
	res, err := in.c.reply(ctx, s, req)
	if _, told := asWire(err); err != nil && !told && ctx.Err() == nil {
		in.c.log.Warn("client: the server asked and got an internal error", "method", req.Method, "error", err)
	}
	if s := in.c.session.Load(); s != nil && err == nil { // it may be another by now
		res = mcp.Downgrade(s.rev.Version, res)
	}
	return res, err
}

// told handles a notification. What the user's functions are told goes through
// the queue; the rest is done at once, so that it is true when the next
// message is read.
func (c *Client) told(ctx context.Context, req *rpc.Request) {
	switch req.Method {
	case mcp.NotificationProgress:
		c.progressed(ctx, req.Params)
	case mcp.NotificationCancelled:
		var p mcp.CancelledParams
		if s := c.session.Load(); s != nil && json.Unmarshal(req.Params, &p) == nil && !p.RequestID.IsZero() {
			s.era.cancelled(c, p.RequestID, p.Reason)
		}
	case mcp.NotificationElicitationComplete:
		var p mcp.ElicitationCompleteParams
		if json.Unmarshal(req.Params, &p) == nil {
			c.visits.complete(p.ElicitationID)
		}
		c.otherwise(ctx, req)
	case mcp.NotificationAcknowledged:
		c.acknowledged(req)
	case mcp.NotificationToolsListChanged:
		c.cache.drop(mcp.MethodToolsList)
		c.changed(ctx, req, c.opts.OnToolsChanged, &c.queue.tools, func(f *mcp.Filter) bool { return f.ToolsListChanged })
	case mcp.NotificationPromptsListChanged:
		c.cache.drop(mcp.MethodPromptsList)
		c.changed(ctx, req, c.opts.OnPromptsChanged, &c.queue.prompts, func(f *mcp.Filter) bool { return f.PromptsListChanged })
	case mcp.NotificationResourcesListChanged:
		c.cache.drop(mcp.MethodResourcesList, mcp.MethodResourceTemplatesList)
		c.changed(ctx, req, c.opts.OnResourcesChanged, &c.queue.resources, func(f *mcp.Filter) bool { return f.ResourcesListChanged })
	case mcp.NotificationResourceUpdated:
		c.resourceUpdated(ctx, req)
	case mcp.NotificationMessage:
		c.logged(ctx, req)
	default:
		c.otherwise(ctx, req)
	}
}

// otherwise hands over a notification that no function is for.
func (c *Client) otherwise(ctx context.Context, req *rpc.Request) {
	if fn := c.opts.OnNotification; fn != nil {
		c.queue.push(ctx, func(ctx context.Context) { fn(ctx, req.Method, req.Params) })
	}
}

// changed tells that a list changed. A telling that still waits tells of this
// change too.
func (c *Client) changed(
	ctx context.Context, req *rpc.Request, fn func(context.Context), waiting *atomic.Bool, covers func(*mcp.Filter) bool,
) {
	if !c.heard(req, covers) {
		return
	}
	if fn == nil {
		c.otherwise(ctx, req)
		return
	}
	if waiting.Swap(true) {
		return
	}
	c.queue.push(ctx, func(ctx context.Context) {
		waiting.Store(false)
		fn(ctx)
	})
}

func (c *Client) resourceUpdated(ctx context.Context, req *rpc.Request) {
	var p mcp.ResourceUpdatedParams
	if err := json.Unmarshal(req.Params, &p); err != nil {
		c.log.Warn("client: notification that cannot be read", "method", req.Method, "error", err)
		return
	}
	c.cache.dropRead(mcp.MethodResourcesRead, p.URI)
	// Not by the URI: what is told may be of a part of what was subscribed to.
	if !c.heard(req, func(f *mcp.Filter) bool { return len(f.ResourceSubscriptions) > 0 }) {
		return
	}
	fn := c.opts.OnResourceUpdated
	if fn == nil {
		c.otherwise(ctx, req)
		return
	}
	c.queue.push(ctx, func(ctx context.Context) { fn(ctx, p.URI) })
}

func (c *Client) logged(ctx context.Context, req *rpc.Request) {
	fn := c.opts.OnLog
	if fn == nil {
		c.otherwise(ctx, req)
		return
	}
	p := new(mcp.LogParams)
	if err := json.Unmarshal(req.Params, p); err != nil {
		c.log.Warn("client: notification that cannot be read", "method", req.Method, "error", err)
		return
	}
	c.queue.push(ctx, func(ctx context.Context) { fn(ctx, p) })
}

// heard reports whether a change is news for this client.
func (c *Client) heard(req *rpc.Request, covers func(*mcp.Filter) bool) bool {
	s := c.session.Load()
	if s == nil {
		return false
	}
	var p struct {
		Meta mcp.Meta `json:"_meta"`
	}
	if len(req.Params) > 0 && json.Unmarshal(req.Params, &p) != nil {
		return false
	}
	if s.era.hears(c, p.Meta, covers) {
		return true
	}
	c.log.Debug("client: a change that was not subscribed to", "method", req.Method)
	return false
}

// queue runs callbacks one after another, on one goroutine. A server cannot
// fill the memory, and nothing is lost: the reader waits when it is full.
type queue struct {
	*fifo[func(context.Context)]

	// Set while the telling of a change waits.
	tools, prompts, resources atomic.Bool
}

func newQueue(limit int) *queue { return &queue{fifo: newFIFO[func(context.Context)](limit)} }

// run ends with ctx; what waits then is dropped.
func (q *queue) run(ctx context.Context, log *slog.Logger) {
	defer close(q.over)
	for {
		select {
		case <-q.ready:
		case <-ctx.Done():
			return
		}
		for _, fn := range q.take() {
			if ctx.Err() != nil {
				return
			}
			runContained(ctx, log, fn)
		}
	}
}

func runContained(ctx context.Context, log *slog.Logger, fn func(context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("client: a callback panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	fn(ctx)
}
