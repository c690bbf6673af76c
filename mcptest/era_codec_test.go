package mcptest_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type figure interface{ edges() int }

type circle struct {
	Kind string  `json:"kind" jsonschema:"const=circle"`
	R    float64 `json:"r"`
}

type polygon struct {
	Kind  string   `json:"kind" jsonschema:"const=polygon"`
	Sides int      `json:"sides" jsonschema:"default=3"`
	Home  *url.URL `json:"home,omitzero"`
}

func (circle) edges() int     { return 0 }
func (p *polygon) edges() int { return p.Sides }

type drawing struct {
	Site    url.URL  `json:"site"`
	Figures []figure `json:"figures"`
}

// TestTypedBothWays has Go types that the JSON package does not write as their
// schema says go to a tool and come back.
func TestTypedBothWays(t *testing.T) {
	t.Parallel()
	options := &server.Options{OneOf: []server.Alternatives{server.OneOf[figure](circle{}, &polygon{})}}
	eachEra(t, options, func(t *testing.T, e era) {
		addTool(e, "copy", func(_ context.Context, in drawing) (drawing, error) { return in, nil })
		e.opts.OneOf = []client.Alternatives{client.OneOf[figure](circle{}, &polygon{})}
		c := e.connect()
		home, err := url.Parse("https://a.b/c?d=e")
		if err != nil {
			t.Fatal(err)
		}
		in := drawing{Site: *home, Figures: []figure{circle{Kind: "circle", R: 2}, &polygon{Kind: "polygon", Sides: 4, Home: home}}}
		out := must[drawing](t)(client.CallTool[drawing](t.Context(), c, "copy", in))
		equal(t, "site", out.Site, *home)
		if len(out.Figures) != 2 || out.Figures[0].edges() != 0 || out.Figures[1].edges() != 4 || *out.Figures[1].(*polygon).Home != *home {
			t.Errorf("got %+v", out)
		}
		byPointer := must[*drawing](t)(client.CallTool[*drawing](t.Context(), c, "copy", &in))
		equal(t, "site by pointer", byPointer.Site, *home)
		// A type without a schema has its URLs all the same.
		type odd struct {
			Site    url.URL  `json:"site"`
			Figures []figure `json:"figures"`
			Other   chan int `json:"other,omitempty"`
		}
		if _, err := client.CallTool[odd](t.Context(), c, "copy", in); err == nil || strings.Contains(err.Error(), "url.URL") {
			t.Errorf("a type that cannot be read: %v", err)
		}
	})
}

func TestBadOneOf(t *testing.T) {
	t.Parallel()
	eachEra(t, nil, func(t *testing.T, e era) {
		e.opts.OneOf = []client.Alternatives{client.OneOf[figure]()}
		_, err := client.Connect(t.Context(), e.Dialer(e.srv), e.opts)
		if err == nil || !strings.Contains(err.Error(), "lists no type") || errors.Is(err, mcp.ErrInvalidParams) {
			t.Errorf("error %v", err)
		}
	})
}
