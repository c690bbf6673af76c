package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func (a *app) completeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "complete TARGET PROMPT|TEMPLATE key=BEGIN [key=value…] | complete PROMPT|TEMPLATE key=BEGIN -- COMMAND ARGS…",
		Short: "Complete an argument of a prompt or of a resource template",
		Long: "Ask a server how an argument could go on, and print a proposal to a line.\n\n" +
			"The first key=BEGIN is the argument to complete, the others are those that are known already.\n" +
			"What has :// in it is a resource template, anything else a prompt.",
		Example: "  tenon complete @dev greet style=f\n" +
			"  tenon complete @dev 'everything://notes/{topic}' topic=c",
		Args: cobra.ArbitraryArgs,
		RunE: a.run(job{
			check: func(words []string) error { _, err := completeParams(words); return err },
			do: func(ctx context.Context, c *client.Client, words []string) error {
				params, err := completeParams(words)
				if err != nil {
					return err
				}
				res, err := c.Complete(ctx, params)
				if err != nil {
					return fmt.Errorf("complete %s: %w", words[0], err)
				}
				if a.json {
					return a.printJSON(res)
				}
				var b strings.Builder
				for _, v := range res.Completion.Values {
					fmt.Fprintln(&b, escapeLine(v))
				}
				return a.print(b.String())
			},
		}),
	}
}

func completeParams(words []string) (*mcp.CompleteParams, error) {
	if len(words) < 2 {
		return nil, usagef("complete takes a server, a prompt or resource template, and key=BEGIN of the argument to complete")
	}
	name, begin, ok := strings.Cut(words[1], "=")
	if !ok || name == "" {
		return nil, usagef("argument %q is not key=BEGIN", words[1])
	}
	known, err := keyValues(words[2:])
	if err != nil {
		return nil, err
	}
	if _, twice := known[name]; twice {
		return nil, usagef("argument %q is given twice", name)
	}
	p := &mcp.CompleteParams{
		Ref:      mcp.CompleteReference{Type: mcp.RefPrompt, Name: words[0]},
		Argument: mcp.CompleteArgument{Name: name, Value: begin},
	}
	if strings.Contains(words[0], "://") {
		p.Ref = mcp.CompleteReference{Type: mcp.RefResource, URI: words[0]}
	}
	if len(known) > 0 {
		p.Context = &mcp.CompleteContext{Arguments: known}
	}
	return p, nil
}
