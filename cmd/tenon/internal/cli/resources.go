package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func (a *app) resourcesCommand() *cobra.Command {
	var templates bool
	c := &cobra.Command{
		Use:   "resources TARGET | resources -- COMMAND ARGS…",
		Short: "List the resources of a server, or their templates",
		Example: "  tenon resources @dev\n" +
			"  tenon resources @dev --templates",
		Args: cobra.ArbitraryArgs,
		RunE: a.run(job{do: func(ctx context.Context, c *client.Client, _ []string) error {
			if templates {
				return a.templates(ctx, c)
			}
			return a.resources(ctx, c)
		}}),
	}
	c.Flags().BoolVar(&templates, "templates", false, "list the templates of resources instead")
	return c
}

func (a *app) resources(ctx context.Context, c *client.Client) error {
	res := &mcp.ListResourcesResult{Resources: []mcp.Resource{}}
	var items []item
	for r, err := range c.Resources(ctx) {
		if err != nil {
			return fmt.Errorf("list resources: %w", err)
		}
		res.Resources = append(res.Resources, *r)
		items = append(items, item{r.URI, resourceSummary(r.Title, r.Name, r.Description)})
	}
	if a.json {
		return a.printJSON(res)
	}
	return a.printList(c, "resources", items)
}

func (a *app) templates(ctx context.Context, c *client.Client) error {
	res := &mcp.ListResourceTemplatesResult{ResourceTemplates: []mcp.ResourceTemplate{}}
	var items []item
	for t, err := range c.ResourceTemplates(ctx) {
		if err != nil {
			return fmt.Errorf("list resource templates: %w", err)
		}
		res.ResourceTemplates = append(res.ResourceTemplates, *t)
		items = append(items, item{t.URITemplate, resourceSummary(t.Title, t.Name, t.Description)})
	}
	if a.json {
		return a.printJSON(res)
	}
	return a.printList(c, "resource templates", items)
}

// resourceSummary ends with the name, as a resource is called by its URI.
func resourceSummary(title, name, description string) string {
	if s := summaryOf(title, description); s != "" {
		return s
	}
	return name
}

func (a *app) readCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "read TARGET URI | read URI -- COMMAND ARGS…",
		Short: "Read a resource",
		Long: "Read a resource and print what is in it.\n\n" +
			"A pipe or a file gets the bytes as they are; a terminal gets text, and is told of what is none.",
		Example: "  tenon read @dev everything://readme\n" +
			"  tenon read @dev everything://pixel >pixel.png",
		Args: cobra.ArbitraryArgs,
		RunE: a.run(job{check: oneURI, do: func(ctx context.Context, c *client.Client, words []string) error {
			res, err := c.ReadResource(ctx, words[0])
			if err != nil {
				return asked(fmt.Sprintf("resource %q", words[0]), fmt.Errorf("read %s: %w", words[0], err))
			}
			if a.json {
				return a.printJSON(res)
			}
			return a.printContents(res.Contents)
		}}),
	}
}

func oneURI(words []string) error {
	if len(words) != 1 {
		return usagef("read takes a server and one URI; `tenon resources` lists them")
	}
	return nil
}

func (a *app) printContents(contents []mcp.ResourceContents) error {
	for i := range contents {
		r := &contents[i]
		if !isTerminal(a.out) {
			if err := a.print(r.Text + string(r.Blob)); err != nil {
				return err
			}
			continue
		}
		if err := a.print(strings.TrimSuffix(escape(resourceText(r)), "\n") + "\n"); err != nil {
			return err
		}
	}
	return nil
}
