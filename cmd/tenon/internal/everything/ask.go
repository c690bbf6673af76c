package everything

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// The tools in this file ask the client back. Each asks first and acts later:
// in the modern era it runs again when the answer is there.

func addAskingTools(s *server.Server) {
	server.AddTool(s, mcp.Tool{Name: "elicit", Title: "Ask the user", Description: "Asks the user for a name and a number"}, elicit)
	server.AddTool(s, mcp.Tool{Name: "sample", Title: "Ask the model", Description: "Lets the client's model answer the message"}, sample)
	server.AddTool(s, mcp.Tool{Name: "roots", Title: "Ask for roots", Description: "Lists the roots of the client"}, roots)
}

const nameForm = `{"type":"object","properties":{
	"name":{"type":"string","title":"Name","description":"what to call you"},
	"lucky":{"type":"integer","title":"Lucky number","minimum":0,"maximum":100,"default":7}
},"required":["name"]}`

func elicit(ctx context.Context, in message) (string, error) {
	res, err := server.CallFrom(ctx).Elicit(ctx, "name", &mcp.ElicitParams{
		Message: in.Message, RequestedSchema: jsontext.Value(nameForm),
	})
	if err != nil {
		return "", err
	}
	if res.Action != mcp.ElicitAccept {
		return fmt.Sprintf("the user said %s", res.Action), nil
	}
	var name string
	if err := json.Unmarshal(res.Content["name"], &name); err != nil {
		return "", fmt.Errorf("the answer has no name: %w", err)
	}
	return "Hello, " + name + "!", nil
}

func sample(ctx context.Context, in message) (string, error) {
	res, err := server.CallFrom(ctx).Sample(ctx, "answer", &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.OneOrMany{mcp.Text(in.Message)}}},
		MaxTokens: 200,
	})
	if err != nil {
		return "", err
	}
	var texts []string
	for _, block := range res.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return fmt.Sprintf("%s says: %s", res.Model, strings.Join(texts, "\n")), nil
}

func roots(ctx context.Context, _ none) (string, error) {
	res, err := server.CallFrom(ctx).Roots(ctx, "roots")
	if err != nil {
		return "", err
	}
	lines := make([]string, len(res.Roots))
	for i, r := range res.Roots {
		lines[i] = r.URI + " " + r.Name
	}
	return strings.Join(lines, "\n"), nil
}
