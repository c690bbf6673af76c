// Package client calls MCP servers of every revision.
//
// [Connect] dials through any [rpc.Dialer] and finds out what the server
// speaks. From then on there is one spelling for all revisions: what a server
// asks while it works on a call is answered by the same functions in [Options],
// whether it sent a request (up to 2025-11-25) or left the call with
// input_required (since 2026-07-28).
//
// All methods of a [Client] may be called from several goroutines at once.
package client

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// Options says who the client is, what it can do for a server and what it
// wants to hear. The zero value, and nil, is a client that only calls. The
// functions are called from several goroutines at once, except for those that
// begin with On: these are called one after another, in the order in which the
// server sent what they tell. A function that calls the same Client back is
// fine; one that closes it makes Close wait until its limit.
type Options struct {
	// Info names the client. An empty name becomes "tenon".
	Info mcp.Implementation

	// Version is the one revision to speak; a server that does not have it is
	// an error. Empty means the newest that both ends have.
	Version mcp.Version
	// PriorVersion is what this server spoke the last time, if that is known.
	// It saves the probe of a server of the legacy era. It need not be true
	// any more.
	PriorVersion mcp.Version
	// ProbeTimeout is how long a server may be silent on server/discover
	// before it is taken for one of the legacy era. Zero means 5 s, negative
	// no limit.
	ProbeTimeout time.Duration

	// Timeout is how long a server may be silent on a request: progress and
	// questions of the server count as an answer. Zero means 1 minute,
	// negative no limit.
	Timeout time.Duration
	// MaxTimeout is how long a request may take whatever the server says.
	// Zero means 30 minutes, negative no limit.
	MaxTimeout time.Duration

	// Elicit asks the user. A nil result means that the user cancelled. An
	// error does too, in every revision: it stays on this side, with Logger.
	// Content that does not fit the form, and a panic, are not sent: the
	// server gets an internal error (legacy), or the operation that asked ends
	// with an [InputError] (modern). So it is with errors of Sample and Roots.
	Elicit func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// ElicitURL says that Elicit also takes the mode "url". It must show the
	// whole URL and have consent before it opens it. A server of 2025-11-25 may
	// refuse a call until the user has visited a URL: Elicit is asked, and the
	// call sent again when the user accepted. Where that is too early it is sent
	// once more when the server tells that the user is through, if it does so
	// within Timeout. See [URLElicitationError].
	ElicitURL bool
	// ElicitDefaults fills in the defaults of the schema where an accepted
	// form has no value.
	ElicitDefaults bool

	// Sample asks a language model for the server. A nil result means that the
	// user refused.
	Sample func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	// SampleTools says that Sample takes tools.
	SampleTools bool
	// ReviewSampleRequest shows a person what a server asks the model, before Sample
	// gets it, and ReviewSampleResult shows what the model said, before the server
	// gets it (spec: client/sampling, user interaction). They may change what
	// they get. An error refuses: [ErrRejected] tells the server that the user
	// said no, another is as one of Sample. Nil lets everything through.
	ReviewSampleRequest func(context.Context, *mcp.CreateMessageParams) error
	ReviewSampleResult  func(context.Context, *mcp.CreateMessageParams, *mcp.CreateMessageResult) error

	// Roots returns the directories that the server may work in, as file:// URIs
	// without "..": others are refused. Call
	// [Client.RootsChanged] when they change.
	Roots func(context.Context) ([]mcp.Root, error)

	// Capabilities are declared beside those that follow from the functions
	// above: experimental ones and extensions.
	Capabilities *mcp.ClientCapabilities

	// Tasks says that calls of tools may become tasks, which CallTool then waits
	// for, as long as its context lasts, and [Client.StartTool] returns: the extension
	// io.modelcontextprotocol/tasks is declared, and to a server of 2025-11-25
	// that its questions may be tasks here.
	Tasks bool

	// LogLevel asks for log messages from this level on. Empty means that
	// nothing is asked for: a modern server then sends none.
	LogLevel mcp.LoggingLevel
	// OnLog gets the log messages of the server.
	OnLog func(context.Context, *mcp.LogParams)
	// OnProgress is asked for with every request that has no function of its
	// own (see the call option of this name), and is called as that one is.
	OnProgress func(mcp.ProgressParams)
	// OnToolsChanged, OnPromptsChanged and OnResourcesChanged tell that a list
	// is not what it was, while there is a [Subscription] of that. Changes that
	// come close together are told once.
	OnToolsChanged     func(context.Context)
	OnPromptsChanged   func(context.Context)
	OnResourcesChanged func(context.Context)
	// OnResourceUpdated tells that a resource of a subscription, or a part of
	// it, changed.
	OnResourceUpdated func(ctx context.Context, uri string)
	// OnNotification gets the notifications that have no function here, or a
	// function that is nil.
	OnNotification func(ctx context.Context, method string, params jsontext.Value)

	// Output says what happens when structured content breaks a tool's output
	// schema. Zero is WarnOutput.
	Output OutputCheck
	// OneOf lists the types behind the interfaces that results of [CallTool]
	// have; see the function of this name.
	OneOf []Alternatives
	// AuthKey names the authorization that requests are sent with, where that
	// changes during the life of the client. Results that are private to one
	// are not served from the cache to another. Nil means that it is one.
	AuthKey func() string

	// Logger gets what goes wrong without an error to return it with. It gets
	// no payload. Nil discards.
	Logger *slog.Logger
	// Limits bounds what a server can make the client spend.
	Limits Limits
}

// A Client is a connection to one server.
type Client struct {
	opts         Options
	limits       timeLimits
	probeTimeout time.Duration
	log          *slog.Logger
	infoJSON     []byte
	start        time.Time // see now
	cache        *cache
	tools        *toolBook
	codecs       codecs
	handlers     chan struct{} // room for Limits.Handlers

	conn     atomic.Pointer[rpc.Conn]
	session  atomic.Pointer[session]
	logLevel atomic.Pointer[mcp.LoggingLevel] // modern: asked for with every request
	ids      rpc.Sequence
	flights  sync.Map // progress token to *flight
	watch    *watch

	// How many requests of the server are being answered, and when the last
	// one was, on the clock of the client.
	answering, answered atomic.Int64

	middleware sync.Mutex // guards wraps
	wraps      []Middleware
	chain      atomic.Pointer[Handler]

	subs   subscriptions
	visits visits
	queue  *queue // of callbacks

	// The life of the client.
	ctx     context.Context //nolint:containedctx // ends with the client: callbacks get it
	stop    context.CancelFunc
	held    heldTasks     // questions of the server
	cancels chan struct{} // room for cancelsAtOnce
	mu      sync.Mutex
	closed  bool           // guarded by mu; nothing is added to the groups after it
	wg      sync.WaitGroup // goroutines
	byes    sync.WaitGroup // cancellations under way
	end     sync.Once
	ended   error

	over sync.Once
	done chan struct{}
	why  error // set before done is closed
}

func newClient(opts *Options) *Client {
	c := &Client{start: time.Now(), done: make(chan struct{})}
	if opts != nil {
		c.opts = *opts
	}
	o := &c.opts
	o.Limits = o.Limits.withDefaults()
	if o.Info.Name == "" {
		o.Info.Name = "tenon"
	}
	if c.log = o.Logger; c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.limits = timeLimits{idle: orDefault(o.Timeout, defaultTimeout), total: orDefault(o.MaxTimeout, defaultMaxTimeout)}
	c.probeTimeout = orDefault(o.ProbeTimeout, defaultProbeTimeout)
	c.infoJSON = c.mustEncode(o.Info)
	c.cache = newCache(o.Limits)
	c.tools = newToolBook(o.Limits)
	c.codecs.set(o.OneOf)
	c.handlers = make(chan struct{}, o.Limits.Handlers)
	c.cancels = make(chan struct{}, cancelsAtOnce)
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.watch = newWatch(c)
	send := Handler(c.send)
	c.chain.Store(&send)
	c.subs.init()
	c.queue = newQueue(o.Limits.Queue)
	c.spawn(func() { c.queue.run(c.ctx, c.log) })
	return c
}

// mustEncode encodes what the caller said about itself. What cannot be
// encoded is left out, and logged.
func (c *Client) mustEncode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		c.log.Error("client: options that cannot be sent", "error", err)
		return []byte("{}")
	}
	return b
}

func (c *Client) connection() rpc.Conn { return *c.conn.Load() }

// Version returns the revision that is spoken.
func (c *Client) Version() mcp.Version { return c.session.Load().rev.Version }

// ServerInfo returns what the server says it is. It is not to be trusted. A
// modern server need not say.
func (c *Client) ServerInfo() mcp.Implementation { return c.session.Load().server }

// ServerCapabilities returns what the server declared.
func (c *Client) ServerCapabilities() mcp.ServerCapabilities { return c.session.Load().caps }

// Instructions returns how the server says it wants to be used; a host may
// give that to the model.
func (c *Client) Instructions() string { return c.session.Load().instructions }

// Request sends a request of a method that this package does not know, and
// decodes the result into result, a pointer or nil. It passes through all that
// the known methods pass through: middleware, time limits, progress,
// cancellation.
func (c *Client) Request(ctx context.Context, method string, params, result any, opts ...CallOption) error {
	return c.do(ctx, method, params, result, opts)
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	s := c.session.Load()
	row, _ := mcp.MethodByName(method)
	if err := s.has(&row); err != nil {
		return err
	}
	req, err := rpc.NewRequest(method, params)
	if err != nil {
		return err
	}
	req.Header = s.header
	return c.connection().Notify(ctx, req)
}

// Ping asks whether the server is there. The modern era has no ping: the error
// matches [errors.ErrUnsupported].
func (c *Client) Ping(ctx context.Context, opts ...CallOption) error {
	return c.do(ctx, mcp.MethodPing, nil, nil, opts)
}

// Close ends the connection: calls under way return [rpc.ErrClosed], contexts
// of callbacks end. It waits for the goroutines of the client, callbacks
// included, but at most 10 s, and returns an error if some are left. It may be
// called more than once.
func (c *Client) Close() error {
	c.end.Do(func() { c.ended = c.shutDown() })
	return c.ended
}

func (c *Client) shutDown() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	waitAtMost(c.byes.Wait, goodbyeWait)
	c.stop()
	defer c.watch.timer.Stop()
	c.subs.endAll(rpc.ErrClosed)
	var err error
	done := waitAtMost(func() {
		if conn := c.conn.Load(); conn != nil {
			err = (*conn).Close()
		}
		c.wg.Wait()
		c.byes.Wait()
	}, closeWait)
	c.finish(nil)
	if !done {
		return errStuck
	}
	return err
}

// Done is closed when the connection has ended: by Close, or by the other end
// where the transport is one lasting connection, such as that to a child
// process. Over HTTP each call shows whether the server is there.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended: nil before its end and after Close,
// and else an error that matches [rpc.ErrClosed]. That of a child process is a
// *stdio.ExitError.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.why
	default:
		return nil
	}
}

func (c *Client) finish(why error) {
	c.over.Do(func() {
		c.why = why
		close(c.done)
	})
}

// watchEnd waits for a connection that can end by itself.
func (c *Client) watchEnd() {
	conn, ok := c.connection().(interface {
		Done() <-chan struct{}
		Err() error
	})
	if !ok {
		return
	}
	c.spawn(func() {
		select {
		case <-c.ctx.Done():
			return
		case <-conn.Done():
		}
		err := conn.Err()
		if !errors.Is(err, rpc.ErrClosed) {
			err = errors.Join(rpc.ErrClosed, err)
		}
		if c.ctx.Err() == nil {
			c.finish(err)
			c.subs.endAll(err)
		}
	})
}

// waitAtMost runs wait and reports whether it returned in time. Where it did
// not, its goroutine stays until it does.
func waitAtMost(wait func(), limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// spawn runs fn on a goroutine that Close waits for. After Close it does
// nothing and returns false.
func (c *Client) spawn(fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(fn)
	return true
}

// sendCancelled tells the server that nobody waits for req any more. The
// caller does not wait for this: the server may not be reading.
func (c *Client) sendCancelled(req *rpc.Request, reason string) {
	n, err := rpc.NewRequest(mcp.NotificationCancelled, &mcp.CancelledParams{RequestID: req.ID, Reason: reason})
	if err != nil {
		return
	}
	n.Header = c.session.Load().header
	c.goodbye(func(ctx context.Context) error { return c.connection().Notify(ctx, n) })
}

// goodbye tells the server, for a while and in the background, that something is
// not wanted any more.
func (c *Client) goodbye(tell func(ctx context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	select {
	case c.cancels <- struct{}{}:
	default:
		c.log.Debug("client: too many cancellations at once, one is not sent")
		return
	}
	c.byes.Go(func() {
		defer func() { <-c.cancels }()
		ctx, cancel := context.WithTimeout(c.ctx, cancelWait)
		defer cancel()
		if err := tell(ctx); err != nil {
			c.log.Debug("client: cancellation not sent", "error", err)
		}
	})
}
