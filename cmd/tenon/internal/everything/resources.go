package everything

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

const (
	uriReadme = "everything://readme"
	uriPixel  = "everything://pixel"
	uriNotes  = "everything://notes/{topic}"
)

var topics = []string{"cats", "clouds", "dogs"}

func addResources(s *server.Server) error {
	err := s.AddResource(mcp.Resource{
		URI: uriReadme, Name: "readme", Title: "Read me", MIMEType: "text/plain",
		Description: "A text. The tool touch says that it changed",
	}, func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return contents(mcp.ResourceContents{URI: p.URI, MIMEType: "text/plain", Text: "Everything is here."}), nil
	})
	if err != nil {
		return err
	}
	err = s.AddResource(mcp.Resource{
		URI: uriPixel, Name: "pixel", MIMEType: "image/png", Description: "A binary: one red pixel",
	}, func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
		return contents(mcp.ResourceContents{URI: p.URI, MIMEType: "image/png", Blob: pixel()}), nil
	})
	if err != nil {
		return err
	}
	return s.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: uriNotes, Name: "notes", MIMEType: "text/plain", Description: "Notes on a topic; the topic completes",
	}, func(_ context.Context, p *mcp.ReadResourceParams, vars map[string]string) (*mcp.ReadResourceResult, error) {
		text := fmt.Sprintf("Notes on %s: none yet.", vars["topic"])
		return contents(mcp.ResourceContents{URI: p.URI, MIMEType: "text/plain", Text: text}), nil
	})
}

func contents(c ...mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: c}
}

// complete proposes values for the argument style of the prompt greet and for
// the topic of the notes.
func complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	var all []string
	switch {
	case p.Ref.Type == mcp.RefPrompt && p.Ref.Name == "greet" && p.Argument.Name == "style":
		all = styles
	case p.Ref.Type == mcp.RefResource && p.Ref.URI == uriNotes && p.Argument.Name == "topic":
		all = topics
	}
	res := &mcp.CompleteResult{}
	for _, v := range all {
		if strings.HasPrefix(v, p.Argument.Value) {
			res.Completion.Values = append(res.Completion.Values, v)
		}
	}
	return res, nil
}
