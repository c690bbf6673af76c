package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// Log sends a log message to the client on the stream of this request, if the
// client wants messages of this level. data is anything that is encoded as
// JSON; it must not hold secrets.
func (c *Call) Log(ctx context.Context, level mcp.LoggingLevel, data any) error {
	if c.era == nil || !c.era.wantsLog(c, level) {
		return nil
	}
	p, err := logParams(level, "", data)
	if err != nil {
		return err
	}
	return c.Notify(ctx, mcp.NotificationMessage, p)
}

func logParams(level mcp.LoggingLevel, logger string, data any) (*mcp.LogParams, error) {
	if !level.Valid() {
		return nil, fmt.Errorf("server: unknown log level %q", level)
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("server: encode log message: %w", err)
	}
	return &mcp.LogParams{Level: level, Logger: logger, Data: raw}, nil
}

// Logger logs to the client, on the stream of this request, what the client
// wants to hear, and to the Logger of the server (see [Options]). Outside a request it
// discards everything.
func (c *Call) Logger() *slog.Logger {
	if c.era == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewMultiHandler(&logHandler{call: c}, c.session.log().Handler()))
}

// logger is for what belongs to no connection.
func (s *Server) logger() *slog.Logger {
	if s.opts.Logger != nil {
		return s.opts.Logger
	}
	return slog.New(errorsOnly{slog.Default().Handler()})
}

// loggerOf is for code that may be run without a connection.
func (s *Server) loggerOf(ctx context.Context) *slog.Logger {
	if ss := CallFrom(ctx).session; ss != nil {
		return ss.log()
	}
	return s.logger()
}

// log is the server's logger, or else that of the transport.
func (ss *session) log() *slog.Logger {
	if ss.server.opts.Logger == nil {
		if conn, ok := ss.conn.(interface{ Logger() *slog.Logger }); ok && conn.Logger() != nil {
			return conn.Logger()
		}
	}
	return ss.server.logger()
}

// errorsOnly lets errors through. A panic without a trace costs its author hours.
type errorsOnly struct{ slog.Handler }

func (h errorsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}

func (h errorsOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return errorsOnly{h.Handler.WithAttrs(attrs)}
}

func (h errorsOnly) WithGroup(name string) slog.Handler { return errorsOnly{h.Handler.WithGroup(name)} }

// Log sends a log message to every legacy session whose client wants messages
// of this level. Modern clients hear only of their own requests. A session
// that is slow to take messages loses the oldest.
func (s *Server) Log(_ context.Context, level mcp.LoggingLevel, logger string, data any) error {
	p, err := logParams(level, logger, data)
	if err != nil {
		return err
	}
	n, err := newNote(mcp.NotificationMessage, p)
	if err != nil {
		return fmt.Errorf("server: encode log message: %w", err)
	}
	s.mu.Lock()
	subs := make([]*subscriber, 0, len(s.sessions))
	for ss := range s.sessions {
		ss.mu.Lock()
		if ss.sub != nil && ss.level.Covers(level) {
			subs = append(subs, ss.sub)
		}
		ss.mu.Unlock()
	}
	s.mu.Unlock()
	for _, sub := range subs {
		sub.log(n)
	}
	return nil
}

// setLevel is the handler of logging/setLevel.
func setLevel(_ context.Context, c *Call, p *mcp.SetLevelParams) (any, error) {
	if !p.Level.Valid() {
		return nil, mcp.InvalidParams("unknown log level %q", capped(string(p.Level)))
	}
	c.session.mu.Lock()
	c.session.level = p.Level
	c.session.mu.Unlock()
	return &mcp.Result{}, nil
}

// logHandler is a [slog.Handler] that sends records as notifications. Groups
// and attributes are kept as steps, to be done again for each record.
type logHandler struct {
	call  *Call
	steps []func(slog.Handler) slog.Handler
}

func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.call.era.wantsLog(h.call, mcp.LevelOf(level))
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	var buf bytes.Buffer
	var out slog.Handler = slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: r.Level, ReplaceAttr: onlyMessage})
	for _, step := range h.steps {
		out = step(out)
	}
	if err := out.Handle(ctx, r); err != nil {
		return err
	}
	return h.call.Log(ctx, mcp.LevelOf(r.Level), jsontext.Value(bytes.TrimSpace(buf.Bytes())))
}

// onlyMessage drops what the notification says by itself.
func onlyMessage(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

func (h *logHandler) with(step func(slog.Handler) slog.Handler) slog.Handler {
	steps := append(slices.Clip(h.steps), step)
	return &logHandler{call: h.call, steps: steps}
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func(o slog.Handler) slog.Handler { return o.WithAttrs(attrs) })
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.with(func(o slog.Handler) slog.Handler { return o.WithGroup(name) })
}
