package client

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// ModelFormat is how the API of a model's provider spells tools.
type ModelFormat string

// The formats.
const (
	OpenAIResponses ModelFormat = "openai-responses" // of the Responses API
	OpenAIChat      ModelFormat = "openai-chat"      // of Chat Completions, which many others speak
	Anthropic       ModelFormat = "anthropic"        // of the Messages API
	Gemini          ModelFormat = "gemini"           // of generateContent, by Google
)

// ConvertOptions change what [ConvertTools] makes. Nil is the zero value.
type ConvertOptions struct {
	// Strict has the provider hold the model to the schema, for each tool whose
	// schema the provider's strict mode can say. OpenAI and Anthropic have it.
	// What only narrows a value, such as minLength, is then said in the
	// description of the value, where the mode does not have it.
	Strict bool
	// Only is the names of the tools to take. Nil takes all.
	Only []string
}

// ErrUnknownTool is matched by the error of a model's call of a tool that it
// was not given.
var ErrUnknownTool = errors.New("client: there is no such tool")

// ConvertError says what could not be said in a format.
type ConvertError struct {
	Format ModelFormat
	Tool   string
	// Place is a JSON Pointer into the input schema, or the index of the content
	// block as in "content/2"; "" is the tool itself.
	Place string
	Err   error
}

func (e *ConvertError) Error() string {
	where := ""
	if e.Place != "" {
		where = " at " + excerpt(e.Place, 200)
	}
	return fmt.Sprintf("client: tool %q for %s%s: %v", excerpt(e.Tool, 128), e.Format, where, e.Err)
}

func (e *ConvertError) Unwrap() error { return e.Err }

// ModelTools are tools in the format of a provider, and the way back: from the
// model's calls, and to what it is answered. It never changes, and is safe for
// concurrent use.
type ModelTools struct {
	format      ModelFormat
	definitions jsontext.Value
	byName      map[string]*modelTool // as the model knows it
	names       map[string]string     // what the model calls a tool
}

type modelTool struct {
	name  string
	shape *shape // nil: arguments are as the tool wants them
}

// ConvertTools converts tools, such as those that [Client.Tools] yields.
//
// Nothing is lost that the provider can be told. A name that it does not take
// is made one that it takes, and the model's calls are mapped back; so it is
// with the names of properties. A $ref within the schema stays, under $defs; a
// union at the root, which no provider takes, goes into one property. Keywords
// that only narrow a value and that the format lacks are put into the
// description. The server checks the arguments by the original schema all the
// same.
//
// A tool that a format cannot say is left out, and the error names it and the
// place: it is a [*ConvertError], or several of them joined. The tools that are
// left can be used.
func ConvertTools(f ModelFormat, tools []mcp.Tool, o *ConvertOptions) (*ModelTools, error) {
	if _, ok := dialectOf(f, false); !ok {
		return nil, fmt.Errorf("client: there is no model format %q: there are %s, %s, %s and %s",
			f, OpenAIResponses, OpenAIChat, Anthropic, Gemini)
	}
	o = orEmpty(o)
	m := &ModelTools{format: f, byName: map[string]*modelTool{}, names: map[string]string{}}
	taken := map[string]bool{}
	for i := range tools { // a name that is good as it is stays
		taken[tools[i].Name] = true
	}
	var errs []error
	list := []byte{'['}
	for i := range tools {
		t := &tools[i]
		if o.Only != nil && !slices.Contains(o.Only, t.Name) {
			continue
		}
		def, err := m.add(t, taken, o.Strict)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, def...)
	}
	list = append(list, ']')
	if f == Gemini {
		list = geminiTools(list)
	}
	m.definitions = list
	return m, errors.Join(errs...)
}

// add converts one tool and puts it in the tables.
func (m *ModelTools) add(t *mcp.Tool, taken map[string]bool, strict bool) (jsontext.Value, error) {
	fail := func(place string, err error) error {
		return &ConvertError{Format: m.format, Tool: t.Name, Place: place, Err: err}
	}
	if _, twice := m.names[t.Name]; twice {
		return nil, fail("", errors.New("two tools have this name"))
	}
	in := t.InputSchema
	if len(in) == 0 {
		in = jsontext.Value(`{"type":"object"}`)
	}
	if !in.IsValid() {
		return nil, fail("", errors.New("the input schema is no JSON"))
	}
	var c converted
	err := errors.ErrUnsupported
	if strict {
		if d, ok := dialectOf(m.format, true); ok {
			c, err = convertSchema(d, in)
		}
	}
	if err != nil {
		d, _ := dialectOf(m.format, false)
		c, err = convertSchema(d, in)
	}
	if at, ok := errors.AsType[*placeError](err); ok {
		return nil, fail(at.place, at.err)
	}
	if err != nil {
		return nil, fail("", err)
	}
	name := uniqueName(t.Name, taken)
	taken[name] = true
	m.names[t.Name], m.byName[name] = name, &modelTool{name: t.Name, shape: c.shape}
	def, err := json.Marshal(definition(m.format, name, describeTool(t), c))
	if err != nil {
		return nil, fail("", err)
	}
	return def, nil
}

func describeTool(t *mcp.Tool) string {
	if t.Description != "" {
		return t.Description
	}
	return t.DisplayName()
}

// Format returns the format.
func (m *ModelTools) Format() ModelFormat { return m.format }

// Definitions returns the list that goes into "tools" of a request.
func (m *ModelTools) Definitions() jsontext.Value { return slices.Clone(m.definitions) }

// Name returns what the model calls a tool, and whether it was given the tool.
func (m *ModelTools) Name(tool string) (string, bool) {
	name, ok := m.names[tool]
	return name, ok
}

// definition returns what one tool is in the list.
func definition(f ModelFormat, name, description string, c converted) any {
	type function struct {
		Type        string         `json:"type,omitzero"`
		Name        string         `json:"name"`
		Description string         `json:"description,omitzero"`
		Parameters  jsontext.Value `json:"parameters,omitzero"`
		JSONSchema  jsontext.Value `json:"parametersJsonSchema,omitzero"`
		InputSchema jsontext.Value `json:"input_schema,omitzero"`
		Strict      *bool          `json:"strict,omitzero"`
	}
	d := function{Name: name, Description: description}
	switch f {
	case Anthropic:
		d.InputSchema = c.schema
		if c.strict {
			d.Strict = &c.strict
		}
	case Gemini:
		if !c.empty {
			d.JSONSchema = c.schema
		}
	case OpenAIChat:
		d.Parameters, d.Strict = c.schema, &c.strict
		return struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", d}
	case OpenAIResponses: // which takes a schema for strict where nothing is said
		d.Type, d.Parameters, d.Strict = "function", c.schema, &c.strict
	}
	return d
}

func geminiTools(list []byte) []byte {
	if string(list) == "[]" {
		return list
	}
	return append(append([]byte(`[{"functionDeclarations":`), list...), "}]"...)
}

// maxModelName is how long names may be: the least that any of the providers
// has for a function.
const maxModelName = 64

// uniqueName returns a name that the providers take and that is not taken: the
// tool's own where it can be.
func uniqueName(tool string, taken map[string]bool) string {
	if isModelName(tool, "-") {
		return tool
	}
	name := mangle(tool, "-")
	for again := tool; taken[name]; { // by a tool that is named so, as if on purpose
		again += "\x00"
		name = mangle(again, "-")
	}
	return name
}

// isModelName reports whether s is a name that all of the providers take: a
// letter or _, then letters, digits, _ and what more says.
func isModelName(s, more string) bool {
	for i, r := range s {
		if !isNameRune(r, more) || i == 0 && r != '_' && !isLetter(r) {
			return false
		}
	}
	return s != "" && len(s) <= maxModelName
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func isNameRune(r rune, more string) bool {
	return isLetter(r) || '0' <= r && r <= '9' || r == '_' || strings.ContainsRune(more, r)
}

// mangle makes a name of s that isModelName, always the same and hardly ever
// that of another: what is good of s, and a hash of it.
func mangle(s, more string) string {
	const hashed = 8 // digits: two in 65,000 names share one
	sum := sha256.Sum256([]byte(s))
	hash := hex.EncodeToString(sum[:hashed/2])
	var b strings.Builder
	for _, r := range s {
		if b.Len() == maxModelName-hashed-1 {
			break
		}
		if b.Len() == 0 && !isLetter(r) && isNameRune(r, more) && r != '_' {
			b.WriteByte('_')
		}
		if !isNameRune(r, more) {
			r = '_'
		}
		b.WriteRune(r)
	}
	return b.String() + "_" + hash
}
