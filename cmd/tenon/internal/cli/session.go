package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
)

// job is what a command does with the one server it is about.
type job struct {
	check func(words []string) error // before the server is started; nil: no words
	do    func(ctx context.Context, c *client.Client, words []string) error
}

// run is the RunE of a command with one server: it checks the words, connects,
// does the job and closes.
func (a *app) run(j job) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		words, command := split(cmd, args)
		server, words, err := a.target(words, command)
		if err != nil {
			return err
		}
		if j.check == nil && len(words) > 0 {
			return usagef("%s takes one server and nothing else; what is %q for?", cmd.Name(), words[0])
		}
		if j.check != nil {
			if err := j.check(words); err != nil {
				return err
			}
		}
		c, err := a.connect(cmd.Context(), server)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		return j.do(cmd.Context(), c, words)
	}
}

// item is a line of a list.
type item struct{ name, summary string }

// printList writes a list: for people with a head, for a pipe a name and what
// it is, with a tab between them, to a line.
func (a *app) printList(c *client.Client, what string, items []item) error {
	var b strings.Builder
	people := isTerminal(a.out)
	if people {
		info := c.ServerInfo()
		fmt.Fprintf(&b, "%s · %s · %d %s\n\n",
			escapeLine(strings.TrimSpace(info.Name+" "+info.Version)), c.Version(), len(items), what)
	}
	for _, it := range items {
		name, summary := escapeLine(it.name), escapeLine(it.summary)
		switch {
		case !people:
			fmt.Fprintf(&b, "%s\t%s\n", name, summary)
		case summary == "":
			fmt.Fprintf(&b, "  %s\n", name)
		default:
			fmt.Fprintf(&b, "  %s\n      %s\n", name, summary)
		}
	}
	return a.print(b.String())
}

// print writes text that is safe for the terminal.
func (a *app) print(text string) error {
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// summaryOf is what a thing is for, in a line: its title, or how its
// description begins.
func summaryOf(title, description string) string {
	if title != "" {
		return title
	}
	first, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return first
}
