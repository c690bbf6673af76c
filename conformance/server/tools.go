package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

var (
	// A red pixel.
	//go:embed testdata/pixel.png
	pixel []byte
	// A moment of silence.
	//go:embed testdata/silence.wav
	silence []byte
	// Every keyword that a schema must keep on its way.
	//go:embed testdata/schema.json
	schema2020 []byte
)

// step is how long the fixtures take between two notifications.
const step = 50 * time.Millisecond

// noInput is the input of a tool that takes nothing.
type noInput struct{}

// add adds a tool without input.
func add[Out any](srv *server.Server, name, description string, fn func(context.Context) (Out, error)) {
	server.AddTool(srv, mcp.Tool{Name: name, Description: description},
		func(ctx context.Context, _ noInput) (Out, error) { return fn(ctx) })
}

// addFixed adds a tool that always returns the same blocks.
func addFixed(srv *server.Server, name, description string, blocks ...mcp.Content) {
	add(srv, name, description, func(context.Context) ([]mcp.Content, error) { return blocks, nil })
}

func addTools(srv *server.Server) {
	embedded := func(uri, mimeType, text string) *mcp.EmbeddedResource {
		return &mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
	}
	image := &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}
	addFixed(srv, "test_simple_text", "Returns text.", mcp.Text("This is a simple text response for testing."))
	addFixed(srv, "test_image_content", "Returns an image.", image)
	addFixed(srv, "test_audio_content", "Returns audio.", &mcp.AudioContent{Data: silence, MIMEType: "audio/wav"})
	addFixed(srv, "test_embedded_resource", "Returns a resource.",
		embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))
	addFixed(srv, "test_multiple_content_types", "Returns text, an image and a resource.",
		mcp.Text("Multiple content types test:"), image,
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))
	add(srv, "test_error_handling", "Always fails.", func(context.Context) (string, error) {
		return "", errors.New("This tool intentionally returns an error for testing") //nolint:staticcheck // the suite's words
	})
	add(srv, "test_tool_with_logging", "Logs while it runs.", logWhileRunning)
	add(srv, "test_logging_tool", "Logs once.", func(ctx context.Context) (string, error) {
		return "Logging evaluated", server.CallFrom(ctx).Log(ctx, mcp.LevelInfo, "Diagnostic trace")
	})
	add(srv, "test_tool_with_progress", "Reports progress.", reportProgress)
	add(srv, "test_reconnection", "Ends its stream before it answers.", endStreamEarly)
	addTriggers(srv)
	addSchemaTools(srv)
}

func logWhileRunning(ctx context.Context) (string, error) {
	c := server.CallFrom(ctx)
	for i, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			pause(ctx, step)
		}
		if err := c.Log(ctx, mcp.LevelInfo, message); err != nil {
			return "", err
		}
	}
	return "Tool with logging executed successfully", nil
}

func reportProgress(ctx context.Context) (string, error) {
	c := server.CallFrom(ctx)
	for _, done := range []float64{0, 50, 100} {
		if done > 0 {
			pause(ctx, step)
		}
		if err := c.Progress(ctx, done, 100, fmt.Sprintf("Completed step %v of 100", done)); err != nil {
			return "", err
		}
	}
	return "Tool with progress executed successfully", nil
}

func endStreamEarly(ctx context.Context) (string, error) {
	// Where the client does not poll there is nothing to end, and the answer
	// goes the usual way.
	if err := server.CallFrom(ctx).ClosePoll(step); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return "", err
	}
	pause(ctx, 2*step)
	return "Reconnection test completed successfully.", nil
}

// pause waits, but not longer than anybody wants the answer.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// addTriggers adds the tools that change what is listed.
func addTriggers(srv *server.Server) {
	add(srv, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context) (string, error) {
		addFixed(srv, "test_dynamic_tool", "Comes and goes.", mcp.Text("still here"))
		srv.RemoveTools("test_dynamic_tool")
		return "Mutation triggered", nil
	})
	add(srv, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context) (string, error) {
		if err := addPrompt(srv, mcp.Prompt{Name: "test_dynamic_prompt", Description: "Comes and goes."}, "still here"); err != nil {
			return "", err
		}
		srv.RemovePrompts("test_dynamic_prompt")
		return "Mutation triggered", nil
	})
}

func addSchemaTools(srv *server.Server) {
	type input struct {
		Name          string         `json:"name,omitzero"`
		Address       jsontext.Value `json:"address,omitzero"`
		ContactMethod string         `json:"contactMethod,omitzero"`
		Phone         string         `json:"phone,omitzero"`
		Email         string         `json:"email,omitzero"`
	}
	tool := mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema with many keywords.", InputSchema: schema2020}
	server.AddTool(srv, tool, func(_ context.Context, in input) (string, error) {
		return "JSON Schema 2020-12 tool called by " + in.Name, nil
	})
	tool = mcp.Tool{
		Name: "test_custom_header", Description: "Takes a parameter that is repeated in a header.",
		InputSchema: jsontext.Value(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}`),
	}
	type region struct {
		Region string `json:"region"`
	}
	server.AddTool(srv, tool, func(_ context.Context, in region) (string, error) { return "Region: " + in.Region, nil })
}
