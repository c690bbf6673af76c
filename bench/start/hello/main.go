// hello is the server of examples/hello for who needs no HTTP: package stdio
// serves it, and hardly anything of net/http is linked.
package main

import (
	"context"
	"log"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/stdio"
)

type greeting struct {
	Name string `json:"name" jsonschema:"who to greet"`
}

func main() {
	srv := server.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
	server.AddTool(srv, mcp.Tool{Name: "greet", Description: "Greet somebody"},
		func(_ context.Context, in greeting) (string, error) { return "Hello, " + in.Name + "!", nil })
	if err := stdio.Serve(context.Background(), srv, nil); err != nil {
		log.Fatal(err)
	}
}
