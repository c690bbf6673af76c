package tenon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// AddrVariable is the environment variable that makes [Serve] listen on HTTP.
const AddrVariable = "MCP_HTTP_ADDR"

// EndpointPath is where [Serve] puts the endpoint.
const EndpointPath = "/mcp"

// shutdownWait is how long requests in flight may take once Serve is told to
// end. Whoever told it waits, too, and supervisors kill after ten seconds.
const shutdownWait = 5 * time.Second

// headerWait bounds what a client may take to send its request's headers.
const headerWait = 10 * time.Second

// A ServeOption changes what [Serve] does.
type ServeOption func(*serving)

type serving struct {
	addr     string
	listener net.Listener
	forced   bool
	noFlag   bool
	http     *streamhttp.Options
	logger   *slog.Logger
	status   io.Writer
}

// OverStdio serves stdin and stdout, whatever flags and environment say.
func OverStdio() ServeOption { return func(s *serving) { s.addr, s.forced = "", true } }

// OverHTTP serves HTTP on a TCP address, whatever flags and environment say.
func OverHTTP(addr string) ServeOption { return func(s *serving) { s.addr, s.forced = addr, true } }

// OnListener serves HTTP on l, which Serve closes, whatever flags and
// environment say.
func OnListener(l net.Listener) ServeOption {
	return func(s *serving) { s.listener, s.forced = l, true }
}

// WithoutFlag leaves the command line to the program, which may have a flag
// -http of its own. The environment still counts.
func WithoutFlag() ServeOption { return func(s *serving) { s.noFlag = true } }

// WithHTTP sets the options of HTTP.
func WithHTTP(o *streamhttp.Options) ServeOption { return func(s *serving) { s.http = o } }

// WithLogger hears what an operator should know, and what a server without a
// Logger of its own has to say. The default discards, but for errors of that
// server, such as panics of its tools: they go to [slog.Default].
func WithLogger(l *slog.Logger) ServeOption { return func(s *serving) { s.logger = l } }

// Serve serves srv until ctx ends, the process gets SIGINT or SIGTERM, or, on
// stdio, stdin ends. Then requests in flight have five seconds to finish, and
// it returns nil, or the error that made it fail.
//
// It serves stdin and stdout, and takes them over (see [stdio.Serve]), unless
// the command line has -http ADDR (or --http, or -http=ADDR) or the environment
// has MCP_HTTP_ADDR: then it serves Streamable HTTP and HTTP+SSE of every
// revision at /mcp on that address and says so on stderr. The flag wins over
// the environment. An address like ":8080" is open to the network; a server
// without authorization belongs on "127.0.0.1:8080".
//
// Serve looks for its flag in [os.Args] and leaves all others alone. Package
// flag knows nothing of it: a program that parses its command line defines it,
// too, and reads it with [OverHTTP], or has none of that name with
// [WithoutFlag]. Where stdin is a terminal, Serve says on stderr what it waits
// for.
func Serve(ctx context.Context, srv *server.Server, opts ...ServeOption) error {
	s := serving{status: os.Stderr}
	for _, opt := range opts {
		opt(&s)
	}
	if !s.forced {
		args := os.Args[1:]
		if s.noFlag {
			args = nil
		}
		addr, err := httpAddr(args, os.Getenv(AddrVariable))
		if err != nil {
			return err
		}
		s.addr = addr
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.listener != nil {
		return s.serveHTTP(ctx, srv, s.listener)
	}
	if s.addr == "" {
		if isTerminal(os.Stdin) {
			fmt.Fprintln(s.status, s.howTo())
		}
		return s.serveStdio(ctx, srv)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.addr)
	if err != nil {
		return fmt.Errorf("tenon: %w", err)
	}
	fmt.Fprintf(s.status, "serving http://%s%s\n", l.Addr(), EndpointPath)
	return s.serveHTTP(ctx, srv, l)
}

// howTo is for a person who has started a server by hand.
func (s *serving) howTo() string {
	text := "serving MCP on stdin and stdout, for a client that starts this program; Ctrl-C stops it"
	switch {
	case s.forced:
		return text
	case s.noFlag:
		return text + "; to serve HTTP set " + AddrVariable + "=127.0.0.1:8080"
	}
	return text + "; to serve HTTP start it with -http 127.0.0.1:8080"
}

// isTerminal takes any device for a terminal but the empty one.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// httpAddr finds the address. It looks for one flag only, so that programs can
// have flags of their own.
func httpAddr(args []string, env string) (string, error) {
	for i, a := range args {
		if a == "--" {
			break
		}
		name, value, hasValue := strings.Cut(a, "=")
		if name != "-http" && name != "--http" {
			continue
		}
		if !hasValue && i+1 < len(args) {
			value = args[i+1]
		}
		if value == "" || strings.HasPrefix(value, "-") {
			return "", fmt.Errorf("tenon: %s needs an address, such as 127.0.0.1:8080", name)
		}
		return value, nil
	}
	return env, nil
}

func (s *serving) serveStdio(ctx context.Context, srv *server.Server) error {
	err := stdio.Serve(ctx, srv, &stdio.Options{Logger: s.logger})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
	defer cancel()
	return errors.Join(err, shutdownError(srv.Shutdown(end)))
}

// shutdownError says once what several parts may say that waited for the same.
func shutdownError(errs ...error) error {
	err := errors.Join(errs...)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("tenon: requests were cut off that still ran %s after the server was told to end: %w", shutdownWait, context.DeadlineExceeded)
	}
	return err
}

func (s *serving) serveHTTP(ctx context.Context, srv *server.Server, l net.Listener) error {
	o := streamhttp.Options{Logger: s.logger}
	if s.http != nil {
		o = *s.http
		if o.Logger == nil {
			o.Logger = s.logger
		}
	}
	h := streamhttp.NewHandler(srv, &o)
	mux := http.NewServeMux()
	mux.Handle(EndpointPath, h)
	hs := &http.Server{Handler: mux, ReadHeaderTimeout: headerWait}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("tenon: %w", err), h.Close())
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
	defer cancel()
	err := shutdownError(srv.Shutdown(end), h.Shutdown(end))
	hs.Close()
	<-failed //nolint:errcheck // it was closed
	return err
}
