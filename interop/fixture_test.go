package interop_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// fixtureEnv makes the test program the server of the tests, over stdio.
const fixtureEnv = "TENON_FIXTURE=stdio"

func TestMain(m *testing.M) {
	if key, value, _ := strings.Cut(fixtureEnv, "="); os.Getenv(key) != value {
		os.Exit(m.Run())
	}
	if err := stdio.Serve(context.Background(), fixture(), nil); err != nil {
		fmt.Fprintln(os.Stderr, "fixture:", err)
		os.Exit(1)
	}
}

// fixtureCommand returns the program of the fixture and its environment.
func fixtureCommand(t *testing.T) (name string, env []string) {
	t.Helper()
	name, err := os.Executable()
	noError(t, err)
	return name, append(os.Environ(), fixtureEnv)
}

// serveFixture serves the fixture over HTTP and returns the URL of its
// endpoint.
func serveFixture(t *testing.T) string {
	t.Helper()
	h := streamhttp.NewHandler(fixture(), nil)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return serveHTTP(t, h) + "/mcp"
}

// seen is what a client finds out about the fixture.
type seen struct {
	Version    string         `json:"version"`
	Server     string         `json:"server"`
	Tools      []string       `json:"tools"`
	Echo       string         `json:"echo"`
	Add        map[string]any `json:"add"`
	Count      string         `json:"count"`
	Progress   []float64      `json:"progress"`
	Ask        string         `json:"ask"`
	Sample     string         `json:"sample"`
	Roots      string         `json:"roots"`
	Failed     string         `json:"failed"`
	Invalid    bool           `json:"invalid"`
	Resources  []string       `json:"resources"`
	Resource   string         `json:"resource"`
	Bytes      string         `json:"bytes"`
	Templates  []string       `json:"templates"`
	Templated  string         `json:"templated"`
	Prompts    []string       `json:"prompts"`
	Prompt     string         `json:"prompt"`
	Completion []string       `json:"completion"`
	Missing    int            `json:"missing"` // the error code for a resource that is not there
}

// wantSeen is what every client must find, in every revision.
func wantSeen(version mcp.Version) seen {
	rev, _ := version.Revision()
	return seen{
		Version: string(version), Server: "tenon-interop",
		Tools: []string{"add", "ask", "count", "echo", "fail", "roots", "sample"},
		Echo:  "grüße", Add: map[string]any{"sum": 42.0},
		Count: "counted to 3", Progress: []float64{1, 2, 3},
		Ask: "Hello, Ada", Sample: "The model says Paris", Roots: "file:///interop",
		Failed: "it was to fail", Invalid: true,
		Resources: []string{"test://bytes", "test://greeting"}, Resource: "hello",
		Bytes:     base64.StdEncoding.EncodeToString([]byte{0, 1, 2, 255}),
		Templates: []string{"test://item/{id}"}, Templated: "item 7",
		Prompts: []string{"greet"}, Prompt: "Greet Ada", Completion: []string{"Ada", "Alan"},
		Missing: rev.NotFound,
	}
}

// fixture is a server with one of everything.
func fixture() *server.Server {
	srv := server.New(mcp.Implementation{Name: "tenon-interop", Version: "1.0.0"}, &server.Options{Complete: completeName})
	type message struct {
		Message string `json:"message"`
	}
	server.AddTool(srv, mcp.Tool{Name: "echo"}, func(_ context.Context, in message) (string, error) { return in.Message, nil })
	type terms struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	type sum struct {
		Sum int `json:"sum"`
	}
	server.AddTool(srv, mcp.Tool{Name: "add"}, func(_ context.Context, in terms) (sum, error) { return sum{in.A + in.B}, nil })
	type steps struct {
		Steps int `json:"steps"`
	}
	server.AddTool(srv, mcp.Tool{Name: "count"}, func(ctx context.Context, in steps) (string, error) { return count(ctx, in.Steps) })
	type nothing struct{}
	server.AddTool(srv, mcp.Tool{Name: "fail"}, func(context.Context, nothing) (string, error) { return "", errors.New("it was to fail") })
	server.AddTool(srv, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ nothing) (string, error) { return askName(ctx) })
	server.AddTool(srv, mcp.Tool{Name: "sample"}, func(ctx context.Context, _ nothing) (string, error) { return askModel(ctx) })
	server.AddTool(srv, mcp.Tool{Name: "roots"}, func(ctx context.Context, _ nothing) (string, error) {
		res, err := server.CallFrom(ctx).Roots(ctx, "roots")
		if err != nil {
			return "", err
		}
		var uris []string
		for _, r := range res.Roots {
			uris = append(uris, r.URI)
		}
		return strings.Join(uris, " "), nil
	})
	if err := addReadables(srv); err != nil {
		panic(err)
	}
	return srv
}

// count reports every step. It takes its time: the clients of npm hand
// notifications over late, and by then have forgotten a call whose answer came
// in the same chunk.
func count(ctx context.Context, steps int) (string, error) {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for i := range steps {
		if err := server.CallFrom(ctx).Progress(ctx, float64(i+1), float64(steps), ""); err != nil {
			return "", err
		}
		<-tick.C
	}
	return fmt.Sprintf("counted to %d", steps), nil
}

func askName(ctx context.Context) (string, error) {
	res, err := server.CallFrom(ctx).Elicit(ctx, "name", &mcp.ElicitParams{
		Message:         "Your name?",
		RequestedSchema: mcp.FormSchema(mcp.Field{Name: "name", Required: true, Schema: mcp.PrimitiveSchema{Type: "string"}}),
	})
	if err != nil {
		return "", err
	}
	var name string
	if err := json.Unmarshal(res.Content["name"], &name); err != nil {
		return "", err
	}
	return "Hello, " + name, nil
}

func askModel(ctx context.Context) (string, error) {
	res, err := server.CallFrom(ctx).Sample(ctx, "capital", &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.OneOrMany{mcp.Text("The capital of France?")}}},
		MaxTokens: 10,
	})
	if err != nil {
		return "", err
	}
	return "The model says " + textOf(mcp.Contents(res.Content)), nil
}

func addReadables(srv *server.Server) error {
	read := func(c mcp.ResourceContents) *mcp.ReadResourceResult {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{c}}
	}
	return errors.Join(
		srv.AddResource(mcp.Resource{URI: "test://greeting", Name: "greeting", MIMEType: "text/plain"},
			func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
				return read(mcp.ResourceContents{URI: p.URI, MIMEType: "text/plain", Text: "hello"}), nil
			}),
		srv.AddResource(mcp.Resource{URI: "test://bytes", Name: "bytes"},
			func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
				return read(mcp.ResourceContents{URI: p.URI, Blob: []byte{0, 1, 2, 255}}), nil
			}),
		srv.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "test://item/{id}", Name: "item"},
			func(_ context.Context, p *mcp.ReadResourceParams, vars map[string]string) (*mcp.ReadResourceResult, error) {
				return read(mcp.ResourceContents{URI: p.URI, Text: "item " + vars["id"]}), nil
			}),
		srv.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "name", Required: true}}},
			func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
				message := mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Text("Greet " + p.Arguments["name"])}
				return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{message}}, nil
			}))
}

func completeName(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	res := new(mcp.CompleteResult)
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		if strings.HasPrefix(name, p.Argument.Value) {
			res.Completion.Values = append(res.Completion.Values, name)
		}
	}
	return res, nil
}
