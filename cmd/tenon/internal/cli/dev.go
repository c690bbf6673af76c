package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/cmd/tenon/internal/everything"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	defaultPort = 3737
	// portsTried is how many ports from the default one on are tried before
	// the operating system chooses one.
	portsTried = 20
)

func (a *app) devCommand() *cobra.Command {
	var port int
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run the built-in sample server, in every revision",
		Long: "Run the built-in sample server \"everything\" on 127.0.0.1, in every revision, over Streamable HTTP and HTTP+SSE,\n" +
			"and let tenon's own client check it over these and stdio. Other commands reach it as @dev. Ctrl-C stops it.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if port < 0 || port > 65535 {
				return usagef("--port %d is no port", port)
			}
			return a.dev(c.Context(), port, c.Flags().Changed("port"))
		},
	}
	c.Flags().IntVar(&port, "port", defaultPort, "port to listen on; if it is taken, the next free one, unless you named it; 0 = any")
	return c
}

// ready is the line that --json prints.
type ready struct {
	Event     string        `json:"event"`
	MCP       string        `json:"mcp"`
	Eras      []string      `json:"eras"`
	Revisions []mcp.Version `json:"revisions"`
	PID       int           `json:"pid"`
}

func (a *app) dev(ctx context.Context, port int, named bool) error {
	l, err := listen(port, named)
	if err != nil {
		return err
	}
	endpoint := fmt.Sprintf("http://%s%s", l.Addr(), tenon.EndpointPath)
	served := make(chan error, 1)
	srv := everything.New(version(), nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { served <- tenon.Serve(ctx, srv, tenon.OnListener(l)) }()

	remove, err := devState{Endpoint: endpoint, PID: os.Getpid()}.save()
	if err != nil {
		fmt.Fprintln(a.err, "warning: @dev will not work:", err)
		remove = func() {}
	}
	defer remove()
	a.announce(endpoint, l.Addr(), port)
	a.selfCheck(ctx, endpoint)
	if !a.json {
		fmt.Fprintf(a.out, "\n  Try:     %s call @dev echo message=hi\n  Ctrl-C stops it.\n", escapeLine(invocation()))
	}
	return <-served // nil when a signal ended it
}

func (a *app) announce(endpoint string, addr net.Addr, wanted int) {
	revisions := mcp.Revisions()
	if a.json {
		r := ready{Event: "ready", MCP: endpoint, Eras: []string{mcp.Legacy.String(), mcp.Modern.String()}, PID: os.Getpid()}
		for _, rev := range revisions {
			r.Revisions = append(r.Revisions, rev.Version)
		}
		if err := a.printJSON(&r); err != nil {
			fmt.Fprintln(a.err, "warning:", err)
		}
		return
	}
	fmt.Fprintf(a.out, "tenon %s · sample server \"everything\" (built in)\n\n", version())
	if got := addr.(*net.TCPAddr).Port; wanted != 0 && got != wanted {
		fmt.Fprintf(a.out, "  Port %d is taken; this is the next free one.\n", wanted)
	}
	fmt.Fprintf(a.out, "  MCP endpoint   %s   Streamable HTTP and HTTP+SSE, %s … %s\n",
		endpoint, revisions[len(revisions)-1].Version, revisions[0].Version)
}

// listen opens the loopback port. One that the user named is that or nothing.
func listen(port int, named bool) (net.Listener, error) {
	l, err := listenOn(port)
	switch {
	case err == nil:
		return l, nil
	case named || !errors.Is(err, syscall.EADDRINUSE):
		return nil, &codeError{exitUnexpected, fmt.Errorf("cannot listen on port %d: %w; stop what uses it, or name another --port", port, err)}
	}
	for p := port + 1; p < port+portsTried; p++ {
		if l, err := listenOn(p); err == nil {
			return l, nil
		}
	}
	return listenOn(0)
}

func listenOn(port int) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // it takes no time
}
