// Command server is the server that the official conformance suite tests. It
// has no flags: it listens on a free loopback port, prints the URL of its one
// endpoint, which serves every revision, and runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	srv := server.New(mcp.Implementation{Name: "tenon-conformance-server", Version: "1.0.0"}, &server.Options{
		Logger:   logger,
		Complete: complete,
		Tasks:    &server.TaskOptions{PollInterval: 200 * time.Millisecond},
	})
	addTools(srv)
	addAskingTools(srv)
	addLegacyAskingTools(srv)
	addTaskTools(srv)
	if err := errors.Join(addResources(srv), addPrompts(srv)); err != nil {
		return err
	}

	h := streamhttp.NewHandler(srv, &streamhttp.Options{Logger: logger})
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	hs := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second) //nolint:contextcheck // ctx is over: this is the time after it
	defer cancel()
	return errors.Join(h.Close(), hs.Shutdown(grace))
}
