package mcp_test

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// validator checks text against a definition, or a place below it.
type validator func(below, def string, text []byte) error

// newValidator compiles the schema of a revision after edit changed it.
func newValidator(t *testing.T, dir, name string, edit func(doc any)) validator {
	t.Helper()
	b, err := os.ReadFile(schemaFile(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	edit(doc)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:schema.json", doc); err != nil {
		t.Fatal(err)
	}
	defs := "definitions"
	if _, ok := doc.(map[string]any)["$defs"]; ok {
		defs = "$defs"
	}
	var mu sync.Mutex // compiling a definition changes those it refers to
	return func(below, def string, text []byte) error {
		mu.Lock()
		defer mu.Unlock()
		s, err := c.Compile("mem:schema.json#/" + defs + "/" + url.PathEscape(def) + below)
		if err != nil {
			return err
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}

func asItIs(any) {}

// strict makes each object with properties refuse others, so that what a
// revision does not have is found. Objects that are parts of an allOf, and
// _meta, stay open.
func strict(doc any) {
	open := map[string]bool{}
	walk(doc, func(_ string, m map[string]any) {
		parts, _ := m["allOf"].([]any)
		for _, p := range parts {
			if ref, ok := p.(map[string]any)["$ref"].(string); ok {
				open[refName(ref)] = true
			}
			walk(p, func(_ string, m map[string]any) { m["open"] = true })
		}
	})
	walk(doc, func(key string, m map[string]any) {
		props, hasProps := m["properties"].(map[string]any)
		if hasProps && key == "params" && props["_meta"] == nil {
			props["_meta"] = true // of each request and notification, said elsewhere
		}
		if hasProps && strings.HasSuffix(key, "Capabilities") && props["extensions"] == nil {
			props["extensions"] = true // initialize may have them: SEP-2133
		}
		_, says := m["additionalProperties"]
		if hasProps && !says && m["open"] == nil && !open[key] && key != "_meta" && !strings.HasSuffix(key, "MetaObject") {
			m["additionalProperties"] = false
		}
	})
}

// walk visits all objects of a document that are schemas or maps of them.
func walk(v any, f func(key string, m map[string]any)) {
	var rec func(key string, v any)
	rec = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			f(key, v)
			for k, e := range v {
				rec(k, e)
			}
		case []any:
			for _, e := range v {
				rec(key, e)
			}
		}
	}
	rec("", v)
}

// TestValues fills in every field of every message, says it to each revision,
// and expects what the schema of that revision allows, and no more.
func TestValues(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t)
	for _, r := range mcp.Revisions() {
		t.Run(string(r.Version), func(t *testing.T) {
			t.Parallel()
			schema := readSchema(t, dir, string(r.Version))
			validate := newValidator(t, dir, string(r.Version), strict)
			n := 0
			for def, node := range schema.defs() {
				if m := node.method(schema.defs()); m != "" {
					below := "/properties/params"
					if node.AllOf == nil && node.Properties["params"] != nil {
						checkValue(t, r.Version, validate, below, def, paramsTypes()[m])
						n++
					}
					continue
				}
				v := goType(string(r.Version), def)
				if v == nil || noType()[def] != "" || !strings.HasSuffix(def, "Result") {
					continue
				}
				if reflect.TypeOf(v).PkgPath() != reflect.TypeFor[mcp.Tool]().PkgPath() || ambiguous[def] {
					continue
				}
				checkValue(t, r.Version, validate, "", def, v)
				n++
			}
			if n < 20 {
				t.Errorf("only %d values were checked", n)
			}
		})
	}
}

// ambiguous definitions stand for several Go types.
var ambiguous = map[string]bool{"CacheableResult": true, "PaginatedResult": true}

func checkValue(t *testing.T, v mcp.Version, validate validator, below, def string, of any) {
	t.Helper()
	for _, variant := range []int{0, 1} {
		ptr := reflect.New(reflect.TypeOf(of))
		f := filler{t: t, version: v, variant: variant}
		f.fill("", ptr.Elem())
		before, err := json.Marshal(ptr.Interface(), json.Deterministic(true))
		if err != nil {
			t.Errorf("%s: %v", def, err)
			return
		}
		out, err := json.Marshal(mcp.Downgrade(v, ptr.Interface()))
		if err != nil {
			t.Errorf("%s: %v", def, err)
			return
		}
		if err := validate(below, def, out); err != nil {
			t.Errorf("%s %s: %v\n%s", v, def, err, out)
		}
		after, err := json.Marshal(ptr.Interface(), json.Deterministic(true))
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: Downgrade changed its argument (%v)\nwant %s\ngot  %s", def, err, before, after)
		}
	}
}

// filler fills in values. Its variant chooses between forms of a union.
type filler struct {
	t       *testing.T
	version mcp.Version
	variant int
}

func (f filler) fill(name string, v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *jsontext.Value:
		*x = f.json(name)
		return
	case *mcp.Meta:
		*x = f.meta()
		return
	case *rpc.ID:
		*x = rpc.IntID(1)
		return
	case *mcp.ProgressToken:
		*x = mcp.StringToken("t")
		return
	case *mcp.ElicitParams:
		f.elicit(x)
		return
	case *mcp.CompleteReference:
		*x = f.reference()
		return
	case *mcp.Content:
		*x = f.blocks()[f.variant]
		return
	case *mcp.Contents:
		*x = f.blocks()
		return
	case *mcp.OneOrMany:
		*x = append(mcp.OneOrMany(f.blocks()[1:4:4]), &mcp.ToolUseContent{ID: "1", Name: "n", Meta: f.meta()},
			&mcp.ToolResultContent{ToolUseID: "1", Content: f.blocks(), StructuredContent: jsontext.Value(`[1]`), IsError: true, Meta: f.meta()})
		return
	case *mcp.ResourceContents:
		*x = f.contents()
		return
	case *mcp.CallToolResult:
		f.fields(v)
		x.Questions = mcp.Questions{} // they are in InputRequiredResult
		return
	case *mcp.GetPromptResult:
		f.fields(v)
		x.Questions = mcp.Questions{}
		return
	case *mcp.ReadResourceResult:
		f.fields(v)
		x.Questions = mcp.Questions{}
		return
	case *mcp.Filter:
		f.fields(v)
		x.TaskIDs = nil // of the extension
		return
	case *mcp.InputRequests:
		*x = mcp.InputRequests{"k": {Method: mcp.MethodElicit, Params: jsontext.Value(`{"mode":"url","message":"m","url":"https://example.com"}`)}}
		return
	case *mcp.InputResponses:
		*x = mcp.InputResponses{"k": jsontext.Value(`{"action":"cancel"}`)}
		return
	case *map[string]jsontext.Value:
		*x = f.values(name)
		return
	case *map[string]string:
		*x = map[string]string{"a": "b"}
		return
	}
	f.kind(name, v)
}

func (f filler) kind(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(name, v.Type()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(name, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if v.Type().Elem().Kind() != reflect.Uint8 {
			f.fill(name, v.Index(0))
		}
	case reflect.Struct:
		f.fields(v)
	default:
		f.t.Fatalf("cannot fill %s of %s", name, v.Type())
	}
}

func (f filler) fields(v reflect.Value) {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		tag, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.IsExported() && sf.Name != "Extra" {
			f.fill(tag, v.Field(i))
		}
	}
}

func text(name string, t reflect.Type) string {
	words := map[string]string{
		"theme": "dark", "taskSupport": "optional", "includeContext": "none", "mode": "auto",
		"uri": "file:///a", "url": "https://example.com/", "src": "https://example.com/i.png", "websiteUrl": "https://example.com/",
		"uriTemplate": "file:///{a}", "lastModified": "2026-07-28T00:00:00Z",
		"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
	}
	switch t {
	case reflect.TypeFor[mcp.Role]():
		return "user"
	case reflect.TypeFor[mcp.LoggingLevel]():
		return "info"
	case reflect.TypeFor[mcp.CacheScope]():
		return "private"
	case reflect.TypeFor[mcp.ElicitAction]():
		return "accept"
	case reflect.TypeFor[mcp.TaskStatus]():
		return "working"
	case reflect.TypeFor[mcp.ResultType]():
		return "complete"
	}
	if w := words[name]; w != "" {
		return w
	}
	return "x"
}

func (f filler) json(name string) jsontext.Value {
	switch name {
	case "inputSchema":
		return jsontext.Value(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	case "outputSchema":
		return jsontext.Value([]string{`{"type":"array"}`, `{"type":"object","required":["a"]}`}[f.variant])
	case "structuredContent":
		return jsontext.Value([]string{`[1]`, `{"a":1}`}[f.variant])
	}
	return jsontext.Value(`{"a":1}`)
}

func (f filler) meta() mcp.Meta {
	m := mcp.Meta{}
	rm := mcp.RequestMeta{Version: f.version, Client: &mcp.Implementation{Name: "c", Version: "1"}, Capabilities: &mcp.ClientCapabilities{}, LogLevel: mcp.LevelInfo}
	if err := rm.Put(&m); err != nil {
		f.t.Fatal(err)
	}
	m[mcp.MetaServerInfo] = jsontext.Value(`{"name":"s","version":"1"}`)
	m[mcp.MetaSubscriptionID] = jsontext.Value(`1`)
	m["com.example/x"] = jsontext.Value(`null`)
	return m
}

func (f filler) values(name string) map[string]jsontext.Value {
	if name == "content" {
		out := map[string]jsontext.Value{"a": jsontext.Value(`"s"`), "b": jsontext.Value(`1`), "c": jsontext.Value(`true`)}
		if f.version >= mcp.V20251125 {
			out["d"] = jsontext.Value(`["x"]`)
		}
		return out
	}
	return map[string]jsontext.Value{"com.example/x": jsontext.Value(`{"a":1}`)}
}

func (f filler) reference() mcp.CompleteReference {
	if f.variant == 0 {
		return mcp.CompleteReference{Type: mcp.RefPrompt, Name: "n", Title: "t"}
	}
	return mcp.CompleteReference{Type: mcp.RefResource, URI: "file:///{a}"}
}

func (f filler) contents() mcp.ResourceContents {
	c := mcp.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Meta: f.meta()}
	if f.variant == 1 {
		c.Blob = []byte{}
	}
	return c
}

func (f filler) blocks() mcp.Contents {
	p := 0.5
	size := int64(1)
	a := &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: &p, LastModified: "2026-07-28T00:00:00Z"}
	icons := []mcp.Icon{{Src: "https://example.com/i.png"}}
	return mcp.Contents{
		&mcp.ResourceLink{URI: "file:///a", Name: "n", Title: "t", Description: "d", MIMEType: "text/plain", Size: &size, Icons: icons, Annotations: a, Meta: f.meta()},
		&mcp.AudioContent{Data: []byte{1}, MIMEType: "audio/wav", Annotations: a, Meta: f.meta()},
		&mcp.ImageContent{MIMEType: "image/png", Annotations: a, Meta: f.meta()},
		&mcp.TextContent{Annotations: a, Meta: f.meta()},
		&mcp.EmbeddedResource{Resource: f.contents(), Annotations: a, Meta: f.meta()},
	}
}

func (f filler) elicit(p *mcp.ElicitParams) {
	*p = mcp.ElicitParams{Message: "m", ElicitationID: "1", Task: &mcp.TaskMetadata{}}
	p.Meta = f.meta()
	if f.variant == 1 && f.version >= mcp.V20251125 {
		p.Mode, p.URL = mcp.ElicitURL, "https://example.com/"
		return
	}
	p.Mode, p.ElicitationID = mcp.ElicitForm, ""
	p.RequestedSchema = mcp.FormSchema(allFields()...)
}

// allFields has one field of each kind.
func allFields() []mcp.Field {
	one, half := int64(1), 0.5
	options := []mcp.EnumOption{{Const: "a", Title: "A"}, {Const: "b", Title: "B"}}
	all := []mcp.PrimitiveSchema{
		{Type: "string", Title: "t", Description: "d", Format: "email", MinLength: &one, MaxLength: &one, Default: jsontext.Value(`"x"`)},
		{Type: "number", Title: "t", Description: "d", Minimum: &half, Maximum: &half, Default: jsontext.Value(`0.5`)},
		{Type: "integer", Default: jsontext.Value(`1`)},
		{Type: "boolean", Title: "t", Description: "d", Default: jsontext.Value(`false`)},
		{Type: "string", Title: "t", Description: "d", Enum: []string{"a"}, Default: jsontext.Value(`"a"`)},
		{Type: "string", Title: "t", Description: "d", OneOf: options, Default: jsontext.Value(`"a"`)},
		{Type: "array", Title: "t", Description: "d", Items: &mcp.EnumItems{Type: "string", Enum: []string{"a"}}, MinItems: &one, MaxItems: &one, Default: jsontext.Value(`["a"]`)},
		{Type: "array", Title: "t", Description: "d", Items: &mcp.EnumItems{AnyOf: options}, MinItems: &one, MaxItems: &one, Default: jsontext.Value(`[]`)},
		{Type: "string", Title: "t", Description: "d", Enum: []string{"a"}, EnumNames: []string{"A"}},
	}
	fields := make([]mcp.Field, len(all))
	for i, s := range all {
		fields[i] = mcp.Field{Name: fmt.Sprintf("field %d", i), Required: i%2 == 0, Schema: s}
	}
	slices.Reverse(fields)
	return fields
}

func TestFormContent(t *testing.T) {
	t.Parallel()
	type form struct {
		Name string   `json:"name"`
		Tags []string `json:"tags,omitzero"`
		Big  int64    `json:"big"`
	}
	want := form{Name: "A\"da", Tags: []string{"x"}, Big: 1234567890123456789}
	res, err := mcp.AcceptForm(want)
	if err != nil || res.Action != mcp.ElicitAccept || string(res.Content["name"]) != `"A\"da"` {
		t.Fatalf("got %+v, %v", res, err)
	}
	var got form
	if err := res.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := new(mcp.ElicitResult).Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("no content: got %+v, %v, want what was there", got, err)
	}
	var wrong struct {
		Name int `json:"name"`
	}
	if err := res.Decode(&wrong); err == nil || err.Error() != "form content: /name: must be an integer, not a string" {
		t.Errorf("a wrong type: error %v", err)
	}
	for _, v := range []any{7, "x", []int{1}, func() {}} {
		if res, err := mcp.AcceptForm(v); err == nil {
			t.Errorf("%T was taken as a form: %+v", v, res)
		}
	}
}
