// Command client is the program that the official conformance suite drives to
// test tenon's client:
//
//	client URL
//
// The suite names the scenario in MCP_CONFORMANCE_SCENARIO, and what the
// scenario wants done in MCP_CONFORMANCE_CONTEXT. The program lets the client
// find out by itself what the server speaks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// maxRun is less than the 30 s that the suite waits.
const maxRun = 25 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), maxRun)
	err := run(ctx, os.Args[1:], os.Getenv("MCP_CONFORMANCE_SCENARIO"))
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, scenario string) (err error) {
	if len(args) != 1 {
		return errors.New("one argument is wanted, the URL of the server")
	}
	if strings.HasPrefix(scenario, "auth/") {
		return fmt.Errorf("%s: authorization is not there yet", scenario)
	}
	play, ok := scenarios[scenario]
	if !ok {
		play = useEverything
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := &host{}
	c, err := client.Connect(ctx, &streamhttp.Dialer{URL: args[0], Logger: logger}, h.options(logger))
	if err != nil {
		return err
	}
	h.client.Store(c)
	defer func() { err = errors.Join(err, c.Close()) }()
	logger.Info("connected", "version", c.Version(), "server", c.ServerInfo().Name)
	return play(ctx, c)
}

func (h *host) options(logger *slog.Logger) *client.Options {
	return &client.Options{
		Info:           mcp.Implementation{Name: "tenon-conformance-client", Version: "1.0.0"},
		Elicit:         h.elicit,
		ElicitDefaults: true,
		Sample:         sample,
		Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///conformance", Name: "conformance"}}, nil
		},
		Logger: logger,
	}
}
