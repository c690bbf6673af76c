package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func (a *app) pingCommand() *cobra.Command {
	count := 3
	c := &cobra.Command{
		Use:   "ping TARGET | ping -- COMMAND ARGS…",
		Short: "Measure how long a server takes to answer",
		Long: "Ask a server whether it is there, and print how long each answer took.\n\n" +
			"A revision without ping is asked for server/discover. --json prints an object to a line, with milliseconds.",
		Example: "  tenon ping @dev\n" +
			"  tenon ping https://example.com/mcp -n 10",
		Args: cobra.ArbitraryArgs,
	}
	c.Flags().IntVarP(&count, "count", "n", count, "how many times to ask")
	run := a.run(job{do: func(ctx context.Context, c *client.Client, _ []string) error { return a.ping(ctx, c, count) }})
	c.RunE = func(c *cobra.Command, args []string) error {
		if count < 1 {
			return usagef("--count is %d; ask at least once", count)
		}
		return run(c, args)
	}
	return c
}

// roundTrip is a line of ping with --json.
type roundTrip struct {
	Method       string  `json:"method"`
	Milliseconds float64 `json:"milliseconds"`
}

func (a *app) ping(ctx context.Context, c *client.Client, count int) error {
	for range count {
		method, start := mcp.MethodPing, time.Now()
		err := c.Ping(ctx)
		if errors.Is(err, errors.ErrUnsupported) { // refused before it is sent
			method, start = mcp.MethodDiscover, time.Now()
			err = c.Request(ctx, method, nil, nil, client.Uncached())
		}
		took := time.Since(start)
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if a.json {
			err = a.printJSON(roundTrip{method, float64(took.Microseconds()) / 1000})
		} else {
			err = a.print(fmt.Sprintf("%s\t%s\n", method, took.Round(time.Microsecond)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
