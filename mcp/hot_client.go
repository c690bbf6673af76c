package mcp

import (
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// What is here is the client's side of hot.go: the params of a tool call as they
// are sent, and its result as it is received.

// A fastResult reads the usual form of itself. It reports false for any other,
// and for what has errors; it may have changed then.
type fastResult interface {
	readFast(v jsontext.Value) bool
}

// DecodeResult decodes the result of a received response into v, a pointer to
// its zero value, which may keep parts of it.
func DecodeResult(result jsontext.Value, v any) error {
	if f, ok := v.(fastResult); ok {
		if f.readFast(result) {
			return nil
		}
		reflect.ValueOf(v).Elem().SetZero()
	}
	return json.Unmarshal(result, v, received)
}

// received holds for text that [rpc.Decode] has validated.
var received = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// readFast implements fastResult.
func (r *CallToolResult) readFast(result jsontext.Value) (ok bool) {
	for name, v := range rpc.Members(result) {
		switch string(name) {
		case "content":
			r.Content, ok = readTexts(v)
		case "structuredContent":
			r.StructuredContent, ok = partOf(result, v), true
		case "isError":
			r.IsError, ok = v.Kind() == 't', v.Kind() == 't' || v.Kind() == 'f'
		case "resultType":
			r.ResultType, ok = ResultComplete, string(v) == `"complete"`
		case "_meta":
			ok = v.Kind() == '{'
			r.Meta = readWholeMeta(partOf(result, v))
		default:
			ok = false // questions, what no revision has
		}
		if !ok {
			return false
		}
	}
	return result.Kind() == '{'
}

// partOf returns v, a part of a message, to be kept: a little must not hold the
// memory of much.
func partOf(message, v jsontext.Value) jsontext.Value {
	const much = 4 << 10
	if len(message) > much && len(v) < len(message)/4 {
		return v.Clone()
	}
	return v
}

// readWholeMeta reads a _meta with all that it has.
func readWholeMeta(v jsontext.Value) Meta {
	m := make(Meta, 1)
	for name, v := range rpc.Members(v) {
		if string(name) == MetaServerInfo { // in all results of the modern era
			m[MetaServerInfo] = v
		} else {
			m[string(name)] = v
		}
	}
	return m
}

// readTexts reads blocks that are text and nothing else.
func readTexts(v jsontext.Value) (c Contents, ok bool) {
	for block := range rpc.Elements(v) {
		if c == nil { // as a rule there is one
			one := new(struct {
				list [1]Content
				text TextContent
			})
			ok = one.text.readFast(block)
			one.list[0] = &one.text
			c = one.list[:]
		} else {
			text := new(TextContent)
			ok = text.readFast(block)
			c = append(c, text)
		}
		if !ok {
			return nil, false
		}
	}
	return c, ok
}

// readFast reads a block that is text and nothing else.
func (c *TextContent) readFast(block jsontext.Value) (ok bool) {
	typed, text := false, false
	for name, v := range rpc.Members(block) {
		switch string(name) {
		case "type":
			ok = !typed && string(v) == `"text"`
			typed = true
		case "text":
			c.Text, ok = readString(v)
			ok = ok && !text
			text = true
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return typed && text
}

// readString reads any string that has no halves of characters in it.
func readString(v jsontext.Value) (s string, ok bool) {
	if s, ok = plainString(v, nil); ok || v.Kind() != '"' {
		return s, ok
	}
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(v)), v)
	return string(text), err == nil
}

// AppendJSON implements [rpc.Appender].
func (p *CallToolParams) AppendJSON(b []byte) ([]byte, error) {
	if p.Extra != nil || p.InputResponses != nil || p.RequestState != nil || p.Task != nil || !utf8.ValidString(p.Name) {
		text, err := json.Marshal(p)
		if err != nil {
			return b, err
		}
		return append(b, text...), nil
	}
	start := len(b)
	b = append(b, '{')
	var err error
	if p.Meta != nil {
		if b, err = p.Meta.appendJSON(append(b, `"_meta":`...)); err != nil {
			return b[:start], err
		}
		b = append(b, ',')
	}
	b = rpc.AppendString(append(b, `"name":`...), p.Name)
	if p.Arguments != nil {
		if b, err = rpc.AppendValue(append(b, `,"arguments":`...), p.Arguments); err != nil {
			return b[:start], err
		}
	}
	return append(b, '}'), nil
}
