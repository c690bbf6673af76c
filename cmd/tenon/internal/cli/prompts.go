package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func (a *app) promptsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "prompts TARGET | prompts -- COMMAND ARGS…",
		Short:   "List the prompts of a server",
		Example: "  tenon prompts @dev",
		Args:    cobra.ArbitraryArgs,
		RunE: a.run(job{do: func(ctx context.Context, c *client.Client, _ []string) error {
			prompts, err := listPrompts(ctx, c)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(&mcp.ListPromptsResult{Prompts: prompts})
			}
			items := make([]item, len(prompts))
			for i, p := range prompts {
				items[i] = item{p.Name, summaryOf(p.Title, p.Description)}
				if isTerminal(a.out) {
					items[i].name = promptSignature(&p).String()
				}
			}
			return a.printList(c, "prompts", items)
		}}),
	}
}

func listPrompts(ctx context.Context, c *client.Client) ([]mcp.Prompt, error) {
	prompts := []mcp.Prompt{}
	for p, err := range c.Prompts(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list prompts: %w", err)
		}
		prompts = append(prompts, *p)
	}
	return prompts, nil
}

// promptSignature is a prompt as a function. All its arguments are strings.
func promptSignature(p *mcp.Prompt) signature {
	s := signature{tool: p.Name}
	for _, arg := range p.Arguments {
		s.properties = append(s.properties, property{Name: arg.Name, Required: arg.Required, Types: []string{"string"}})
	}
	return s
}

func (a *app) getCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get TARGET PROMPT [key=value…] | get PROMPT [key=value…] -- COMMAND ARGS…",
		Short: "Get a prompt",
		Example: "  tenon get @dev hello\n" +
			"  tenon get @dev greet name=Ada style=funny",
		Args: cobra.ArbitraryArgs,
		RunE: a.run(job{
			check: func(words []string) error {
				if len(words) == 0 {
					return usagef("no prompt named; `tenon prompts` lists them")
				}
				return nil
			},
			do: func(ctx context.Context, c *client.Client, words []string) error {
				return a.get(ctx, c, words[0], words[1:])
			},
		}),
	}
}

func (a *app) get(ctx context.Context, c *client.Client, name string, words []string) error {
	prompts, err := listPrompts(ctx, c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(prompts))
		for i, p := range prompts {
			names[i] = p.Name
		}
		return &codeError{exitTool, fmt.Errorf("unknown prompt %q%s; `tenon prompts` lists those there are", name, didYouMean(name, names))}
	}
	arguments, err := promptArguments(&prompts[i], words)
	if err != nil {
		return err
	}
	res, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		return asked(fmt.Sprintf("prompt %q", name), fmt.Errorf("get %s: %w", name, err))
	}
	if a.json {
		return a.printJSON(res)
	}
	var b strings.Builder
	for _, m := range res.Messages {
		fmt.Fprintf(&b, "%s: %s\n", escapeLine(string(m.Role)), a.safe(blockText(m.Content)))
	}
	return a.print(b.String())
}

// promptArguments takes key=value, where every value is a string.
func promptArguments(p *mcp.Prompt, words []string) (map[string]string, error) {
	s := promptSignature(p)
	values, err := keyValues(words)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(p.Arguments))
	for i, arg := range p.Arguments {
		names[i] = arg.Name
	}
	for key := range values {
		if !slices.Contains(names, key) {
			return nil, usagef("prompt %q has no argument %q%s\n  %s", p.Name, key, didYouMean(key, names), s)
		}
	}
	for _, arg := range p.Arguments {
		if _, ok := values[arg.Name]; arg.Required && !ok {
			return nil, usagef("argument %q is missing\n  %s", arg.Name, s)
		}
	}
	return values, nil
}

// keyValues reads words of the form key=value.
func keyValues(words []string) (map[string]string, error) {
	values := map[string]string{}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return nil, usagef("argument %q is not key=value", w)
		}
		if _, twice := values[key]; twice {
			return nil, usagef("argument %q is given twice", key)
		}
		values[key] = value
	}
	return values, nil
}
