// Package everything is a server with one of each: whatever a client can do,
// it can try here.
package everything

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// New returns the server.
func New(version string, opts *server.Options) *server.Server {
	var o server.Options
	if opts != nil {
		o = *opts
	}
	o.Instructions = "A sample server. Try the tool echo first."
	o.Complete = complete
	s := server.New(mcp.Implementation{Name: "everything", Title: "Everything", Version: version}, &o)
	addTools(s)
	addAskingTools(s)
	must(addResources(s))
	must(addPrompts(s))
	return s
}

// must is for what only a mistake in this package can make fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

var styles = []string{"formal", "friendly", "funny"}

func addPrompts(s *server.Server) error {
	err := s.AddPrompt(mcp.Prompt{
		Name: "hello", Title: "Say hello", Description: "A prompt without arguments",
	}, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
		return promptOf("Say hello to the world."), nil
	})
	if err != nil {
		return err
	}
	return s.AddPrompt(mcp.Prompt{
		Name: "greet", Title: "Greet somebody", Description: "A prompt with arguments; style completes",
		Arguments: []mcp.PromptArgument{
			{Name: "name", Description: "who to greet", Required: true},
			{Name: "style", Description: "formal, friendly or funny"},
		},
	}, func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
		style := p.Arguments["style"]
		if style == "" {
			style = styles[1]
		}
		return promptOf(fmt.Sprintf("Greet %s in a %s way.", p.Arguments["name"], style)), nil
	})
}

func promptOf(text string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(text)}}}
}
