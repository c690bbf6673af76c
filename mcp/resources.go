package mcp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Resource is something that can be read.
type Resource struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
	// Title is for people; since 2025-06-18.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	MIMEType    string `json:"mimeType,omitzero"`
	// Size is the number of bytes before any encoding; nil when not known.
	Size        *int64       `json:"size,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	// Icons are since 2025-11-25.
	Icons []Icon         `json:"icons,omitzero"`
	Meta  Meta           `json:"_meta,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// ResourceTemplate describes resources by a pattern of their URIs.
type ResourceTemplate struct {
	// URITemplate is a template of RFC 6570.
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	// Title is for people; since 2025-06-18.
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	// Icons are since 2025-11-25.
	Icons []Icon         `json:"icons,omitzero"`
	Meta  Meta           `json:"_meta,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// ListResourcesParams ask for one page of resources.
type ListResourcesParams = PaginatedParams

// ListResourcesResult is one page of resources.
type ListResourcesResult struct {
	Result
	Cache
	Resources []Resource `json:"resources"`
	// NextCursor asks for the next page; nil on the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// ListResourceTemplatesParams ask for one page of templates.
type ListResourceTemplatesParams = PaginatedParams

// ListResourceTemplatesResult is one page of templates.
type ListResourceTemplatesResult struct {
	Result
	Cache
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
	// NextCursor asks for the next page; nil on the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// ReadResourceParams ask for a resource.
type ReadResourceParams struct {
	Params
	Answers
	URI string `json:"uri"`
}

// ReadResourceResult is what the resource holds, or what the server asks for.
type ReadResourceResult struct {
	Result
	Cache
	Questions
	// Contents may be several: those of a directory.
	Contents []ResourceContents `json:"contents"`
}

// MarshalJSONTo implements [json.MarshalerTo]: a result that asks has no
// contents.
func (r *ReadResourceResult) MarshalJSONTo(e *jsontext.Encoder) error {
	if r.ResultType == ResultInputRequired {
		return json.MarshalEncode(e, &InputRequiredResult{Result: r.Result, Questions: r.Questions})
	}
	type plain ReadResourceResult
	return json.MarshalEncode(e, (*plain)(r))
}

// ResourceContents is text or bytes. A Blob that is not nil makes it bytes,
// even when empty; else it is text.
type ResourceContents struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType,omitzero"`
	Text     string         `json:"text,omitzero"`
	Blob     []byte         `json:"blob,omitzero"`
	Meta     Meta           `json:"_meta,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// resourceContents is the wire form of ResourceContents.
type resourceContents struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType,omitzero"`
	Text     *string        `json:"text,omitzero"`
	Blob     []byte         `json:"blob,omitzero"`
	Meta     Meta           `json:"_meta,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c *ResourceContents) MarshalJSONTo(e *jsontext.Encoder) error {
	w := resourceContents{URI: c.URI, MIMEType: c.MIMEType, Blob: c.Blob, Meta: c.Meta, Extra: c.Extra}
	if c.Blob == nil || c.Text != "" {
		w.Text = &c.Text
	}
	return json.MarshalEncode(e, &w)
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *ResourceContents) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var w resourceContents
	if err := json.UnmarshalDecode(d, &w); err != nil {
		return err
	}
	*c = ResourceContents{URI: w.URI, MIMEType: w.MIMEType, Blob: w.Blob, Meta: w.Meta, Extra: w.Extra}
	if w.Text != nil {
		c.Text = *w.Text
	}
	return nil
}

// SubscribeParams ask to be told when a resource changes (legacy).
type SubscribeParams struct {
	Params
	URI string `json:"uri"`
}

// UnsubscribeParams end that.
type UnsubscribeParams = SubscribeParams

// ResourceUpdatedParams tell that a resource, or one below it, changed.
type ResourceUpdatedParams struct {
	Params
	URI string `json:"uri"`
}
