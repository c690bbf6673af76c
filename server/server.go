// Package server answers MCP requests.
//
// A [Server] holds what is offered: tools, resources, prompts. It has no
// connection of its own: it is an [rpc.Binder], and any transport serves it. One
// server speaks every revision at once. A request that carries the metadata of
// the modern era is answered by itself; any other belongs to the legacy session
// that initialize opened on its connection.
//
// A tool is a function:
//
//	type In struct {
//		City string `json:"city" jsonschema:"where"`
//	}
//	server.AddTool(s, mcp.Tool{Name: "weather"}, func(ctx context.Context, in In) (string, error) {
//		return forecast(in.City)
//	})
//
// What only some functions need hangs off [CallFrom]: progress, logging, and
// asking the client. See [Call.Elicit] for the contract of asking.
package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// Options are the settings of a server. The zero value, and nil, are good.
type Options struct {
	// Instructions tell a model how to use the server. "" = none.
	Instructions string
	// PageSize is how many items one page of a list has. 0 = 1000, negative =
	// all on one page.
	PageSize int
	// Logger hears of what goes wrong, never of what is in messages. Nil = the
	// one that the transport has, as tenon.WithLogger gives it; where there is
	// none either, errors and the stacks of panics go to [slog.Default].
	Logger *slog.Logger
	// Capabilities are declared beside those that follow from what is added:
	// extensions and experimental ones, and features that will be added later.
	Capabilities *mcp.ServerCapabilities
	// CacheTTL is how long clients may keep lists, the description of the
	// server, and resources that say nothing else. 0 = not at all.
	CacheTTL time.Duration
	// CacheScope says for whom. "" = private.
	CacheScope mcp.CacheScope
	// StateKeys seal what a request must remember while the client is asked.
	// The first seals, all open: to change keys, put a new one in front and
	// drop the last when StateTTL is over. Each has at least 16 random bytes.
	// Nil = a random key of this process, so that a retry must reach it.
	StateKeys [][]byte
	// StateTTL is how long the client, and the person before it, may take to
	// answer. 0 = one hour.
	StateTTL time.Duration
	// Principal says who sends a request, so that its state is of no use to
	// anybody else. Nil = everybody is the same.
	Principal func(ctx context.Context, req *rpc.Request) string
	// Complete proposes values for arguments of prompts and resource
	// templates. Nil = there are no completions.
	Complete func(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error)
	// OnInitialized and OnRootsChanged are called, in order, for each legacy
	// session. The Call has its client and can ask it. Nil = nothing is called.
	OnInitialized  func(ctx context.Context, c *Call)
	OnRootsChanged func(ctx context.Context, c *Call)
	// OnSubscribe and OnUnsubscribe are called when somebody begins and ends
	// to watch a resource, in both eras. An error of OnSubscribe refuses it.
	// They are called from several goroutines at once. Nil = everybody may.
	OnSubscribe   func(ctx context.Context, uri string) error
	OnUnsubscribe func(ctx context.Context, uri string)
	// Tasks lets tools run as tasks. Nil = there are no tasks, and tools that
	// support them are called like others.
	Tasks *TaskOptions
	// OneOf lists the types behind the interfaces that typed tools have in
	// their parameters and results; see [OneOf].
	OneOf []Alternatives
	// Limits bound what clients can make the server do.
	Limits Limits
}

// Server holds what is offered. All its methods may be called from several
// goroutines at once, also while it serves.
type Server struct {
	info     mcp.Implementation
	infoMeta mcp.Meta // info, as results have it
	toolHead []byte   // and as the results of tools begin with it
	opts     Options
	sealer   *sealer
	hub      *hub

	metas    metaCache
	forms    sync.Map // *typedForm by reflect.Type
	requests gate     // requests under way
	workers  gate     // goroutines that deliver notifications and run callbacks

	listeners quota  // subscriptions/listen requests under way
	tasks     *tasks // nil where there are none

	// Read without a lock; changed under mu.
	features atomic.Pointer[features]
	chain    atomic.Pointer[Handler]
	plain    atomic.Bool // there is no middleware

	mu         sync.Mutex
	middleware []Middleware
	sessions   map[*session]struct{}
	stopped    bool
}

// New returns a server that offers nothing yet. It panics when a setting makes
// no sense.
func New(info mcp.Implementation, opts *Options) *Server {
	s := &Server{info: info, sessions: map[*session]struct{}{}}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.Limits = s.opts.Limits.withDefaults()
	if s.opts.PageSize == 0 {
		s.opts.PageSize = defaultPageSize
	}
	if s.opts.StateTTL == 0 {
		s.opts.StateTTL = defaultStateTTL
	}
	if s.opts.CacheScope == "" {
		s.opts.CacheScope = mcp.CachePrivate
	}
	if s.opts.StateTTL < 0 || s.opts.CacheTTL < 0 {
		panic("server: StateTTL and CacheTTL must not be negative") //nolint:forbidigo // a mistake of the program
	}
	if c := s.opts.CacheScope; c != mcp.CachePrivate && c != mcp.CachePublic {
		panic("server: CacheScope must be private or public") //nolint:forbidigo // a mistake of the program
	}
	for _, a := range s.opts.OneOf {
		if err := a.list.Check(); err != nil {
			panic("server: " + err.Error()) //nolint:forbidigo // a mistake of the program
		}
	}
	var err error
	if s.sealer, err = newSealer(s.opts.StateKeys, s.opts.StateTTL, s.opts.Limits.StateBytes); err != nil {
		panic(err) //nolint:forbidigo // keys that are too short are a mistake of the program
	}
	if err = s.infoMeta.Set(mcp.MetaServerInfo, &info); err != nil {
		panic("server: info cannot be encoded: " + err.Error()) //nolint:forbidigo // a mistake of the program
	}
	if s.toolHead, err = headOf(s.infoMeta); err != nil {
		panic("server: info cannot be encoded: " + err.Error()) //nolint:forbidigo // a mistake of the program
	}
	s.hub = newHub(&s.workers)
	if s.opts.Tasks != nil {
		s.tasks = newTasks(s)
	}
	s.features.Store(newFeatures(s))
	s.buildChain()
	return s
}

// Bind implements [rpc.Binder]. After [Server.Shutdown] the handler refuses
// every request.
func (s *Server) Bind(ctx context.Context, conn rpc.Conn) rpc.Handler {
	ss := &session{server: s, conn: conn, ctx: ctx}
	ss.callbacks = serial{workers: &s.workers, max: s.opts.Limits.QueuedNotifications}
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		s.sessions[ss] = struct{}{}
	}
	s.mu.Unlock()
	if !stopped {
		context.AfterFunc(ctx, ss.end)
	}
	return ss
}

// errStopping answers requests that come after Shutdown.
var errStopping = rpc.Errorf(rpc.CodeInternalError, "the server is shutting down: connect again later")

// drainer is a connection that can tell when all responses are written. Where
// it cannot, its transport has a graceful end of its own.
type drainer interface {
	Drain(ctx context.Context) error
}

// Shutdown ends the server gracefully: new requests are refused, subscriptions
// end with their result, requests under way may finish. Then, or when ctx
// ends, all connections are closed. It returns ctx's error when something was
// still under way. It must not be called by a handler.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.requests.close()
	s.hub.close()
	var err error
	if s.tasks != nil { // who asks for their results is answered now
		err = s.tasks.stop(ctx)
	}
	err = errors.Join(err, s.requests.wait(ctx))
	s.workers.close()
	err = errors.Join(err, s.workers.wait(ctx))

	s.mu.Lock()
	open := make([]*session, 0, len(s.sessions))
	for ss := range s.sessions {
		open = append(open, ss)
	}
	s.mu.Unlock()
	for _, ss := range open {
		if d, ok := ss.conn.(drainer); ok {
			err = errors.Join(err, d.Drain(ctx))
		}
		if cerr := ss.conn.Close(); cerr != nil && !errors.Is(cerr, rpc.ErrClosed) {
			ss.log().Debug("closing a connection", "error", cerr)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, ss := range open {
			ss.end()
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return ctx.Err()
	}
	return nil
}
