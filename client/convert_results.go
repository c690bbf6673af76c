package client

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// Outcome is what came of a model's call. Where the call has an Err, Result
// may be nil: the model is told what is wrong.
type Outcome struct {
	Call   ModelCall
	Result *mcp.CallToolResult
}

// Messages returns what to add to the conversation after the message that the
// calls are from: one function_call_output for each (OpenAIResponses), one tool
// message for each (OpenAIChat), one user message with all (Anthropic, Gemini).
// It wants the outcomes of all calls of that message at once.
//
// Text, pictures, PDFs and texts of resources are said as the format has it;
// pictures in Chat Completions go into a user message after the others, as a
// tool message has text only. Links and blocks that are not known are their
// JSON. Structured content is told where the text does not say the same. A tool
// that failed is marked as failed (Anthropic), an "error" (Gemini), or a text
// that begins with "Error: ".
//
// What cannot be said, such as sound, is a note in its place, and the error,
// a [*ConvertError] or several joined, names it: the messages are good
// nevertheless.
func (m *ModelTools) Messages(outcomes ...Outcome) ([]jsontext.Value, error) {
	var errs []error
	w := &messageWriter{format: m.format}
	for _, o := range outcomes {
		if o.Call.Err != nil && o.Result == nil {
			o.Result = &mcp.CallToolResult{IsError: true, Content: mcp.Contents{mcp.Text(o.Call.Err.Error())}}
		}
		if o.Result == nil {
			return nil, &ConvertError{Format: m.format, Tool: o.Call.Name, Err: errors.New("the call has no result yet")}
		}
		w.add(&o.Call, m.said(&o, &errs), o.Result.IsError)
	}
	out, err := w.messages()
	return out, errors.Join(append(errs, err)...)
}

// piece is a part of an answer to the model: text, or a file.
type piece struct {
	text string
	mime string // of data; "" = it is text
	data []byte
	name string
}

func (p *piece) isPicture() bool { return strings.HasPrefix(p.mime, "image/") }

func (p *piece) base64() string { return base64.StdEncoding.EncodeToString(p.data) }

func (p *piece) url() string { return "data:" + p.mime + ";base64," + p.base64() }

// said returns the pieces of a result.
func (m *ModelTools) said(o *Outcome, errs *[]error) []piece {
	tool := o.Call.Params.Name
	if tool == "" {
		tool = o.Call.Name
	}
	var pieces []piece
	for i, block := range o.Result.Content {
		p, err := pieceOf(block)
		if err == nil && p.mime != "" && !m.takes(p.mime) {
			err = fmt.Errorf("%s cannot be shown to this model", excerpt(p.mime, 64))
		}
		if err != nil {
			*errs = append(*errs, &ConvertError{Format: m.format, Tool: tool, Place: "content/" + strconv.Itoa(i), Err: err})
			p = piece{text: "[" + err.Error() + "]"}
		}
		pieces = append(pieces, p)
	}
	if s := o.Result.StructuredContent; len(s) > 0 && !slices.ContainsFunc(pieces, func(p piece) bool { return sameValue(p.text, s) }) {
		pieces = append(pieces, piece{text: string(s)})
	}
	return pieces
}

// sameValue reports whether a text is the JSON v, whatever its spaces are and
// the order of its members.
func sameValue(text string, v jsontext.Value) bool {
	a, b := jsontext.Value(text), v.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

// takes reports whether the format has a place for a file of a type.
func (m *ModelTools) takes(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/webp":
		return true
	case "image/gif":
		return m.format != Gemini
	case "application/pdf":
		return m.format != OpenAIChat
	}
	return false
}

// noType is the type of data of which nobody says what it is.
const noType = "application/octet-stream"

func pieceOf(block mcp.Content) (piece, error) {
	switch b := block.(type) {
	case *mcp.TextContent:
		return piece{text: b.Text}, nil
	case *mcp.ImageContent:
		return piece{mime: cmp.Or(b.MIMEType, noType), data: b.Data, name: "image"}, nil
	case *mcp.AudioContent:
		return piece{}, fmt.Errorf("sound (%s) cannot be played to this model", excerpt(b.MIMEType, 64))
	case *mcp.EmbeddedResource:
		r := &b.Resource
		if r.Blob != nil {
			return piece{mime: cmp.Or(r.MIMEType, noType), data: r.Blob, name: r.URI}, nil
		}
		return piece{text: r.Text, name: r.URI}, nil
	case *mcp.UnknownContent:
		return piece{text: string(b.Raw)}, nil
	}
	raw, err := json.Marshal(block)
	return piece{text: string(raw)}, err
}

// messageWriter writes the messages of a format.
type messageWriter struct {
	format ModelFormat
	list   []any // messages, or what is in the one
	after  []any // pictures that have no place in the messages of tools
}

func (w *messageWriter) add(call *ModelCall, pieces []piece, failed bool) {
	switch w.format {
	case OpenAIResponses:
		w.list = append(w.list, map[string]any{"type": "function_call_output", "call_id": call.ID, "output": openAIOutput(marked(pieces, failed))})
	case OpenAIChat:
		w.addChat(call, marked(pieces, failed))
	case Anthropic:
		block := map[string]any{"type": "tool_result", "tool_use_id": call.ID, "content": anthropicBlocks(pieces)}
		if failed {
			block["is_error"] = true
		}
		w.list = append(w.list, block)
	case Gemini:
		w.list = append(w.list, map[string]any{"functionResponse": geminiResponse(call, pieces, failed)})
	}
}

func (w *messageWriter) messages() ([]jsontext.Value, error) {
	all := w.list
	switch {
	case len(all) == 0:
	case w.format == Anthropic:
		all = []any{map[string]any{"role": "user", "content": w.list}}
	case w.format == Gemini:
		all = []any{map[string]any{"role": "user", "parts": w.list}}
	case len(w.after) > 0:
		all = append(all, map[string]any{"role": "user", "content": w.after})
	}
	var out []jsontext.Value
	for _, message := range all {
		raw, err := json.Marshal(message, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}

// marked says in the text that a tool failed, where there is no other way.
func marked(pieces []piece, failed bool) []piece {
	if !failed {
		return pieces
	}
	if len(pieces) == 0 || pieces[0].mime != "" {
		return append([]piece{{text: "Error: the tool failed"}}, pieces...)
	}
	out := slices.Clone(pieces)
	out[0].text = "Error: " + out[0].text
	return out
}

// openAIOutput returns a text where there is nothing else, or a list.
func openAIOutput(pieces []piece) any {
	if len(pieces) == 0 {
		return ""
	}
	if len(pieces) == 1 && pieces[0].mime == "" {
		return pieces[0].text
	}
	var list []any
	for i := range pieces {
		switch p := &pieces[i]; {
		case p.mime == "":
			list = append(list, map[string]any{"type": "input_text", "text": p.text})
		case p.isPicture():
			list = append(list, map[string]any{"type": "input_image", "image_url": p.url()})
		default:
			list = append(list, map[string]any{"type": "input_file", "filename": fileName(p), "file_data": p.url()})
		}
	}
	return list
}

// fileName returns the last part of a URI, which files need to have.
func fileName(p *piece) string {
	if name := p.name[strings.LastIndexByte(p.name, '/')+1:]; name != "" {
		return excerpt(name, 100)
	}
	return "file"
}

func (w *messageWriter) addChat(call *ModelCall, pieces []piece) {
	var texts []string
	pictures := 0
	for i := range pieces {
		p := &pieces[i]
		if p.mime == "" {
			texts = append(texts, p.text)
			continue
		}
		pictures++
		w.after = append(w.after,
			map[string]any{"type": "text", "text": fmt.Sprintf("Picture %d of the result of call %s:", pictures, call.ID)},
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": p.url()}})
		texts = append(texts, fmt.Sprintf("[picture %d follows]", pictures))
	}
	message := map[string]any{"role": "tool", "tool_call_id": call.ID}
	switch len(texts) {
	case 0, 1:
		message["content"] = strings.Join(texts, "")
	default:
		var parts []any
		for _, t := range texts {
			parts = append(parts, map[string]any{"type": "text", "text": t})
		}
		message["content"] = parts
	}
	w.list = append(w.list, message)
}

func anthropicBlocks(pieces []piece) []any {
	list := []any{}
	for i := range pieces {
		p := &pieces[i]
		source := map[string]any{"type": "base64", "media_type": p.mime, "data": p.base64()}
		switch {
		case p.mime == "" && p.text == "": // is refused
		case p.mime == "" && p.name != "":
			list = append(list, map[string]any{
				"type": "document", "title": p.name,
				"source": map[string]any{"type": "text", "media_type": "text/plain", "data": p.text},
			})
		case p.mime == "":
			list = append(list, map[string]any{"type": "text", "text": p.text})
		case p.isPicture():
			list = append(list, map[string]any{"type": "image", "source": source})
		default:
			list = append(list, map[string]any{"type": "document", "title": p.name, "source": source})
		}
	}
	return list
}

// geminiResponse has the one text as it is, JSON as JSON, and files as parts.
func geminiResponse(call *ModelCall, pieces []piece, failed bool) any {
	var values, parts []any
	for i := range pieces {
		p := &pieces[i]
		if p.mime != "" {
			parts = append(parts, map[string]any{"inlineData": map[string]any{"mimeType": p.mime, "data": p.base64()}})
			continue
		}
		if v := jsontext.Value(p.text); (v.Kind() == '{' || v.Kind() == '[') && v.IsValid() {
			values = append(values, v)
			continue
		}
		values = append(values, p.text)
	}
	var value any = values
	switch len(values) {
	case 0:
		value = ""
	case 1:
		value = values[0]
	}
	key := "output"
	if failed {
		key = "error"
	}
	response := map[string]any{"name": call.Name, "response": map[string]any{key: value}}
	if call.ID != "" {
		response["id"] = call.ID
	}
	if len(parts) > 0 {
		response["parts"] = parts
	}
	return response
}
