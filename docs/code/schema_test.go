package code_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

// tags {

// Order has what JSON Schema can say of a field in its tags.
type Order struct {
	City  string   `json:"city" jsonschema:"where to, or near it,minLength=2,example=Ulm"`
	Days  int      `json:"days" jsonschema:"how fast,minimum=1,maximum=7,default=3"`
	Size  string   `json:"size,omitzero" jsonschema:"enum=small|large"`
	Codes []string `json:"codes,omitzero" jsonschema:"pattern=^[A-Z]{2,3}$,maxItems=5"`
	Paint Color    `json:"paint,omitzero"`
	Gift  Gift     `json:"gift,omitzero" jsonschema:"what goes with it"`
}

// }

// own {

// Color is written #rrggbb.
type Color string

// JSONSchema describes a color wherever one is.
func (Color) JSONSchema() jsontext.Value {
	return jsontext.Value(`{"type":"string","pattern":"^#[0-9a-f]{6}$"}`)
}

// }

// oneof {

// Gift is one of several types. Each has a field that tells it from the others.
type Gift interface{ Wrap() string }

// Card is a gift.
type Card struct {
	Kind string `json:"kind" jsonschema:"const=card"`
	Text string `json:"text"`
}

// Plant is a gift.
type Plant struct {
	Kind  string `json:"kind" jsonschema:"const=plant"`
	Water bool   `json:"water" jsonschema:"default=true"`
}

// Wrap implements Gift.
func (c Card) Wrap() string { return "a card: " + c.Text }

// Wrap implements Gift.
func (p Plant) Wrap() string { return fmt.Sprintf("a plant (water: %t)", p.Water) }

func newShop() *server.Server {
	shop := server.New(mcp.Implementation{Name: "shop", Version: "1.0.0"}, &server.Options{
		OneOf: []server.Alternatives{server.OneOf[Gift](Card{}, Plant{})},
	})
	server.AddTool(shop, mcp.Tool{Name: "order"}, func(ctx context.Context, o Order) (string, error) {
		text := fmt.Sprintf("to %s in %d days", o.City, o.Days)
		if o.Gift != nil {
			text += " with " + o.Gift.Wrap()
		}
		return text, nil
	})
	return shop
}

// }

func TestOrder(t *testing.T) {
	t.Parallel()
	c := mcptest.Pair(t, newShop(), nil)
	for _, tt := range []struct{ args, want string }{
		{`{"city":"Ulm"}`, "to Ulm in 3 days"},
		{`{"city":"Ulm","days":1,"gift":{"kind":"plant"}}`, "to Ulm in 1 days with a plant (water: true)"},
		{`{"city":"Ulm","gift":{"kind":"card","text":"hi"},"paint":"#00ff00"}`, "to Ulm in 3 days with a card: hi"},
		{`{"city":"Ulm","days":8}`, "must be at most 7"},
		{`{"city":"Ulm","codes":["x"]}`, "arguments.codes[0]: must match the pattern"},
		{`{"city":"Ulm","paint":"green"}`, "arguments.paint: must match the pattern"},
	} {
		got, err := client.CallTool[string](t.Context(), c, "order", jsontext.Value(tt.args))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}
