package server_test

import (
	"fmt"

	"github.com/tenon-mcp/tenon/server"
)

func ExampleFormFor() {
	type Booking struct {
		Name  string `json:"name" jsonschema:"on whose name"`
		Seats int    `json:"seats" jsonschema:"minimum=1,default=2"`
		Meal  string `json:"meal,omitzero" jsonschema:"enum=lunch|dinner"`
	}
	form, err := server.FormFor[Booking]()
	fmt.Println(string(form), err)

	type Nested struct {
		Booking Booking `json:"booking"`
	}
	_, err = server.FormFor[Nested]()
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"name":{"type":"string","description":"on whose name"},"seats":{"type":"integer","minimum":1,"default":2},"meal":{"type":"string","enum":["lunch","dinner"]}},"required":["name"]} <nil>
	// server: server_test.Nested is no form: form schema: field "booking": a field is a string, number, integer, boolean, or an array of choices, and it is "object"
}
