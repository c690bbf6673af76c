// Package stdio carries messages over the standard streams of a process, one a
// line: [Serve] in the server, [Command] in the client that starts it.
package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// Options configure [Serve]. Nil means the zero value.
type Options struct {
	// In and Out replace stdin and stdout, which are then left alone. Both or
	// none are set. Serve closes them; closing In must make a Read return.
	In  io.ReadCloser
	Out io.WriteCloser

	// Logger gets what goes wrong, without payload. Nil discards. It must not
	// write to stdout.
	Logger *slog.Logger
	// Tap, if not nil, sees every message.
	Tap rpc.Tap
	// Limits; the zero value has the defaults. Only RPC and Drain matter here.
	Limits Limits
}

// stopGrace is how long Serve waits for handlers that ignore the end of their
// context. The process ends next, which no client should have to wait for.
const stopGrace = time.Second

// Serve serves one client on the standard streams of this process. It returns
// nil when the client has closed stdin, after the requests in flight were
// answered (spec: lifecycle, shutdown), or went away; ctx's error promptly when
// ctx ends; and else what went wrong.
//
// It takes stdin and stdout over for good: from now on stdin is empty, and what
// anything in this process or its children prints to stdout goes to stderr, so
// that no stray print can corrupt the messages. Call it once a process.
func Serve(ctx context.Context, b rpc.Binder, opts *Options) error {
	var o Options
	if opts != nil {
		o = *opts
	}
	if (o.In == nil) != (o.Out == nil) {
		return errors.New("stdio: set both Options.In and Options.Out, or none")
	}
	var w io.Writer = o.Out
	if o.In == nil {
		in, out, err := takeover()
		if err != nil {
			return err
		}
		o.In, o.Out, w = in, out, unwaiting(out.File)
	}
	limits := o.Limits.withDefaults()
	d := rpc.NewDuplex(ctx, rpc.NewLineStream(o.In, w, &standard{o.In, o.Out}, limits.RPC), b, &rpc.DuplexOptions{
		Limits: limits.RPC, Logger: o.Logger, Tap: o.Tap, Drain: limits.Drain, Grace: stopGrace,
	})
	select {
	case <-d.Done():
	case <-ctx.Done():
		if err := d.Close(); err != nil && o.Logger != nil {
			o.Logger.Warn("stdio: not all handlers have ended", "error", err)
		}
		return ctx.Err()
	}
	if err := d.Err(); err != nil && !gone(err) {
		return err
	}
	return nil
}

// gone reports whether err says that the client does not read any more, which
// is one way to say goodbye.
func gone(err error) bool {
	return errors.Is(err, rpc.ErrClosed) || brokenPipe(err)
}

// standard closes both streams.
type standard struct {
	in  io.Closer
	out io.Closer
}

func (s *standard) Close() error { return errors.Join(s.in.Close(), s.out.Close()) }
