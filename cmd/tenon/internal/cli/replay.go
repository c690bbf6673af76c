package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/cmd/tenon/internal/recording"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	addr    string
	against string
	failOn  string
	ignore  []string
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay FILE [--http ADDR] | replay FILE --against TARGET | replay FILE -- COMMAND ARGS…",
		Short: "Be the server of a recording, or ask a server again",
		Long: "Answer as the recorded server did, over stdio or HTTP. What was not recorded is an error.\n\n" +
			"With --against, or a command behind --, send the recorded requests to a server instead, and tell what it answers\n" +
			"differently. Tools that change things change them again.",
		Example: "  tenon replay bug.mcprec --http :7000\n" +
			"  tenon replay bug.mcprec --against @dev --fail-on diff",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			words, command := split(c, args)
			if len(words) != 1 {
				return usagef("replay takes one file")
			}
			if f.failOn != "" && f.failOn != "diff" {
				return usagef("--fail-on takes diff")
			}
			rec, err := readRecording(words[0])
			if err != nil {
				return err
			}
			if f.against == "" && len(command) == 0 {
				return a.replay(c.Context(), f, rec)
			}
			var target []string
			if f.against != "" {
				target = []string{f.against}
			}
			server, _, err := a.target(target, command)
			if err != nil {
				return err
			}
			return a.replayAgainst(c.Context(), f, rec, server)
		},
	}
	c.Flags().StringVar(&f.addr, "http", "", "serve HTTP on this address, such as :7000 (of this machine only)")
	c.Flags().StringVar(&f.against, "against", "", "the server to ask")
	c.Flags().StringVar(&f.failOn, "fail-on", "", "diff: exit with 7 where an answer differs")
	c.Flags().StringArrayVar(&f.ignore, "ignore", nil, "a path that may differ, such as structuredContent.time or content[*].text")
	return c
}

func readRecording(name string) (*recording.Recording, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, usagef("%w", err)
	}
	defer file.Close()
	rec, err := recording.Read(file)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return rec, nil
}

// replay serves the recording.
func (a *app) replay(ctx context.Context, f replayFlags, rec *recording.Recording) error {
	server := recording.NewReplay(rec)
	if f.addr == "" {
		return stdio.Serve(ctx, server, nil)
	}
	l, err := listenAt(ctx, f.addr)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	h := streamhttp.NewHandler(server, nil)
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	fmt.Fprintf(a.err, "replaying at http://%s/mcp\n", l.Addr())
	err = srv.Serve(l)
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = h.Shutdown(closing) // nothing of a recording is worth waiting for
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}

// ownRequests are those that a client makes for itself: they are not sent
// again.
var ownRequests = []string{
	mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing, mcp.MethodListen, mcp.MethodSetLevel,
	mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
}

// replayReport is what --json prints.
type replayReport struct {
	Calls       int                    `json:"calls"`
	Differences []recording.Difference `json:"differences"`
}

// replayAgainst asks a server what the recorded client asked.
func (a *app) replayAgainst(ctx context.Context, f replayFlags, rec *recording.Recording, server target) error {
	c, err := a.connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	report := replayReport{Differences: []recording.Difference{}}
	for _, call := range rec.Calls() {
		if call.Dir != recording.FromClient || !call.Answered() || slices.Contains(ownRequests, call.Method) {
			continue
		}
		report.Calls++
		d, err := ask(ctx, c, call, f.ignore)
		if err != nil {
			return fmt.Errorf("call %d: %w", call.N, err)
		}
		if d == nil {
			continue
		}
		report.Differences = append(report.Differences, *d)
		if !a.json {
			fmt.Fprintln(a.out, "✗", escape(d.String()))
		}
	}
	if a.json {
		if err := a.printJSON(&report); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.err, "%d calls, %d differ\n", report.Calls, len(report.Differences))
	}
	if f.failOn == "diff" && len(report.Differences) > 0 {
		return &codeError{exitCheck, fmt.Errorf("%d of %d answers differ from the recording", len(report.Differences), report.Calls)}
	}
	return nil
}

// ask makes a recorded call again and compares.
func ask(ctx context.Context, c *client.Client, call *recording.Call, ignore []string) (*recording.Difference, error) {
	now := &recording.Call{}
	var params any
	if p := call.Arguments(); len(p) > 0 {
		params = p
	}
	err := c.Request(ctx, call.Method, params, &now.Result)
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		now.Error, now.Result = &rpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}, nil
	} else if err != nil {
		return nil, err
	}
	return call.Differs(now, ignore), nil
}
