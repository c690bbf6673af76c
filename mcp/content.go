package mcp

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Content is one block: *TextContent, *ImageContent, *AudioContent,
// *ResourceLink, *EmbeddedResource, *ToolUseContent, *ToolResultContent or,
// for a type that is not known, *UnknownContent.
type Content interface {
	json.MarshalerTo
	content()
}

// The values of "type" in a block.
const (
	typeText         = "text"
	typeImage        = "image"
	typeAudio        = "audio"
	typeResourceLink = "resource_link"
	typeResource     = "resource"
	typeToolUse      = "tool_use"
	typeToolResult   = "tool_result"
)

// Text returns a block of text.
func Text(s string) *TextContent { return &TextContent{Text: s} }

// Textf returns a block of text, formatted as by fmt.Sprintf.
func Textf(format string, args ...any) *TextContent {
	return &TextContent{Text: fmt.Sprintf(format, args...)}
}

// TextContent is text.
type TextContent struct {
	Text        string         `json:"text"`
	Annotations *Annotations   `json:"annotations,omitzero"`
	Meta        Meta           `json:"_meta,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ImageContent is a picture.
type ImageContent struct {
	Data        []byte         `json:"data"`
	MIMEType    string         `json:"mimeType"`
	Annotations *Annotations   `json:"annotations,omitzero"`
	Meta        Meta           `json:"_meta,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// AudioContent is sound; since 2025-03-26.
type AudioContent struct {
	Data        []byte         `json:"data"`
	MIMEType    string         `json:"mimeType"`
	Annotations *Annotations   `json:"annotations,omitzero"`
	Meta        Meta           `json:"_meta,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ResourceLink names a resource that can be read; since 2025-06-18. It need
// not be in the list of resources.
type ResourceLink struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	MIMEType    string `json:"mimeType,omitzero"`
	// Size is the number of bytes; nil when not known.
	Size        *int64         `json:"size,omitzero"`
	Icons       []Icon         `json:"icons,omitzero"`
	Annotations *Annotations   `json:"annotations,omitzero"`
	Meta        Meta           `json:"_meta,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// EmbeddedResource is a resource together with what it holds.
type EmbeddedResource struct {
	Resource    ResourceContents `json:"resource"`
	Annotations *Annotations     `json:"annotations,omitzero"`
	Meta        Meta             `json:"_meta,omitzero"`
	Extra       jsontext.Value   `json:",embed"`
}

// ToolUseContent is a model's wish to call a tool, in sampling; since
// 2025-11-25.
type ToolUseContent struct {
	// ID is what the ToolUseID of the answer names.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input is an object.
	Input jsontext.Value `json:"input"`
	Meta  Meta           `json:"_meta,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// ToolResultContent answers it.
type ToolResultContent struct {
	ToolUseID         string         `json:"toolUseId"`
	Content           Contents       `json:"content"`
	StructuredContent jsontext.Value `json:"structuredContent,omitzero"`
	IsError           bool           `json:"isError,omitzero"`
	Meta              Meta           `json:"_meta,omitzero"`
	Extra             jsontext.Value `json:",embed"`
}

// UnknownContent is a block of a type that this package does not know. It is
// kept as it came, so that it can be passed on.
type UnknownContent struct {
	Type string
	// Raw is the whole block.
	Raw jsontext.Value
}

// Annotations say whom a block or resource is for, and how much it matters.
type Annotations struct {
	Audience []Role `json:"audience,omitzero"`
	// Priority goes from 0, optional, to 1, required; nil says nothing.
	Priority *float64 `json:"priority,omitzero"`
	// LastModified is a time of ISO 8601; since 2025-06-18.
	LastModified string         `json:"lastModified,omitzero"`
	Extra        jsontext.Value `json:",embed"`
}

func (*TextContent) content()       {}
func (*ImageContent) content()      {}
func (*AudioContent) content()      {}
func (*ResourceLink) content()      {}
func (*EmbeddedResource) content()  {}
func (*ToolUseContent) content()    {}
func (*ToolResultContent) content() {}
func (*UnknownContent) content()    {}
