package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
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

// target is a server that a command line names: one of url and command.
type target struct {
	url     string
	dev     bool // url is that of a `tenon dev`
	command *stdio.Command
	options []tenon.Option // for url
}

// target returns the server, which the first of words may name, and the words
// that are left.
func (a *app) target(words, command []string) (target, []string, error) {
	t, rest, err := a.named(words, command)
	if err == nil {
		err = a.server.apply(&t)
	}
	return t, rest, err
}

func (a *app) named(words, command []string) (target, []string, error) {
	if len(command) > 0 {
		if len(words) > 0 && isTarget(words[0]) {
			return target{}, nil, usagef("two servers: %s and the command behind --; leave one out", words[0])
		}
		// The user gave the command in a shell and expects its environment.
		c := &stdio.Command{Path: command[0], Args: command[1:], InheritEnv: true, Stderr: a.serverLog()}
		return target{command: c}, words, nil
	}
	if len(words) > 0 && !isTarget(words[0]) {
		if _, err := tenon.Dialer(words[0]); err != nil { // it looks like an address
			return target{}, nil, usagef("%w", err)
		}
	}
	if len(words) == 0 || !isTarget(words[0]) {
		return target{}, nil, usagef("no server: name one as a URL, as @dev, or as a command behind --")
	}
	name, rest := words[0], words[1:]
	if name == "@dev" {
		s, err := loadDevState()
		if err != nil {
			return target{}, nil, &codeError{exitUnreachable, err}
		}
		return target{url: s.Endpoint, dev: true}, rest, nil
	}
	if strings.HasPrefix(name, "@") {
		return target{}, nil, usagef("there is no target %q; this version has @dev only", name)
	}
	if _, err := tenon.Dialer(name); err != nil {
		return target{}, nil, usagef("%w", err)
	}
	return target{url: name}, rest, nil
}

func (a *app) connect(ctx context.Context, t target) (*client.Client, error) {
	timeout := a.timeout
	if timeout == 0 {
		timeout = -1
	}
	start := time.Now()
	if a.connectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.connectTimeout)
		defer cancel()
	}
	c, err := t.connect(ctx, &client.Options{
		Info:    mcp.Implementation{Name: "tenon", Version: version()},
		Timeout: timeout, MaxTimeout: -1,
	})
	switch {
	case err == nil:
		return c, nil
	case t.dev && is[*net.OpError](err): // it was killed, and could not say goodbye
		return nil, &codeError{exitUnreachable, fmt.Errorf("the last `tenon dev` does not answer at %s; %s", t.url, startDev())}
	case errors.Is(err, context.DeadlineExceeded) && a.connectTimeout > 0 && time.Since(start) >= a.connectTimeout:
		return nil, fmt.Errorf("connect: %s has not answered within --connect-timeout %s: is it an MCP server? (%w)", t, a.connectTimeout, err)
	}
	return nil, fmt.Errorf("connect: %w", err)
}

// String names the server, without the arguments of a command, which may be
// secret, and without what may be in a URL.
func (t target) String() string {
	if t.command != nil {
		return fmt.Sprintf("the command %q", t.command.Path)
	}
	u, err := url.Parse(t.url)
	if err != nil {
		return "the server"
	}
	return fmt.Sprintf("the server at %s://%s%s", u.Scheme, u.Host, u.EscapedPath())
}

func (t target) connect(ctx context.Context, o *client.Options) (*client.Client, error) {
	if t.command != nil {
		return client.Connect(ctx, t.command, o)
	}
	return tenon.Connect(ctx, t.url, append(slices.Clip(t.options), tenon.WithClient(o))...)
}

// serverLog prefixes what a server writes to stderr.
func (a *app) serverLog() *lineWriter {
	return &lineWriter{emit: func(line []byte) { fmt.Fprintf(a.err, "server│ %s\n", escape(string(line))) }}
}
