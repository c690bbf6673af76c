package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
)

// split takes the words of a command line apart: those before --, and the
// command of a server behind it.
func split(c *cobra.Command, args []string) (words, command []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

// isTarget reports whether a word names a server rather than a tool.
func isTarget(word string) bool {
	return strings.HasPrefix(word, "@") || strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// target returns what to dial, from the words of which the first may name a
// server, and the words that are left.
func (a *app) target(words, command []string) (rpc.Dialer, []string, error) {
	if len(command) > 0 {
		if len(words) > 0 && isTarget(words[0]) {
			return nil, nil, usagef("two servers: %s and the command behind --; leave one out", words[0])
		}
		// The user gave the command in a shell and expects its environment.
		return &stdio.Command{Path: command[0], Args: command[1:], InheritEnv: true, Stderr: a.serverLog()}, words, nil
	}
	if len(words) == 0 || !isTarget(words[0]) {
		return nil, nil, usagef("no server: name one as a URL, as @dev, or as a command behind --")
	}
	name, rest := words[0], words[1:]
	if !strings.HasPrefix(name, "@") {
		d, err := tenon.Dialer(name)
		return d, rest, err
	}
	if name != "@dev" {
		return nil, nil, usagef("there is no target %q; this version has @dev only", name)
	}
	s, err := loadDevState()
	if err != nil {
		return nil, nil, &codeError{exitUnreachable, err}
	}
	d, err := tenon.Dialer(s.Endpoint)
	return d, rest, err
}

func (a *app) connect(ctx context.Context, d rpc.Dialer) (*client.Client, error) {
	timeout := a.timeout
	if timeout == 0 {
		timeout = -1
	}
	if a.connectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.connectTimeout)
		defer cancel()
	}
	c, err := client.Connect(ctx, d, &client.Options{
		Info:    mcp.Implementation{Name: "tenon", Version: version()},
		Timeout: timeout, MaxTimeout: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

// serverLog prefixes what a server writes to stderr.
func (a *app) serverLog() *prefixer { return &prefixer{w: a.err, prefix: "server│ "} }
