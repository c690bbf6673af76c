// Package sample is the server that the benchmarks call: the tools that the
// harness asks for.
package sample

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Fan is the resource whose changes the tool fire tells of.
const Fan = "bench://fan"

type echoIn struct {
	Text string `json:"text" jsonschema:"text to echo"`
}

type addIn struct {
	A float64 `json:"a" jsonschema:"first addend"`
	B float64 `json:"b" jsonschema:"second addend"`
}

type addOut struct {
	Sum float64 `json:"sum" jsonschema:"a plus b"`
}

type countIn struct {
	N int `json:"n" jsonschema:"how many"`
}

type dummyIn struct {
	Query string `json:"query" jsonschema:"what to look for"`
	Limit int    `json:"limit,omitzero" jsonschema:"how many results at most"`
}

// Server returns the server, with further tools that are only listed.
func Server(dummies int) *server.Server {
	s := server.New(mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	if err := s.AddResource(mcp.Resource{URI: Fan, Name: "fan"}, readFan); err != nil {
		panic(err)
	}
	server.AddTool(s, mcp.Tool{Name: "echo", Description: "Echo the text back"},
		func(_ context.Context, in echoIn) (string, error) { return in.Text, nil })
	server.AddTool(s, mcp.Tool{Name: "add", Description: "Add two numbers"},
		func(_ context.Context, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil })
	server.AddTool(s, mcp.Tool{Name: "progress", Description: "Emit n progress notifications"}, progress)
	server.AddTool(s, mcp.Tool{Name: "fire", Description: "Broadcast n resource updates"},
		func(ctx context.Context, in countIn) (string, error) {
			for range in.N {
				if err := s.ResourceUpdated(ctx, Fan); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
	for i := range dummies {
		server.AddTool(s, mcp.Tool{Name: fmt.Sprintf("dummy%03d", i), Description: fmt.Sprintf("Dummy tool number %d of the list benchmark", i)},
			func(_ context.Context, in dummyIn) (string, error) { return in.Query, nil })
	}
	return s
}

func readFan(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "x"}}}, nil
}

func progress(ctx context.Context, in countIn) (string, error) {
	call := server.CallFrom(ctx)
	for i := range in.N {
		if err := call.Progress(ctx, float64(i+1), float64(in.N), ""); err != nil {
			return "", err
		}
	}
	return "done", nil
}
