package code_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

// typed {

// Booking is what the user fills in.
type Booking struct {
	Name  string   `json:"name" jsonschema:"on whose name"`
	Seats int      `json:"seats" jsonschema:"minimum=1,maximum=8,default=2"`
	Meal  string   `json:"meal" jsonschema:"enum=lunch|dinner,default=dinner"`
	Needs []string `json:"needs,omitzero" jsonschema:"enum=wheelchair|high chair"`
}

func book(ctx context.Context, _ struct{}) (string, error) {
	b, action, err := server.ElicitForm[Booking](ctx, server.CallFrom(ctx), "booking", "Which table?")
	if err != nil {
		return "", err
	}
	if action != mcp.ElicitAccept {
		return "nothing booked", nil
	}
	return fmt.Sprintf("%s for %d on the name of %s", b.Meal, b.Seats, b.Name), nil
}

// }

// built {
func pick(ctx context.Context, _ struct{}) (string, error) {
	res, err := server.CallFrom(ctx).Elicit(ctx, "room", &mcp.ElicitParams{
		Message: "Which room?",
		RequestedSchema: mcp.FormSchema(mcp.Field{
			Name: "room", Required: true, Schema: mcp.SelectTitled(
				mcp.EnumOption{Const: "r1", Title: "By the window"},
				mcp.EnumOption{Const: "r2", Title: "By the door"},
			).WithDefault("r1"),
		}),
	})
	if err != nil {
		return "", err
	}
	return string(res.Content["room"]), nil
}

// }

func reviewing(ask func(string) bool, sample func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)) *client.Options {
	// review {
	options := &client.Options{
		Sample: sample,
		ReviewSampleRequest: func(_ context.Context, p *mcp.CreateMessageParams) error {
			if !ask(fmt.Sprintf("Send %d messages to the model?", len(p.Messages))) {
				return client.ErrRejected
			}
			p.MaxTokens = min(p.MaxTokens, 1000)
			return nil
		},
		ReviewSampleResult: func(_ context.Context, _ *mcp.CreateMessageParams, r *mcp.CreateMessageResult) error {
			if !ask("Give the server the answer of " + r.Model + "?") {
				return client.ErrRejected
			}
			return nil
		},
	}
	// }
	return options
}

func TestForms(t *testing.T) {
	t.Parallel()
	srv := server.New(mcp.Implementation{Name: "guide", Version: "1"}, nil)
	server.AddTool(srv, mcp.Tool{Name: "book"}, book)
	server.AddTool(srv, mcp.Tool{Name: "pick"}, pick)
	server.AddTool(srv, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ struct{}) (string, error) {
		res, err := server.CallFrom(ctx).Sample(ctx, "q", &mcp.CreateMessageParams{MaxTokens: 5000, Messages: []mcp.SamplingMessage{}})
		if err != nil {
			return "", err
		}
		return res.Model, nil
	})
	var questions []string
	options := reviewing(func(q string) bool { questions = append(questions, q); return true },
		func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: fmt.Sprintf("%d tokens", p.MaxTokens), Content: mcp.OneOrMany{mcp.Text("a")}}, nil
		})
	options.ElicitDefaults = true
	options.Elicit = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if p.Message == "Which room?" {
			return mcp.AcceptForm(map[string]string{})
		}
		return mcp.AcceptForm(map[string]string{"name": "Ada"})
	}
	c := mcptest.Pair(t, srv, options)
	for tool, want := range map[string]string{"book": "dinner for 2 on the name of Ada", "pick": `"r1"`, "ask": "1000 tokens"} {
		if got, err := client.CallTool[string](t.Context(), c, tool, nil); err != nil || got != want {
			t.Errorf("%s: %q, %v", tool, got, err)
		}
	}
	if len(questions) != 2 {
		t.Errorf("asked %q", questions)
	}
}
