package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// AddTool offers a function as a tool. It panics when the definition cannot be
// used: that is a mistake in the program.
//
// In is a struct, a map with string keys, or [jsontext.Value]; struct{} for a
// tool without parameters. Where the definition has no input schema, it is
// inferred from In: a field is required unless its tag says omitzero or
// omitempty or it has a default, and other members are not taken. Where the
// definition has one, In must have a field for each of its properties. Arguments
// that do not match the schema do not reach the function: the model is told what
// is wrong with them.
//
// The tag "jsonschema" of a field is a description and keywords, in any order:
//
//	Days int `json:"days" jsonschema:"how far ahead, in days,minimum=1,maximum=7,default=3"`
//
// The keywords are description, title, enum, const, default, example, minimum,
// maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength,
// pattern, format, minItems, maxItems, uniqueItems, minProperties,
// maxProperties, deprecated, readOnly, writeOnly, and those that begin with x-,
// such as x-mcp-header; the word required is taken, too. enum=a|b is
// enum=a,enum=b. What is about single values is, for a slice, about its items. A
// value is text for a string and JSON for everything else. A comma begins
// something new only where a word and an = follow; one that must not is written
// `\\,` and a | in a value of an enum `\\|`. A mistake in a tag, also a default that
// does not fit, makes AddTool panic.
//
// A default stands for what arguments leave out. A type with a method
// JSONSchema() jsontext.Value has the schema that it returns, without any $ref.
// Interfaces need [Options.OneOf]. A struct that contains itself is under $defs.
// A url.URL is a string.
//
// Out says what the function returns:
//   - string, [mcp.Content] or a slice of it: content;
//   - *[mcp.CallToolResult]: the whole result;
//   - struct{}: nothing;
//   - anything else, such as a struct, a map or a number: structured content,
//     with its JSON as text beside it for older clients. The output schema is
//     inferred where the definition has none. Values that break what their
//     tags say, or a schema that was given, are an internal error.
//
// An error is told to the model; an *[rpc.Error] is an error of the protocol. See
// [ToolHandler].
func AddTool[In, Out any](s *Server, t mcp.Tool, fn func(context.Context, In) (Out, error)) {
	tl, err := typedTool(s, t, fn)
	if err != nil {
		panic(err) //nolint:forbidigo // types that no schema can describe are a mistake of the program
	}
	s.addTool(tl)
}

func typedTool[In, Out any](s *Server, t mcp.Tool, fn func(context.Context, In) (Out, error)) (*tool, error) {
	if fn == nil {
		return nil, fmt.Errorf("server: tool %q has no function", t.Name)
	}
	reader, err := s.input(&t.InputSchema, reflect.TypeFor[In]())
	if err != nil {
		return nil, fmt.Errorf("server: tool %q: %w", t.Name, err)
	}
	form, err := s.output(&t.OutputSchema, reflect.TypeFor[Out]())
	if err != nil {
		return nil, fmt.Errorf("server: tool %q: %w", t.Name, err)
	}
	var tl *tool
	answer := answerer(func(ctx context.Context, p *mcp.CallToolParams) (any, error) {
		in := new(In)
		if err := tl.arguments(reader, p.Arguments, in); err != nil {
			return toolError(err), nil
		}
		out, err := fn(ctx, *in)
		if err != nil {
			return nil, err
		}
		if text, ok := any(out).(string); ok {
			return &toolAnswer{text: text}, nil
		}
		return form.of(ctx, s, t.Name, out)
	})
	if tl, err = s.newTool(t, answer.handler()); err != nil {
		return nil, err
	}
	if form.trusted {
		tl.out = nil
	}
	tl.fresh, tl.checks, tl.answer = reflect.TypeFor[Out]() != resultType, true, answer
	return tl, nil
}

// checkFields looks for a property of a schema that the type has no field for:
// what a model gives for it would be lost.
func checkFields(schema jsontext.Value, t reflect.Type) error {
	var root struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	if json.Unmarshal(schema, &root) != nil {
		return nil //nolint:nilerr // another check says what is wrong with it
	}
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		if root.Properties[name].Kind() == 'f' { // a property that must not be there
			continue
		}
		object, err := json.Marshal(map[string]any{name: nil})
		if err != nil {
			continue
		}
		err = json.Unmarshal(object, reflect.New(t).Interface(), json.RejectUnknownMembers(true))
		if errors.Is(err, json.ErrUnknownName) {
			return fmt.Errorf("input schema has the property %q, but %s has no field for it: add one with the tag `json:%q`", name, t, name)
		}
	}
	return nil
}

// arguments checks arguments and decodes them into in, a pointer to zero. Where
// reading them proves that they fit the schema there is no check.
func (t *tool) arguments(r *argumentReader, args jsontext.Value, in any) error {
	v := reflect.ValueOf(in).Elem()
	if r.proves {
		if _, fits := r.read(args, v); fits {
			return nil
		}
		v.SetZero()
	}
	if err := t.in.check("arguments", args); err != nil {
		return err
	}
	args = r.defaults.Fill(args)
	if read, _ := r.read(args, v); read {
		return nil
	}
	v.SetZero()
	return r.decode(args, in)
}

// decode decodes arguments that fit the schema by the JSON package. 30.0 and 3e1
// are integers for JSON Schema, though not for the package: they are rewritten
// when it complains.
func (r *argumentReader) decode(args jsontext.Value, in any) error {
	err := json.Unmarshal(args, in, r.codec...)
	if err == nil {
		return nil
	}
	plain, changed := plainIntegers(args)
	if !changed {
		return decodeError("arguments", err)
	}
	reflect.ValueOf(in).Elem().SetZero()
	if err := json.Unmarshal(plain, in, r.codec...); err != nil {
		return decodeError("arguments", err)
	}
	return nil
}

// plainIntegers writes numbers that have no fraction without a point and
// exponent.
func plainIntegers(v jsontext.Value) (jsontext.Value, bool) {
	var out bytes.Buffer
	d, e := jsontext.NewDecoder(bytes.NewReader(v)), jsontext.NewEncoder(&out)
	changed := false
	for {
		if d.PeekKind() == '0' {
			n, err := d.ReadValue()
			if err != nil {
				return nil, false
			}
			if text := plainInteger(string(n)); text != string(n) {
				n, changed = jsontext.Value(text), true
			}
			if e.WriteValue(n) != nil {
				return nil, false
			}
			continue
		}
		tok, err := d.ReadToken()
		if err != nil {
			break // the end: v is valid JSON
		}
		if e.WriteToken(tok) != nil {
			return nil, false
		}
	}
	return out.Bytes(), changed
}

func plainInteger(n string) string {
	const longest = 40 // more digits than any integer type has
	if !strings.ContainsAny(n, ".eE") || len(n) > longest {
		return n
	}
	if _, exp, ok := strings.Cut(strings.ToLower(n), "e"); ok && len(exp) > 3 {
		return n
	}
	r, ok := new(big.Rat).SetString(n)
	if !ok || !r.IsInt() {
		return n
	}
	text := r.Num().String()
	if len(text) > longest {
		return n
	}
	return text
}

var (
	contentType  = reflect.TypeFor[mcp.Content]()
	contentsType = reflect.TypeFor[mcp.Contents]()
	resultType   = reflect.TypeFor[*mcp.CallToolResult]()
	nothingType  = reflect.TypeFor[struct{}]()
	errNoContent = errors.New("server: a tool returned a nil content")
)

// wrapper makes a result of what a tool returned.
type wrapper func(out any) (*mcp.CallToolResult, error)

// An outputForm is how values of a type become a result: one of wrap and encode is
// not nil.
type outputForm struct {
	wrap    wrapper
	encode  func(out any) (jsontext.Value, error) // structured content
	trusted bool                                  // the type alone makes them fit the schema
}

// of returns the answer, or the result, that a value becomes. What cannot be sent is
// the program's mistake, not the model's.
func (f *outputForm) of(ctx context.Context, s *Server, tool string, out any) (res any, err error) {
	if f.wrap != nil {
		res, err = f.wrap(out)
	} else {
		var raw jsontext.Value
		raw, err = f.encode(out)
		res = &toolAnswer{structured: raw}
	}
	if err != nil {
		s.loggerOf(ctx).LogAttrs(ctx, slog.LevelError, "a tool returned what cannot be sent", slog.String("tool", tool), slog.Any("error", err))
		return nil, rpc.Errorf(rpc.CodeInternalError, "internal error")
	}
	return res, nil
}

// output returns the form of a type, and gives the tool a schema where it has none
// and the values are structured content.
func (s *Server) output(schema *jsontext.Value, t reflect.Type) (outputForm, error) {
	if wrap := resultOf(t); wrap != nil {
		return outputForm{wrap: wrap, trusted: *schema == nil}, nil
	}
	found, err := s.infer(t, false)
	switch given := *schema != nil; {
	case given && err != nil:
		return structured(t, nil), nil //nolint:nilerr // the type needs the schema that is given
	case err != nil:
		return outputForm{}, err
	}
	form := structured(t, found.Codec)
	if *schema == nil && !found.Any {
		*schema, form.trusted = found.Text, !found.Promises
	}
	return form, nil
}

// resultOf returns how values of a type become a result, or nil where they
// become structured content.
func resultOf(t reflect.Type) wrapper {
	switch {
	case t == resultType:
		return func(out any) (*mcp.CallToolResult, error) { return out.(*mcp.CallToolResult), nil }
	case t == nothingType:
		return func(any) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil }
	case t.Kind() == reflect.String && !encodesItself(t):
		return func(out any) (*mcp.CallToolResult, error) {
			return textResult(reflect.ValueOf(out).String()), nil
		}
	case t.Implements(contentType):
		return func(out any) (*mcp.CallToolResult, error) {
			block, _ := out.(mcp.Content)
			return contentResult(block)
		}
	case t.ConvertibleTo(contentsType):
		return func(out any) (*mcp.CallToolResult, error) {
			return contentResult(reflect.ValueOf(out).Convert(contentsType).Interface().(mcp.Contents)...)
		}
	}
	return nil
}

// textResult returns a result of one text, in one piece of memory.
func textResult(text string) *mcp.CallToolResult {
	var r struct {
		mcp.CallToolResult
		text   mcp.TextContent
		blocks [1]mcp.Content
	}
	r.text.Text = text
	r.blocks[0] = &r.text
	r.Content = r.blocks[:]
	return &r.CallToolResult
}

func contentResult(blocks ...mcp.Content) (*mcp.CallToolResult, error) {
	for _, b := range blocks {
		if b == nil || reflect.ValueOf(b).IsNil() {
			return nil, errNoContent
		}
	}
	return &mcp.CallToolResult{Content: blocks}, nil
}

// structured returns the form of values of t that become structured content.
func structured(t reflect.Type, codec []json.Options) outputForm {
	options := append([]json.Options{json.Deterministic(true)}, codec...)
	plain := newStructWriter(t)
	return outputForm{encode: func(out any) (jsontext.Value, error) {
		v := reflect.ValueOf(out)
		if plain != nil {
			if raw, ok := plain.append(make([]byte, 0, smallStruct), v); ok {
				return raw, nil
			}
		}
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, errors.New("server: a tool returned a nil pointer")
		}
		raw, err := json.Marshal(out, options...)
		if err != nil {
			return nil, fmt.Errorf("server: encode the result of a tool: %w", err)
		}
		return raw, nil
	}}
}
