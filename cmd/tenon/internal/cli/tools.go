package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func (a *app) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tools TARGET | tools -- COMMAND ARGS…",
		Short: "List the tools of a server",
		Example: "  tenon tools @dev\n" +
			"  tenon tools https://example.com/mcp\n" +
			"  tenon tools -- npx -y @modelcontextprotocol/server-everything",
		Args: cobra.ArbitraryArgs,
		RunE: a.run(job{do: func(ctx context.Context, c *client.Client, _ []string) error { return a.tools(ctx, c) }}),
	}
}

func (a *app) tools(ctx context.Context, c *client.Client) error {
	tools, err := listTools(ctx, c)
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	if a.json {
		return a.printJSON(&mcp.ListToolsResult{Tools: tools})
	}
	if !isTerminal(a.out) {
		for _, t := range tools {
			fmt.Fprintf(a.out, "%s\t%s\n", escapeLine(t.Name), escapeLine(summary(&t)))
		}
		return nil
	}
	info := c.ServerInfo()
	fmt.Fprintf(a.out, "%s · %s · %d tools\n\n", escapeLine(strings.TrimSpace(info.Name+" "+info.Version)), c.Version(), len(tools))
	for _, t := range tools {
		fmt.Fprintf(a.out, "  %s\n", newSignature(t.Name, t.InputSchema))
		if s := summary(&t); s != "" {
			fmt.Fprintf(a.out, "      %s\n", escapeLine(s))
		}
	}
	return nil
}

// summary is what a tool is for, in a line: its title, or how its description
// begins.
func summary(t *mcp.Tool) string {
	title := t.DisplayName()
	if title == t.Name {
		title = ""
	}
	return summaryOf(title, t.Description)
}

func listTools(ctx context.Context, c *client.Client) ([]mcp.Tool, error) {
	tools := []mcp.Tool{}
	for t, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		tools = append(tools, *t)
	}
	return tools, nil
}

// printJSON writes v on one line.
func (a *app) printJSON(v any) error { return writeJSON(a.out, v) }

func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", escapeJSON(b))
	return err
}
