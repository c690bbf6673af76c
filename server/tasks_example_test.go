package server_test

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// A tool that may run as a task, and a client that goes on meanwhile.
func ExampleTaskOptions() {
	srv := server.New(mcp.Implementation{Name: "backup", Version: "1.0.0"}, &server.Options{Tasks: &server.TaskOptions{}})
	tool := mcp.Tool{Name: "backup", Execution: &mcp.ToolExecution{TaskSupport: "optional"}}
	server.AddTool(srv, tool, func(ctx context.Context, _ struct{}) (string, error) {
		if _, err := server.CallFrom(ctx).Detach(ctx); err != nil {
			return "", err
		}
		return "all is safe", nil // after an hour
	})

	ctx := context.Background()
	here, there := rpc.Pipe()
	conn := rpc.NewDuplex(ctx, there, srv, nil)
	defer conn.Close()
	dialer := rpc.StreamDialer{Open: func(context.Context) (rpc.Stream, error) { return here, nil }}
	c, err := client.Connect(ctx, dialer, &client.Options{Tasks: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	task, err := c.StartTool(ctx, &mcp.CallToolParams{Name: "backup"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a task:", task.ID() != "")
	res, err := task.Wait(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// a task: true
	// all is safe
}
