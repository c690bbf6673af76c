package main

import (
	"context"
	"log"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type greeting struct {
	Name string `json:"name" jsonschema:"who to greet"`
}

func greet(ctx context.Context, in greeting) (string, error) {
	return "Hello, " + in.Name + "!", nil
}

func main() {
	srv := server.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
	server.AddTool(srv, mcp.Tool{Name: "greet", Description: "Greet somebody"}, greet)
	if err := tenon.Serve(context.Background(), srv); err != nil { // stdio; with -http ADDR it is HTTP
		log.Fatal(err)
	}
}
