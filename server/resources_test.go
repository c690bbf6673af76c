package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

func readNoVars(context.Context, *mcp.ReadResourceParams, map[string]string) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{}, nil
}

// showing has templates whose resources show the variables.
func showing(t *testing.T, templates ...string) *server.Server {
	t.Helper()
	s := newServer(nil)
	for _, tmpl := range templates {
		err := s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: tmpl, Name: "n"},
			func(_ context.Context, p *mcp.ReadResourceParams, vars map[string]string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: fmt.Sprint(vars)}}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestFilesAreNotClimbedOutOf(t *testing.T) {
	t.Parallel()
	s := showing(t, "file:///docs/{name}", "file:///all/{+path}", "note://{+path}")
	w := dial(t, s)
	for _, bad := range []string{
		"file:///docs/..", "file:///docs/%2e%2e", "file:///docs/..%2Fetc%2Fpasswd", "file:///docs/%2E%2E%5Cetc",
		"file:///all/../etc", "file:///all/a/../../etc", "FILE:///all/..", "file:///all/a%2f..%2fb", `file:///all/..\\etc`,
		"file:///all/..?x", "file:///all/..#x", "file:///all/.%2E/x",
	} {
		if e := w.wants(rpc.CodeInvalidParams, "resources/read", modern(`"uri":"`+bad+`"`)); !strings.Contains(e.Message, "..") && !strings.Contains(e.Message, "not found") {
			t.Errorf("%s: %v", bad, e)
		}
	}
	for uri, want := range map[string]string{
		"file:///docs/a..b":    "map[name:a..b]",
		"file:///docs/...":     "map[name:...]",
		"file:///all/a/.b/c..": "map[path:a/.b/c..]",
		"note://../x":          "map[path:../x]", // names no file: the handler knows what it means
	} {
		raw := w.must("resources/read", modern(`"uri":"`+uri+`"`))
		if got := decode[mcp.ReadResourceResult](t, raw).Contents[0].Text; got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
	// One that is offered by its very URI is no way out.
	if err := s.AddResource(mcp.Resource{URI: "file:///docs/../shared", Name: "n"}, readNothing); err != nil {
		t.Fatal(err)
	}
	w.must("resources/read", modern(`"uri":"file:///docs/../shared"`))
}

func TestQueriesGiveOnlyTheirVariables(t *testing.T) {
	t.Parallel()
	w := dial(t, showing(t, "a://x{/id}{?q,r}", "b://x{/id}{?all*}{#frag}", "c://x?fixed=1{&more}"))
	for uri, want := range map[string]string{
		"a://x?id=evil&q=1":          "map[q:1]",
		"a://x/7?id=evil&q=1&other=": "map[id:7 q:1]",
		"a://x?q=1&q=2":              "map[q:1]",
		"a://x?&&q":                  "map[q:]",
		"a://x?q=a=b":                "map[q:a=b]",
		"b://x?any=1&id=evil&frag=e": "map[any:1]",
		"b://x/7?any=1#f":            "map[any:1 frag:f id:7]",
		"c://x?fixed=1&more=2":       "map[more:2]",
		"c://x?fixed=1":              "map[]",
	} {
		raw := w.must("resources/read", modern(`"uri":"`+uri+`"`))
		if got := decode[mcp.ReadResourceResult](t, raw).Contents[0].Text; got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
	for _, bad := range []string{"a://x?q=%", "a://x?%FF=1", "a://x?q=%FF", "c://x?fixed=2", "a://x/1/2"} {
		w.wants(rpc.CodeInvalidParams, "resources/read", modern(`"uri":"`+bad+`"`))
	}
}

func TestFeaturesAreTakenBack(t *testing.T) {
	t.Parallel()
	s := withResources(t, nil)
	if err := s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "x:{id}", Name: "n"}, readNoVars); err != nil {
		t.Fatal(err)
	}
	err := s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	w := dial(t, s)
	w.must("prompts/get", modern(`"name":"p"`))
	s.RemovePrompts("p", "none")
	w.wants(rpc.CodeInvalidParams, "prompts/get", modern(`"name":"p"`))
	w.must("resources/read", modern(`"uri":"x:a"`))
	s.RemoveResources("x:a", "none")
	w.must("resources/read", modern(`"uri":"x:a"`)) // by the template
	s.RemoveResourceTemplates("x:{id}", "none")
	w.wants(rpc.CodeInvalidParams, "resources/read", modern(`"uri":"x:a"`))
	for method, want := range map[string]string{ // what was declared still is
		"prompts/list": `"prompts":[]`, "resources/templates/list": `"resourceTemplates":[]`,
	} {
		if got := w.must(method, modern("")); !strings.Contains(got, want) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// One feature that cannot be encoded would break the list for all.
func TestDefinitionsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	noPrompt := func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { return nil, nil }
	bad := mcp.Meta{"k": []byte(`{"a":`)}
	for name, err := range map[string]error{
		"tool with bad meta":     s.AddTool(mcp.Tool{Name: "t", InputSchema: []byte(anyObject), Meta: bad}, nop),
		"tool without name":      s.AddTool(mcp.Tool{InputSchema: []byte(anyObject)}, nop),
		"tool without handler":   s.AddTool(mcp.Tool{Name: "t", InputSchema: []byte(anyObject)}, nil),
		"prompt with bad meta":   s.AddPrompt(mcp.Prompt{Name: "p", Meta: bad}, noPrompt),
		"prompt without name":    s.AddPrompt(mcp.Prompt{}, noPrompt),
		"prompt without handler": s.AddPrompt(mcp.Prompt{Name: "p"}, nil),
		"same argument twice":    s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}, {Name: "a"}}}, noPrompt),
		"resource with bad meta": s.AddResource(mcp.Resource{URI: "x:a", Name: "n", Meta: bad}, readNothing),
		"template with bad meta": s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "x:{a}", Name: "n", Meta: bad}, readNoVars),
		"template without name":  s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "x:{a}"}, readNoVars),
		"template, no handler":   s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "x:{a}", Name: "n"}, nil),
		"method without handler": s.HandleMethod("x/y", nil),
		"notification, no name":  s.HandleNotification("", func(context.Context, *rpc.Request) {}),
		"update, not UTF-8":      s.ResourceUpdated(t.Context(), "\xff"),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "server: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
