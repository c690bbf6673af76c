package code_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

func newRenderer() *server.Server {
	// tasks {
	srv := server.New(mcp.Implementation{Name: "render", Version: "1.0.0"}, &server.Options{
		Tasks: &server.TaskOptions{TTL: 2 * time.Hour, PollInterval: 5 * time.Second},
	})
	server.AddTool(srv, mcp.Tool{
		Name:        "render",
		Description: "Render a film",
		Execution:   &mcp.ToolExecution{TaskSupport: "optional"},
	}, render)
	// }
	return srv
}

// Film is what is rendered.
type Film struct {
	Title  string `json:"title"`
	Frames int    `json:"frames"`
}

// detach {
func render(ctx context.Context, in Film) (string, error) {
	call := server.CallFrom(ctx)
	if in.Frames > 1000 {
		form, action, err := server.ElicitForm[Consent](ctx, call, "sure", fmt.Sprintf("Render %d frames?", in.Frames))
		if err != nil {
			return "", err
		}
		if action != mcp.ElicitAccept || !form.Sure {
			return "nothing rendered", nil
		}
	}
	if _, err := call.Detach(ctx); err != nil { // the client is answered with a task now, where it can have one
		return "", err
	}
	for range in.Frames {
		if ctx.Err() != nil { // tasks/cancel, or the task's time is over
			return "", context.Cause(ctx)
		}
	}
	return in.Title + " is ready", nil
}

// }

func useTasks(ctx context.Context, c *client.Client, keep func(id string)) (string, error) {
	// start {
	task, err := c.StartTool(ctx, &mcp.CallToolParams{Name: "render", Arguments: []byte(`{"title":"Metropolis","frames":2000}`)})
	if err != nil {
		return "", err
	}
	keep(task.ID()) // another process can go on with c.Task(id)
	state, err := task.Get(ctx)
	if err != nil {
		return "", err
	}
	fmt.Println(state.Status, state.StatusMessage)
	res, err := task.Wait(ctx) // asks as often as the server says, and answers what the task asks
	if err != nil {
		return "", err // client.ErrTaskCancelled, *rpc.Error, …
	}
	// }
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func TestTasks(t *testing.T) {
	t.Parallel()
	mcptest.EachRevision(t, func(t *testing.T, e mcptest.Env) {
		c := e.Connect(newRenderer(), &client.Options{
			Tasks: true,
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return mcp.AcceptForm(Consent{Sure: true})
			},
		})
		if e.Version < mcp.V20250618 { // no questions
			return
		}
		got, err := client.CallTool[string](t.Context(), c, "render", Film{Title: "Metropolis", Frames: 2000})
		if err != nil || got != "Metropolis is ready" {
			t.Errorf("CallTool: %q, %v", got, err)
		}
		if e.Version < mcp.V20251125 { // no tasks
			return
		}
		got, err = useTasks(t.Context(), c, func(string) {})
		if err != nil || got != "Metropolis is ready" {
			t.Errorf("StartTool: %q, %v", got, err)
		}
	})
}
