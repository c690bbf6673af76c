package code_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type target struct {
	Name string `json:"name"`
}

// elicit {
func deploy(ctx context.Context, in target) (string, error) {
	answer, err := server.CallFrom(ctx).Elicit(ctx, "confirm", &mcp.ElicitParams{
		Message:         "Deploy to " + in.Name + "?",
		RequestedSchema: mcp.FormSchema(),
	})
	if err != nil {
		return "", err // in the modern era the handler leaves here, and runs again with the answer
	}
	if answer.Action != mcp.ElicitAccept {
		return "not deployed", nil
	}
	return "deployed to " + in.Name, nil
}

// }

// ask {
func greetUser(ctx context.Context, _ struct{}) (string, error) {
	var name mcp.ElicitResult
	var roots mcp.ListRootsResult
	err := server.CallFrom(ctx).Ask(ctx,
		server.ElicitQuestion("name", &mcp.ElicitParams{
			Message: "What is your name?",
			RequestedSchema: mcp.FormSchema(mcp.Field{
				Name: "name", Required: true, Schema: mcp.PrimitiveSchema{Type: "string"},
			}),
		}, &name),
		server.RootsQuestion("roots", &roots),
	)
	if err != nil {
		return "", err
	}
	var user struct {
		Name string `json:"name"`
	}
	if err := name.Decode(&user); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s works in %d directories", user.Name, len(roots.Roots)), nil
}

// }

// state {
func order(ctx context.Context, in target) (string, error) {
	call := server.CallFrom(ctx)
	var number int64
	known, err := call.State(&number)
	if err != nil {
		return "", err
	}
	if !known {
		number = nextNumber() // must happen once, not once a round
		if err := call.SetState(number); err != nil {
			return "", err
		}
	}
	answer, err := call.Elicit(ctx, "confirm", &mcp.ElicitParams{
		Message: fmt.Sprintf("Place order %d for %s?", number, in.Name), RequestedSchema: mcp.FormSchema(),
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("order %d: %s", number, answer.Action), nil
}

// }

func nextNumber() int64 { return runs.Add(1) }

func TestAskingInBothEras(t *testing.T) {
	t.Parallel()
	mcptest.EachRevision(t, func(t *testing.T, e mcptest.Env) {
		if e.Version < "2025-06-18" {
			t.Skip("this revision has no elicitation")
		}
		srv := server.New(mcp.Implementation{Name: "guide", Version: "1"}, nil)
		server.AddTool(srv, mcp.Tool{Name: "greet"}, greetUser)
		server.AddTool(srv, mcp.Tool{Name: "order"}, order)
		c := e.Connect(srv, &client.Options{
			Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{
					Action:  mcp.ElicitAccept,
					Content: map[string]jsontext.Value{"name": jsontext.Value(`"Ada"`)},
				}, nil
			},
			Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil },
		})
		got, err := client.CallTool[string](t.Context(), c, "greet", nil)
		if want := "Ada works in 1 directories"; got != want || err != nil {
			t.Errorf("greet: %q, %v", got, err)
		}
		got, err = client.CallTool[string](t.Context(), c, "order", target{Name: "oak"})
		var number int64
		if _, scan := fmt.Sscanf(got, "order %d: accept", &number); err != nil || scan != nil {
			t.Errorf("order: %q, %v", got, errors.Join(err, scan))
		}
	})
}
