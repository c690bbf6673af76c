package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func (a *app) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "info TARGET | info -- COMMAND ARGS…",
		Short: "Show what a server is and can do",
		Long: "Show the name, version, revision, capabilities and instructions of a server.\n\n" +
			"With --json these have the form of the result of initialize, in every revision.",
		Example: "  tenon info @dev\n" +
			"  tenon info -- npx -y @modelcontextprotocol/server-everything",
		Args: cobra.ArbitraryArgs,
		RunE: a.run(job{do: func(_ context.Context, c *client.Client, _ []string) error { return a.info(c) }}),
	}
}

func (a *app) info(c *client.Client) error {
	res := &mcp.InitializeResult{
		ProtocolVersion: c.Version(), Capabilities: c.ServerCapabilities(),
		ServerInfo: c.ServerInfo(), Instructions: c.Instructions(),
	}
	if a.json {
		return a.printJSON(res)
	}
	capabilities, err := memberNames(res.Capabilities)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, line := range [][2]string{
		{"name", res.ServerInfo.Name},
		{"title", res.ServerInfo.Title},
		{"version", res.ServerInfo.Version},
		{"revision", string(res.ProtocolVersion)},
		{"capabilities", strings.Join(capabilities, " ")},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s\t%s\n", line[0], escapeLine(line[1]))
		}
	}
	if text := strings.TrimSpace(res.Instructions); text != "" {
		fmt.Fprintf(&b, "\n%s\n", a.safe(text))
	}
	return a.print(b.String())
}

// memberNames returns the names of the members of v as JSON has them.
func memberNames(v any) ([]string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var names []string
	d := jsontext.NewDecoder(strings.NewReader(string(text)))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		names = append(names, name.String())
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
	}
	return names, nil
}
