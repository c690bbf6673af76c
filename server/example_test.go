package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// try calls the tool x of a server and returns what it says.
func try(s *server.Server, arguments ...string) string {
	h := streamhttp.NewHandler(s, nil)
	defer h.Close()
	ts := httptest.NewServer(h)
	defer ts.Close()
	c, err := client.Connect(context.Background(), &streamhttp.Dialer{URL: ts.URL}, nil)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	var lines []string
	for _, args := range arguments {
		line, err := client.CallTool[string](context.Background(), c, "x", jsontext.Value(args))
		if err != nil {
			line = err.Error()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func ExampleAddTool() {
	type forecast struct {
		City string `json:"city" jsonschema:"where, as people write it,minLength=2"`
		Days int    `json:"days" jsonschema:"minimum=1,maximum=7,default=3"`
		Unit string `json:"unit" jsonschema:"enum=celsius|fahrenheit,default=celsius"`
	}
	s := server.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "x"}, func(_ context.Context, in forecast) (string, error) {
		return fmt.Sprintf("%s, %d days in %s", in.City, in.Days, in.Unit), nil
	})
	fmt.Println(try(s, `{"city":"Ulm"}`, `{"city":"Ulm","days":1,"unit":"fahrenheit"}`, `{"city":"Ulm","days":9}`))
	// Output:
	// Ulm, 3 days in celsius
	// Ulm, 1 days in fahrenheit
	// tool x failed: arguments.days: must be at most 7
}

func ExampleOneOf() {
	type drawing struct {
		Shape shape `json:"shape"`
	}
	s := server.New(mcp.Implementation{Name: "shapes", Version: "1.0.0"}, &server.Options{
		OneOf: []server.Alternatives{server.OneOf[shape](circle{}, square{})},
	})
	server.AddTool(s, mcp.Tool{Name: "x"}, func(_ context.Context, in drawing) (string, error) {
		return fmt.Sprintf("%T of %g", in.Shape, in.Shape.Area()), nil
	})
	fmt.Println(try(s, `{"shape":{"kind":"circle","radius":2}}`, `{"shape":{"kind":"square","side":3}}`))
	// Output:
	// server_test.circle of 12
	// server_test.square of 9
}

type shape interface{ Area() float64 }

type circle struct {
	Kind   string  `json:"kind" jsonschema:"const=circle"`
	Radius float64 `json:"radius"`
}

type square struct {
	Kind string  `json:"kind" jsonschema:"const=square"`
	Side float64 `json:"side"`
}

func (c circle) Area() float64 { return 3 * c.Radius * c.Radius } // roughly
func (s square) Area() float64 { return s.Side * s.Side }
