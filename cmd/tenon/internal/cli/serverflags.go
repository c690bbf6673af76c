package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon"
)

// serverFlags say how a server is reached or started.
type serverFlags struct {
	headers []string // Name: value
	env     []string // KEY=value
	dir     string
}

// withServerFlags adds the flags to a command that connects to one server.
func (a *app) withServerFlags(c *cobra.Command) *cobra.Command {
	f := &a.server
	c.Flags().StringArrayVarP(&f.headers, "header", "H", nil, "send this header, `'Name: value'`, with every HTTP request (repeatable)")
	c.Flags().StringArrayVarP(&f.env, "env", "e", nil, "add `KEY=value` to the environment of the command behind -- (repeatable)")
	c.Flags().StringVar(&f.dir, "cwd", "", "the working directory of the command behind --")
	return c
}

// apply sets what the flags say, and refuses what the server has no use for.
// No error has a value, which may be secret.
func (f *serverFlags) apply(t *target) error {
	if t.command != nil {
		if len(f.headers) > 0 {
			return usagef("--header is for servers with a URL; a command takes --env")
		}
		for _, entry := range f.env {
			if key, _, ok := strings.Cut(entry, "="); !ok || key == "" {
				return usagef("--env has no KEY=value")
			}
		}
		t.command.Env, t.command.Dir = f.env, f.dir
		return nil
	}
	if len(f.env) > 0 || f.dir != "" {
		return usagef("--env and --cwd are for a command behind --; a server with a URL takes --header")
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return usagef("--header has no 'Name: value'")
		}
		t.options = append(t.options, tenon.WithHeader(name, strings.TrimSpace(value)))
	}
	return nil
}
