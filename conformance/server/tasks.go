package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

type person struct {
	Name string `json:"name"`
}

// addTaskTools adds what the scenarios of the tasks extension call.
func addTaskTools(srv *server.Server) {
	task := func(name, description, support string) mcp.Tool {
		return mcp.Tool{Name: name, Description: description, Execution: &mcp.ToolExecution{TaskSupport: support}}
	}
	server.AddTool(srv, mcp.Tool{Name: "greet", Description: "Greets, never as a task"}, func(_ context.Context, in person) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	server.AddTool(srv, task("slow_compute", "Takes its time", "optional"), slowCompute)
	server.AddTool(srv, task("failing_job", "Fails after a second", "required"), func(ctx context.Context, _ struct{}) (string, error) {
		if err := wait(ctx, time.Second); err != nil {
			return "", err
		}
		return "", errors.New("the job failed")
	})
	server.AddTool(srv, task("protocol_error_job", "Ends with an error of the protocol", "optional"), func(ctx context.Context, _ struct{}) (string, error) {
		if _, err := server.CallFrom(ctx).Detach(ctx); err != nil {
			return "", err
		}
		return "", rpc.Errorf(rpc.CodeInternalError, "the job broke")
	})
	server.AddTool(srv, task("confirm_delete", "Asks before it deletes", "optional"), confirmDelete)
	server.AddTool(srv, task("multi_input", "Asks two questions at once", "optional"), multiInput)
	server.AddTool(srv, task("test_tool_with_task", "Asks first, and goes on as a task", "required"), toolWithTask)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type computation struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label,omitzero"`
}

func slowCompute(ctx context.Context, in computation) (string, error) {
	if err := wait(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return "", err
	}
	return fmt.Sprintf("computed %s in %v seconds", in.Label, in.Seconds), nil
}

type consent struct {
	Confirm bool `json:"confirm,omitzero"`
}

type file struct {
	Filename string `json:"filename"`
}

func confirmDelete(ctx context.Context, in file) (string, error) {
	call := server.CallFrom(ctx)
	if _, err := call.Detach(ctx); err != nil {
		return "", err
	}
	form, action, err := server.ElicitForm[consent](ctx, call, "confirm", "Delete "+in.Filename+"?")
	if err != nil {
		return "", err
	}
	if action != mcp.ElicitAccept || !form.Confirm {
		return "kept " + in.Filename, nil
	}
	return "deleted " + in.Filename, nil
}

func multiInput(ctx context.Context, _ struct{}) (string, error) {
	call := server.CallFrom(ctx)
	if _, err := call.Detach(ctx); err != nil {
		return "", err
	}
	schema, err := server.FormFor[struct {
		Name    string `json:"name,omitzero"`
		Confirm bool   `json:"confirm,omitzero"`
	}]()
	if err != nil {
		return "", err
	}
	var name, sure mcp.ElicitResult
	err = call.Ask(ctx,
		server.ElicitQuestion("name", &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: schema}, &name),
		server.ElicitQuestion("sure", &mcp.ElicitParams{Message: "Are you sure?", RequestedSchema: schema}, &sure))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %s", name.Action, sure.Action), nil
}

func toolWithTask(ctx context.Context, _ struct{}) (string, error) {
	call := server.CallFrom(ctx)
	form, action, err := server.ElicitForm[person](ctx, call, "user_name", "What is your name?")
	if err != nil {
		return "", err
	}
	if action != mcp.ElicitAccept {
		return "nobody", nil
	}
	if _, err := call.Detach(ctx); err != nil {
		return "", err
	}
	return "Hello, " + form.Name + "!", nil
}
