package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

func titled() []mcp.EnumOption {
	return []mcp.EnumOption{{Const: "a", Title: "First"}, {Const: "b", Title: "Second"}}
}

// The five forms of SEP-1330, as they are written, and what can be chosen.
func TestChoiceBuilders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		field      mcp.PrimitiveSchema
		titles     string
		old        string // for 2025-06-18; "" = it is not sent
	}{
		{"untitled single", `{"type":"string","enum":["a","b"],"default":"a"}`, mcp.Select("a", "b").WithDefault("a"), "a b", `{"type":"string","enum":["a","b"]}`},
		{
			"titled single", `{"type":"string","oneOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}]}`, mcp.SelectTitled(titled()...), "First Second",
			`{"type":"string","enum":["a","b"],"enumNames":["First","Second"]}`,
		},
		{
			"legacy", `{"type":"string","enum":["a","b"],"enumNames":["First","Second"]}`, mcp.SelectNamed(titled()...), "First Second",
			`{"type":"string","enum":["a","b"],"enumNames":["First","Second"]}`,
		},
		{"untitled multi", `{"type":"array","items":{"type":"string","enum":["a","b"]},"default":[]}`, mcp.MultiSelect("a", "b").WithDefault([]string{}), "a b", ""},
		{"titled multi", `{"type":"array","items":{"anyOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}]}}`, mcp.MultiSelectTitled(titled()...), "First Second", ""},
	} {
		got, err := json.Marshal(&tt.field)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
		var titles []string
		for _, o := range tt.field.Choices() {
			titles = append(titles, o.Title)
		}
		if strings.Join(titles, " ") != tt.titles {
			t.Errorf("%s: titles %q", tt.name, titles)
		}
		form := mcp.FormSchema(mcp.Field{Name: "f", Schema: tt.field})
		if err := mcp.CheckForm(form); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		want := `{"type":"object","properties":{` + strings.TrimSuffix(`"f":`+tt.old, `"f":`) + `}}`
		old, _ := mcp.Downgrade(mcp.V20250618, &mcp.ElicitParams{RequestedSchema: form}).(*mcp.ElicitParams)
		if string(old.RequestedSchema) != want {
			t.Errorf("%s: 2025-06-18 gets %s, want %s", tt.name, old.RequestedSchema, want)
		}
		now, _ := mcp.Downgrade(mcp.V20251125, &mcp.ElicitParams{RequestedSchema: form}).(*mcp.ElicitParams)
		if string(now.RequestedSchema) != string(form) {
			t.Errorf("%s: 2025-11-25 gets %s", tt.name, now.RequestedSchema)
		}
	}
}

func TestCheckForm(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:                  `there is none`,
		`{`:                 `form schema`,
		`{"type":"object"}`: `must have the type "object" and properties`,
		`{"type":"array"}`:  `must have the type "object" and properties`,
		`{"type":"object","properties":{"f":{"type":"object"}}}`:                                                        `field "f": a field is a string`,
		`{"type":"object","properties":{"f":{"type":"array"}}}`:                                                         `needs items`,
		`{"type":"object","properties":{"f":{"type":"array","items":{"type":"string"}}}}`:                               `nothing to choose from`,
		`{"type":"object","properties":{"f":{"type":"string","items":{"enum":["a"]}}}}`:                                 `items are for the type array`,
		`{"type":"object","properties":{"f":{"type":"string","enum":[]}}}`:                                              `nothing to choose from`,
		`{"type":"object","properties":{"f":{"type":"string","enum":["a"],"enumNames":["A","B"]}}}`:                     `2 names for 1 values`,
		`{"type":"object","properties":{"f":{"type":"string","oneOf":[{"const":"a"}]}}}`:                                `no title`,
		`{"type":"object","properties":{"f":{"type":"integer","enum":["a"]}}}`:                                          `choices are strings`,
		`{"type":"object","properties":{"f":{"type":"string","format":"uuid"}}}`:                                        `"uuid"`,
		`{"type":"object","properties":{"f":{"type":"string","enum":["a"],"default":"b"}}}`:                             `default`,
		`{"type":"object","properties":{"f":{"type":"string","default":1}}}`:                                            `default`,
		`{"type":"object","properties":{"f":{"type":"boolean","default":"true"}}}`:                                      `default`,
		`{"type":"object","properties":{"f":{"type":"number","default":null}}}`:                                         `default`,
		`{"type":"object","properties":{"f":{"type":"array","items":{"type":"string","enum":["a"]},"default":["b"]}}}`:  `default`,
		`{"type":"object","properties":{}}`:                                                                             "",
		`{"type":"object","properties":{"f":{"type":"string","default":""},"g":{"type":"integer","default":0}}}`:        "",
		`{"type":"object","properties":{"f":{"type":"boolean","default":false},"g":{"type":"string","format":"date"}}}`: "",
	} {
		err := mcp.CheckForm(jsontext.Value(schema))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

func ExampleSelectTitled() {
	form := mcp.FormSchema(
		mcp.Field{Name: "room", Required: true, Schema: mcp.SelectTitled(
			mcp.EnumOption{Const: "r1", Title: "By the window"},
			mcp.EnumOption{Const: "r2", Title: "By the door"},
		).WithDefault("r1")},
		mcp.Field{Name: "days", Schema: mcp.MultiSelect("Saturday", "Sunday")},
	)
	fmt.Println(string(form))
	// A client of 2025-06-18 is sent what that revision has.
	old := mcp.Downgrade("2025-06-18", &mcp.ElicitParams{RequestedSchema: form}).(*mcp.ElicitParams)
	fmt.Println(string(old.RequestedSchema))
	// Output:
	// {"type":"object","properties":{"room":{"type":"string","oneOf":[{"const":"r1","title":"By the window"},{"const":"r2","title":"By the door"}],"default":"r1"},"days":{"type":"array","items":{"type":"string","enum":["Saturday","Sunday"]}}},"required":["room"]}
	// {"type":"object","properties":{"room":{"type":"string","enum":["r1","r2"],"enumNames":["By the window","By the door"]}},"required":["room"]}
}
