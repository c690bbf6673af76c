// Package cli is the command line of tenon. Each command has a file.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// errInterrupted is the cause of a context that Ctrl-C ended.
var errInterrupted = errors.New("interrupted")

// app is what all commands share.
type app struct {
	in       io.Reader
	out, err io.Writer

	timeout, connectTimeout time.Duration
	json                    bool
	server                  serverFlags
}

// Main runs one command line and returns the exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
			// The second signal finds the default action, should the first
			// not be enough.
			signal.Stop(signals)
		case <-ctx.Done():
		}
	}()
	a := &app{in: in, out: out, err: errw}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && !is[*codeError](err) {
		err = errInterrupted
	}
	a.report(err)
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tenon",
		Short: "Run, list and call MCP servers",
		Long: "tenon runs, lists and calls servers of the Model Context Protocol, in every revision.\n\n" +
			"A target is a URL, @dev (the running `tenon dev`), or a command behind --.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v\n  see: %s --help", err, c.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().DurationVar(&a.timeout, "timeout", 2*time.Minute, "how long a server may be silent on a request; 0 = no limit")
	root.PersistentFlags().DurationVar(&a.connectTimeout, "connect-timeout", 30*time.Second, "how long connecting may take; 0 = no limit")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result of the protocol as JSON")
	root.AddCommand(a.devCommand(), a.sampleCommand(), a.recordCommand(), a.replayCommand(), a.diffCommand(),
		a.versionCommand())
	for _, c := range []*cobra.Command{
		a.infoCommand(), a.pingCommand(), a.toolsCommand(), a.callCommand(), a.resourcesCommand(), a.readCommand(),
		a.promptsCommand(), a.getCommand(), a.completeCommand(),
	} {
		root.AddCommand(a.withServerFlags(c))
	}
	root.RunE = func(c *cobra.Command, args []string) error { return c.Help() }
	for _, c := range append(root.Commands(), root) {
		check := c.Args
		if check == nil {
			continue
		}
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usagef("%v\n  see: %s --help", err, c.CommandPath())
			}
			return nil
		}
	}
	return root
}

// version returns what the go command has noted about this build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
