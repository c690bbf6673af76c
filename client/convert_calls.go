package client

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/schema"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// ModelCall is a model's wish to call a tool.
type ModelCall struct {
	// ID is the provider's; "" where it gives none (Gemini).
	ID string
	// Name is what the model calls the tool.
	Name string
	// Params are what to call the tool with; of no use where there is an Err.
	Params mcp.CallToolParams
	// Err says what is wrong with the call: a tool that the model was not given
	// ([ErrUnknownTool]), or arguments that are no JSON object. The model has to
	// be answered nevertheless: see [ModelTools.Messages].
	Err error
}

// modelCall is a call in each of the formats.
type modelCall struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Input     jsontext.Value `json:"input"`
	Args      jsontext.Value `json:"args"`
	Function  *modelCall     `json:"function"`
	Gemini    *modelCall     `json:"functionCall"`
}

// Calls returns the calls that are in what a model said, in its order. said is
// one call object, or a list that has them among others: "output" of a
// response of OpenAI, "tool_calls" of a message of Chat Completions, "content"
// of a message of Anthropic, "parts" of a content of Gemini. Arguments may be
// text or an object. The error is that said is no JSON of that form.
func (m *ModelTools) Calls(said jsontext.Value) ([]ModelCall, error) {
	var list []jsontext.Value
	if said.Kind() == '[' {
		if err := json.Unmarshal(said, &list); err != nil {
			return nil, fmt.Errorf("client: calls of a model for %s cannot be read: %w", m.format, err)
		}
	} else {
		list = []jsontext.Value{said}
	}
	var calls []ModelCall
	for _, item := range list {
		if m.format != Gemini && item.Kind() == '"' { // text, in short
			continue
		}
		var w modelCall
		if err := json.Unmarshal(item, &w); err != nil {
			return nil, fmt.Errorf("client: a call of a model for %s cannot be read: %w", m.format, err)
		}
		if c, ok := m.call(&w); ok {
			calls = append(calls, c)
		}
	}
	return calls, nil
}

// call reads an item, and reports whether it is a call.
func (m *ModelTools) call(w *modelCall) (ModelCall, bool) {
	c, args := ModelCall{ID: w.ID, Name: w.Name}, w.Arguments
	switch m.format {
	case OpenAIResponses:
		if w.Type != "function_call" {
			return c, false
		}
		c.ID = w.CallID
	case OpenAIChat:
		if w.Function == nil {
			return c, false
		}
		c.Name, args = w.Function.Name, w.Function.Arguments
	case Anthropic:
		if w.Type != "tool_use" {
			return c, false
		}
		args = w.Input
	case Gemini:
		if w.Gemini != nil {
			w = w.Gemini
		}
		if w.Name == "" {
			return c, false
		}
		c.ID, c.Name, args = w.ID, w.Name, w.Args
	}
	c.Params, c.Err = m.params(c.Name, args)
	return c, true
}

func (m *ModelTools) params(name string, args jsontext.Value) (p mcp.CallToolParams, err error) {
	t := m.byName[name]
	if t == nil {
		return p, &ConvertError{Format: m.format, Tool: name, Err: ErrUnknownTool}
	}
	p.Name = t.name
	if args.Kind() == '"' {
		args = jsontext.Value(unquoted(args))
	}
	if len(args) == 0 || args.Kind() == 'n' {
		args = jsontext.Value("{}")
	}
	if !args.IsValid() || args.Kind() != '{' {
		return p, &ConvertError{Format: m.format, Tool: t.name, Err: errors.New("the arguments of the call are no JSON object")}
	}
	if p.Arguments, err = t.shape.arguments(args); err != nil {
		return p, &ConvertError{Format: m.format, Tool: t.name, Err: err}
	}
	return p, nil
}

// shape is what the model's arguments have to be changed back by. Nil = they
// need not be.
type shape struct {
	wraps   bool              // they are in the property wrapped
	renamed map[string]string // originals of the model's names, at the root

	members map[string]memberShape // by the model's names
	items   *shape
	ref     *shape
	either  []*choice
}

type memberShape struct {
	shape    *shape
	optional bool // null is for what is left out
}

// choice is one schema of a union.
type choice struct {
	text   jsontext.Value
	place  string
	schema *schema.Schema
	shape  *shape
}

// arguments returns the arguments as the tool wants them. args is a valid
// object.
func (s *shape) arguments(args jsontext.Value) (jsontext.Value, error) {
	if s == nil {
		return args, nil
	}
	out := s.restore(args, s.renamed, 0)
	if !s.wraps {
		return out, nil
	}
	inner := readObject(out).get(wrapped)
	if inner.Kind() != '{' {
		return nil, fmt.Errorf("the arguments of the call have no object %q", wrapped)
	}
	return inner, nil
}

// restore gives properties their names again, at every depth: each of the
// model's names has a hash in it, so nothing else is called so. Where s says
// that null stands for what is left out, it is left out.
func (s *shape) restore(v jsontext.Value, renamed map[string]string, depth int) jsontext.Value {
	if depth > maxRestoreDepth {
		return v
	}
	s = s.picked(v)
	switch v.Kind() {
	case '{':
		var out jsonObject
		for _, m := range readObject(v) {
			var of memberShape
			if s != nil {
				of = s.members[m.name]
			}
			if of.optional && m.value.Kind() == 'n' {
				continue
			}
			if original, ok := renamed[m.name]; ok {
				m.name = original
			}
			m.value = of.shape.restore(m.value, renamed, depth+1)
			out = append(out, m)
		}
		return out.text()
	case '[':
		var items *shape
		if s != nil {
			items = s.items
		}
		var out []jsontext.Value
		for item := range rpc.Elements(v) {
			out = append(out, items.restore(item, renamed, depth+1))
		}
		return listText(out...)
	}
	return v
}

// maxRestoreDepth is how deep arguments are looked into: no schema goes so far.
const maxRestoreDepth = 1000

// picked returns the shape that says what is in v: through references, and the
// first schema of a union that v fits.
func (s *shape) picked(v jsontext.Value) *shape {
	for range maxSchemaDepth {
		switch {
		case s == nil:
			return nil
		case s.ref != nil:
			s = s.ref
		case len(s.either) > 0:
			s = s.fitting(v)
		default:
			return s
		}
	}
	return nil
}

func (s *shape) fitting(v jsontext.Value) *shape {
	for _, ch := range s.either {
		if ch.schema != nil && ch.schema.Validate(v) == nil {
			return ch.shape
		}
	}
	return nil
}
