package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func (a *app) callCommand() *cobra.Command {
	var saveTo string
	c := &cobra.Command{
		Use:   "call TARGET TOOL [key=value…] | call TOOL [key=value…] -- COMMAND ARGS…",
		Short: "Call a tool",
		Long: "Call a tool and print what it returns.\n\n" +
			"key=value is typed by the tool's own schema, so that zip=01234 stays a string; key:=JSON is taken as it is;\n" +
			"key=@FILE and key:=@FILE take the value from a file; one JSON object stands for all arguments.",
		Example: "  tenon call @dev echo message=hi\n" +
			"  tenon call @dev add a=2 b=40 --json\n" +
			"  tenon call @dev echo message=@draft.md\n" +
			"  tenon call @dev image --save-media out\n" +
			"  tenon call echo message=hi -- npx -y @modelcontextprotocol/server-everything",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			words, command := split(c, args)
			server, rest, err := a.target(words, command)
			if err != nil {
				return err
			}
			if len(rest) == 0 {
				return usagef("no tool named; `tenon tools` lists them")
			}
			return a.call(c.Context(), server, rest[0], rest[1:], saveTo)
		},
	}
	c.Flags().StringVar(&saveTo, "save-media", "", "write images, sounds and embedded files to new files in this directory and print their paths")
	return c
}

func (a *app) call(ctx context.Context, server target, name string, words []string, saveTo string) error {
	c, err := a.connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	tools, err := listTools(ctx, c)
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == name })
	if i < 0 {
		return &codeError{exitTool, unknownTool(name, tools)}
	}
	arguments, err := newSignature(name, tools[i].InputSchema).arguments(words)
	if err != nil {
		return err
	}
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if is[*client.OutputError](err) && res != nil { // what came is shown all the same
		fmt.Fprintln(a.err, "warning:", escape(err.Error()))
		err = nil
	}
	if asksUs(res, err) {
		if err == nil {
			err = errors.New(contentText(res))
		}
		return &codeError{exitInput, fmt.Errorf("tool %q asks its client for something before it answers, "+
			"and `tenon call` cannot answer yet: %w", name, err)}
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	return a.printResult(name, res, saveTo)
}

// asksUs reports whether a call failed because this client cannot be asked: by
// elicitation, sampling or for roots. Before 2026-07-28 only the text says so.
func asksUs(res *mcp.CallToolResult, err error) bool {
	if errors.Is(err, mcp.ErrMissingCapability) || errors.Is(err, mcp.ErrURLElicitation) || is[*client.InputError](err) {
		return true
	}
	if err != nil || !res.IsError {
		return false
	}
	text := strings.ToLower(contentText(res))
	return strings.Contains(text, "capability") && slices.ContainsFunc([]string{"elicitation", "sampling", "roots"}, func(what string) bool {
		return strings.Contains(text, what)
	})
}

// asked gives an error the exit code of a server that asks its client for
// something, if it is one.
func asked(what string, err error) error {
	if !errors.Is(err, mcp.ErrMissingCapability) && !errors.Is(err, mcp.ErrURLElicitation) && !is[*client.InputError](err) {
		return err
	}
	return &codeError{exitInput, fmt.Errorf("%s asks its client for something before it answers, and `tenon` cannot answer yet: %w", what, err)}
}

// unknownTool says what may have been meant, and how that is called.
func unknownTool(name string, tools []mcp.Tool) error {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	i := nearest(name, names)
	if i < 0 {
		return fmt.Errorf("unknown tool %q; `tenon tools` lists those there are", name)
	}
	return fmt.Errorf("unknown tool %q%s\n  %s", name, didYouMean(name, names), newSignature(names[i], tools[i].InputSchema))
}

func (a *app) printResult(name string, res *mcp.CallToolResult, saveTo string) error {
	failed := &codeError{exitTool, fmt.Errorf("tool %q failed: %s", name, contentText(res))}
	if res.IsError {
		if a.json {
			if err := a.printJSON(res); err != nil {
				return err
			}
		}
		return failed
	}
	var saved map[int]string
	var notSaved error // the tool has acted: what it said is shown all the same
	if saveTo != "" {
		saved, notSaved = saveMedia(saveTo, res.Content)
	}
	if a.json {
		for i := range res.Content {
			if path, ok := saved[i]; ok {
				fmt.Fprintln(a.err, "saved", path)
			}
		}
		return errors.Join(a.printJSON(res), notSaved)
	}
	text := textWith(res, saved)
	if text == "" {
		return notSaved
	}
	return errors.Join(a.print(strings.TrimSuffix(a.safe(text), "\n")+"\n"), notSaved)
}

// safe escapes text for a terminal. A pipe gets what the tool said.
func (a *app) safe(text string) string {
	if isTerminal(a.out) {
		return escape(text)
	}
	return text
}

// contentText is the content for people: text as it is, other blocks named.
// Where there is none it is the structured content.
func contentText(res *mcp.CallToolResult) string { return textWith(res, nil) }

// textWith is contentText with the paths of what was saved in its place.
func textWith(res *mcp.CallToolResult, saved map[int]string) string {
	var parts []string
	for i, block := range res.Content {
		if path, ok := saved[i]; ok {
			parts = append(parts, path)
			continue
		}
		parts = append(parts, blockText(block))
	}
	if len(parts) == 0 && len(res.StructuredContent) > 0 {
		return string(res.StructuredContent)
	}
	return strings.Join(parts, "\n")
}

func blockText(block mcp.Content) string {
	switch b := block.(type) {
	case *mcp.TextContent:
		return b.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[image %s, %d bytes]", b.MIMEType, len(b.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio %s, %d bytes]", b.MIMEType, len(b.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[link %s %s]", b.Name, b.URI)
	case *mcp.EmbeddedResource:
		return resourceText(&b.Resource)
	case *mcp.UnknownContent:
		return fmt.Sprintf("[content of type %q]", b.Type)
	}
	return fmt.Sprintf("[content %T]", block)
}

func resourceText(r *mcp.ResourceContents) string {
	if r.Text != "" {
		return r.Text
	}
	return fmt.Sprintf("[resource %s %s, %d bytes]", r.URI, r.MIMEType, len(r.Blob))
}
