package mcp

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The wire forms are the same structs without methods, behind their type.
type (
	textWire         TextContent
	imageWire        ImageContent
	audioWire        AudioContent
	resourceLinkWire ResourceLink
	resourceWire     EmbeddedResource
	toolUseWire      ToolUseContent
	toolResultWire   ToolResultContent
)

// typed puts the type before the members of a block.
type typed[W any] struct {
	Type string `json:"type"`
	Wire *W     `json:",embed"`
}

// readTyped decodes a block whose type must be typ. What stood in w is gone.
func readTyped[W any](d *jsontext.Decoder, typ string, w *W) error {
	t := typed[W]{Wire: new(W)}
	if err := json.UnmarshalDecode(d, &t); err != nil {
		return err
	}
	if t.Type != typ {
		return fmt.Errorf("content has the type %q, not %q", t.Type, typ)
	}
	*w = *t.Wire
	return nil
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *TextContent) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, &typed[textWire]{typeText, (*textWire)(c)})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *TextContent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readTyped(d, typeText, (*textWire)(c))
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *ImageContent) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, &typed[imageWire]{typeImage, (*imageWire)(c)})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *ImageContent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readTyped(d, typeImage, (*imageWire)(c))
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *AudioContent) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, &typed[audioWire]{typeAudio, (*audioWire)(c)})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *AudioContent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readTyped(d, typeAudio, (*audioWire)(c))
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *ResourceLink) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, &typed[resourceLinkWire]{typeResourceLink, (*resourceLinkWire)(c)})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *ResourceLink) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readTyped(d, typeResourceLink, (*resourceLinkWire)(c))
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *EmbeddedResource) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, &typed[resourceWire]{typeResource, (*resourceWire)(c)})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *EmbeddedResource) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readTyped(d, typeResource, (*resourceWire)(c))
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *ToolUseContent) MarshalJSONTo(e *jsontext.Encoder) error {
	w := toolUseWire(*c)
	if w.Input == nil {
		w.Input = jsontext.Value("{}")
	}
	return json.MarshalEncode(e, &typed[toolUseWire]{typeToolUse, &w})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *ToolUseContent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readTyped(d, typeToolUse, (*toolUseWire)(c))
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *ToolResultContent) MarshalJSONTo(e *jsontext.Encoder) error {
	return json.MarshalEncode(e, &typed[toolResultWire]{typeToolResult, (*toolResultWire)(c)})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *ToolResultContent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readTyped(d, typeToolResult, (*toolResultWire)(c))
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *UnknownContent) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteValue(c.Raw)
}

// Contents is a list of blocks, in results and tool results. It is encoded as
// an array, and decoded from an array or from a single block. Blocks that only
// sampling has are unknown here.
type Contents []Content

// MarshalJSONTo implements [json.MarshalerTo]. Nil is an empty array.
func (c Contents) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, b := range c {
		if err := (block{b}).MarshalJSONTo(e); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndArray)
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *Contents) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	blocks, err := readBlocks(d, false)
	*c = blocks
	return err
}

// OneOrMany is a list of blocks in sampling that is a single block on the wire where it
// has one: all that revisions before 2025-11-25 know.
type OneOrMany []Content

// MarshalJSONTo implements [json.MarshalerTo].
func (c OneOrMany) MarshalJSONTo(e *jsontext.Encoder) error {
	if len(c) == 1 {
		return block{c[0]}.MarshalJSONTo(e)
	}
	return Contents(c).MarshalJSONTo(e)
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *OneOrMany) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	blocks, err := readBlocks(d, true)
	*c = blocks
	return err
}

// readBlocks reads a list of blocks. Only sampling has blocks that hold others;
// elsewhere they stay text, so nesting costs no more than its length.
func readBlocks(d *jsontext.Decoder, sampling bool) ([]Content, error) {
	switch d.PeekKind() {
	case 'n':
		return nil, d.SkipValue()
	case '[':
	default:
		b, err := readBlock(d, sampling)
		if err != nil {
			return nil, err
		}
		return []Content{b}, nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	blocks := []Content{}
	for d.PeekKind() != ']' {
		b, err := readBlock(d, sampling)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	_, err := d.ReadToken()
	return blocks, err
}

// block is a single Content as a field of a struct.
type block struct{ Content }

// errNoContent is for a nil Content, which a caller forgot to set.
var errNoContent = errors.New("content is nil")

// MarshalJSONTo implements [json.MarshalerTo].
func (b block) MarshalJSONTo(e *jsontext.Encoder) error {
	if b.Content == nil {
		return errNoContent
	}
	return b.Content.MarshalJSONTo(e)
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (b *block) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	c, err := readBlock(d, false)
	b.Content = c
	return err
}

func readBlock(d *jsontext.Decoder, sampling bool) (Content, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	if raw.Kind() != '{' {
		return nil, fmt.Errorf("content must be an object, not %s", kindName(raw.Kind()))
	}
	typ, err := blockType(raw)
	if err != nil {
		return nil, err
	}
	c := newContent(typ, sampling)
	if c == nil {
		return &UnknownContent{Type: typ, Raw: raw.Clone()}, nil
	}
	if err := json.Unmarshal(raw, c, d.Options()); err != nil {
		return nil, fmt.Errorf("%s content: %w", typ, decodeError(err))
	}
	return c, nil
}

// known is a Content that can be decoded into.
type known interface {
	Content
	json.UnmarshalerFrom
}

func newContent(typ string, sampling bool) known {
	switch typ {
	case typeText:
		return new(TextContent)
	case typeImage:
		return new(ImageContent)
	case typeAudio:
		return new(AudioContent)
	case typeResourceLink:
		return new(ResourceLink)
	case typeResource:
		return new(EmbeddedResource)
	}
	if !sampling {
		return nil
	}
	switch typ {
	case typeToolUse:
		return new(ToolUseContent)
	case typeToolResult:
		return new(ToolResultContent)
	}
	return nil
}

// blockType finds the type of a block. Nearly all senders write it first.
func blockType(raw jsontext.Value) (string, error) {
	const head = `{"type":"`
	if rest, ok := bytes.CutPrefix(raw, []byte(head)); ok {
		if name, _, ok := bytes.Cut(rest, []byte{'"'}); ok && !bytes.ContainsRune(name, '\\') {
			return string(name), nil
		}
	}
	var t struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", fmt.Errorf("content: %w", decodeError(err))
	}
	if t.Type == "" {
		return "", errors.New(`content has no "type"`)
	}
	return t.Type, nil
}
