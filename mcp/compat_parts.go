package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// modernMeta are the keys that legacy peers are not sent.
var modernMeta = [...]string{
	MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, MetaLogLevel, MetaServerInfo, MetaSubscriptionID,
}

func (h part) meta(m Meta) Meta {
	if !h.no(partModern) {
		return m
	}
	out := m
	copied := false
	for _, key := range modernMeta {
		if _, ok := out[key]; !ok {
			continue
		}
		if !copied {
			out, copied = m.Clone(), true
		}
		delete(out, key)
	}
	if copied && len(out) == 0 {
		return nil
	}
	return out
}

func (h part) nestedMeta(m Meta) Meta {
	if h.no(partNestedMeta) {
		return nil
	}
	return m
}

func (h part) params(p Params) Params {
	p.Meta = h.meta(p.Meta)
	return p
}

func (h part) result(r Result) Result {
	r.Meta = h.meta(r.Meta)
	if h.no(partModern) {
		r.ResultType = ""
	}
	return r
}

// clientResult is for answers of a client: since 2026-07-28 they are values
// inside params, and not results.
func (h part) clientResult(r Result, withMeta bool) Result {
	r.ResultType = ""
	if h.no(partClientEnvelope) && !withMeta {
		r.Meta = nil
	}
	r.Meta = h.meta(r.Meta)
	return r
}

func (h part) cache(c Cache) Cache {
	if h.no(partModern) {
		return Cache{}
	}
	return c
}

func (h part) questions(q Questions) Questions {
	if h.no(partModern) {
		return Questions{}
	}
	return q
}

func (h part) answers(a Answers) Answers {
	if h.no(partModern) {
		return Answers{}
	}
	return a
}

func (h part) task(t *TaskMetadata) *TaskMetadata {
	if h.no(partTasks) {
		return nil
	}
	return t
}

func (h part) title(s string) string {
	if h.no(partTitles) {
		return ""
	}
	return s
}

func (h part) icons(icons []Icon) []Icon {
	if h.no(partIcons) {
		return nil
	}
	return icons
}

func (h part) implementation(i Implementation) Implementation {
	i.Title, i.Icons = h.title(i.Title), h.icons(i.Icons)
	if h.no(partIcons) {
		i.Description, i.WebsiteURL = "", ""
	}
	return i
}

// extensions drops the tasks extension from legacy sessions: it belongs to
// the modern era, and its methods are others there.
func (h part) extensions(m map[string]jsontext.Value) map[string]jsontext.Value {
	if _, ok := m[ExtensionTasks]; !ok || !h.no(partModern) {
		return m
	}
	out := make(map[string]jsontext.Value, len(m))
	for id, settings := range m {
		if id != ExtensionTasks {
			out[id] = settings
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (h part) clientCapabilities(c ClientCapabilities) ClientCapabilities {
	c.Extensions = h.extensions(c.Extensions)
	if h.no(partTasks) {
		c.Tasks = nil
	}
	if h.no(partLegacy) && c.Roots != nil && c.Roots.ListChanged {
		c.Roots = &RootsCapability{Extra: c.Roots.Extra}
	}
	if h.no(partSamplingTools) && c.Sampling != nil {
		c.Sampling = &SamplingCapability{}
	}
	if h.no(partElicitModes) && c.Elicitation != nil {
		c.Elicitation = onlyForm(c.Elicitation)
	}
	if h.no(partElicitation) {
		c.Elicitation = nil
	}
	return c
}

func onlyForm(e *ElicitationCapability) *ElicitationCapability {
	if !e.HasForm() {
		return nil
	}
	return &ElicitationCapability{}
}

func (h part) serverCapabilities(c ServerCapabilities) ServerCapabilities {
	c.Extensions = h.extensions(c.Extensions)
	if h.no(partTasks) {
		c.Tasks = nil
	}
	if h.no(partCompletions) {
		c.Completions = nil
	}
	return c
}

func (h part) tool(t Tool) Tool {
	if h.no(partTitles) && t.Title != "" {
		t.Annotations = withTitle(t.Annotations, t.Title)
	}
	t.Title, t.Icons, t.Meta = h.title(t.Title), h.icons(t.Icons), h.nestedMeta(t.Meta)
	if h.no(partToolAnnotations) {
		t.Annotations = nil
	}
	if h.no(partStructured) || h.no(partAnyOutput) && !isObjectSchema(t.OutputSchema) {
		t.OutputSchema = nil
	}
	if h.no(partTasks) {
		t.Execution = nil
	}
	return t
}

// withTitle says the title where revisions before 2025-06-18 have it.
func withTitle(a *ToolAnnotations, title string) *ToolAnnotations {
	if a == nil {
		return &ToolAnnotations{Title: title}
	}
	if a.Title != "" {
		return a
	}
	c := *a
	c.Title = title
	return &c
}

// isObjectSchema reports whether the root of schema has the type object and
// nothing else.
func isObjectSchema(schema jsontext.Value) bool {
	var root struct {
		Type jsontext.Value `json:"type"`
	}
	return json.Unmarshal(schema, &root) == nil && string(root.Type) == `"object"`
}

func (h part) annotations(a *Annotations) *Annotations {
	if a == nil || a.LastModified == "" || !h.no(partLastModified) {
		return a
	}
	c := *a
	c.LastModified = ""
	return &c
}

func (h part) resource(r Resource) Resource {
	r.Title, r.Icons, r.Meta = h.title(r.Title), h.icons(r.Icons), h.nestedMeta(r.Meta)
	r.Annotations = h.annotations(r.Annotations)
	return r
}

func (h part) resourceTemplate(r ResourceTemplate) ResourceTemplate {
	r.Title, r.Icons, r.Meta = h.title(r.Title), h.icons(r.Icons), h.nestedMeta(r.Meta)
	r.Annotations = h.annotations(r.Annotations)
	return r
}

func (h part) resourceContents(c ResourceContents) ResourceContents {
	c.Meta = h.nestedMeta(c.Meta)
	return c
}

func (h part) prompt(p Prompt) Prompt {
	p.Title, p.Icons, p.Meta = h.title(p.Title), h.icons(p.Icons), h.nestedMeta(p.Meta)
	if h.no(partTitles) {
		p.Arguments = mapped(p.Arguments, func(a PromptArgument) PromptArgument {
			a.Title = ""
			return a
		})
	}
	return p
}

func (h part) callToolResult(r *CallToolResult) *CallToolResult {
	if h.isSuited(r) {
		return r
	}
	c := *r
	c.Result, c.Questions = h.result(c.Result), h.questions(c.Questions)
	c.Content = h.blocks(c.Content)
	if c.StructuredContent == nil {
		return &c
	}
	isObject := c.StructuredContent.Kind() == '{'
	if h.no(partStructured) || h.no(partAnyOutput) && !isObject {
		c.Content = withText(c.Content, c.StructuredContent)
		c.StructuredContent = nil
	}
	return &c
}

// isSuited reports whether r is of the usual sort, and every revision that h
// may stand for has all of it: most results need no copy.
func (h part) isSuited(r *CallToolResult) bool {
	if h.no(partModern) && (r.ResultType != "" || len(r.Meta) > 0 || r.InputRequests != nil || r.RequestState != nil) {
		return false
	}
	if h.no(partAnyOutput) && r.StructuredContent != nil && (h.no(partStructured) || r.StructuredContent.Kind() != '{') {
		return false
	}
	for _, b := range r.Content {
		if t, ok := b.(*TextContent); !ok || t == nil || t.Annotations != nil || t.Meta != nil {
			return false
		}
	}
	return true
}

// withText adds the JSON text of structured content that cannot be sent,
// unless a text block is there that stands for it.
func withText(blocks Contents, v jsontext.Value) Contents {
	for _, b := range blocks {
		if _, ok := b.(*TextContent); ok {
			return blocks
		}
	}
	return append(slices.Clip(blocks), &TextContent{Text: string(v)})
}

// blocks copies the list only where a block must change.
func (h part) blocks(list []Content) []Content {
	out := list
	for i, b := range list {
		c := h.content(b)
		if c == b {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		out[i] = c
	}
	return out
}

// content returns b, or what stands for it.
func (h part) content(b Content) Content {
	if !h.no(partResourceLinks) && !h.no(partIcons) && !h.no(partAnyOutput) {
		return b // the newest revision has it all
	}
	switch x := b.(type) {
	case *TextContent:
		if h.sameAbout(x.Meta, x.Annotations) {
			return b
		}
		c := *x
		c.Meta, c.Annotations = h.nestedMeta(c.Meta), h.annotations(c.Annotations)
		return &c
	case *ImageContent:
		if h.sameAbout(x.Meta, x.Annotations) {
			return b
		}
		c := *x
		c.Meta, c.Annotations = h.nestedMeta(c.Meta), h.annotations(c.Annotations)
		return &c
	case *AudioContent:
		return h.audio(x)
	case *ResourceLink:
		return h.resourceLink(x)
	case *EmbeddedResource:
		if h.sameAbout(x.Meta, x.Annotations) && (x.Resource.Meta == nil || !h.no(partNestedMeta)) {
			return b
		}
		c := *x
		c.Meta, c.Annotations = h.nestedMeta(c.Meta), h.annotations(c.Annotations)
		c.Resource = h.resourceContents(c.Resource)
		return &c
	case *ToolUseContent:
		return h.toolUse(x)
	case *ToolResultContent:
		return h.toolResult(x)
	}
	return b
}

// sameAbout reports whether these need no change.
func (h part) sameAbout(m Meta, a *Annotations) bool {
	return (m == nil || !h.no(partNestedMeta)) && h.annotations(a) == a
}

func (h part) audio(x *AudioContent) Content {
	if h.no(partAudio) {
		return Textf("[audio: %s, %d bytes]", x.MIMEType, len(x.Data))
	}
	if h.sameAbout(x.Meta, x.Annotations) {
		return x
	}
	c := *x
	c.Meta, c.Annotations = h.nestedMeta(c.Meta), h.annotations(c.Annotations)
	return &c
}

func (h part) resourceLink(x *ResourceLink) Content {
	if h.no(partResourceLinks) {
		return &TextContent{Text: linkText(x), Annotations: h.annotations(x.Annotations)}
	}
	if x.Icons == nil || !h.no(partIcons) {
		return x
	}
	c := *x
	c.Icons = nil
	return &c
}

func linkText(l *ResourceLink) string {
	var b strings.Builder
	b.WriteString(l.URI)
	if l.Title != "" {
		fmt.Fprintf(&b, " (%s)", l.Title)
	}
	if l.Title == "" && l.Name != "" {
		fmt.Fprintf(&b, " (%s)", l.Name)
	}
	if l.Description != "" {
		b.WriteString(": " + l.Description)
	}
	return b.String()
}

func (h part) toolUse(x *ToolUseContent) Content {
	if !h.no(partSamplingTools) {
		return x
	}
	if x.Input == nil {
		return Textf("[call of tool %s]", x.Name)
	}
	return Textf("[call of tool %s: %s]", x.Name, x.Input)
}

func (h part) toolResult(x *ToolResultContent) Content {
	c := *x
	c.Content = h.blocks(c.Content)
	if c.StructuredContent != nil && h.no(partAnyOutput) && c.StructuredContent.Kind() != '{' {
		c.Content = withText(c.Content, c.StructuredContent)
		c.StructuredContent = nil
	}
	if !h.no(partSamplingTools) {
		return &c
	}
	var texts []string
	for _, b := range c.Content {
		if t, ok := b.(*TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return Textf("[result of a tool: %s]", strings.Join(texts, "\n"))
}

func (h part) completeParams(p *CompleteParams) *CompleteParams {
	c := *p
	c.Params = h.params(c.Params)
	c.Ref.Title = h.title(c.Ref.Title)
	if h.no(partCompleteContext) {
		c.Context = nil
	}
	return &c
}

// single makes one block of several where a revision has no more: the texts
// joined, or else the first block.
func (h part) single(list []Content) []Content {
	if !h.no(partSamplingTools) || len(list) < 2 {
		return list
	}
	texts := make([]string, len(list))
	for i, b := range list {
		t, ok := b.(*TextContent)
		if !ok {
			return list[:1:1]
		}
		texts[i] = t.Text
	}
	return []Content{Text(strings.Join(texts, "\n"))}
}

func (h part) createMessageParams(p *CreateMessageParams) *CreateMessageParams {
	c := *p
	c.Params, c.Task = h.params(c.Params), h.task(c.Task)
	if h.no(partClientEnvelope) {
		c.Meta = nil
	}
	c.Messages = h.samplingMessages(c.Messages)
	if h.no(partSamplingTools) {
		c.Tools, c.ToolChoice = nil, nil
	}
	c.Tools = mapped(c.Tools, h.tool)
	return &c
}

// samplingMessages splits messages of several blocks where a revision has one
// block in each.
func (h part) samplingMessages(ms []SamplingMessage) []SamplingMessage {
	out := make([]SamplingMessage, 0, len(ms))
	for _, m := range ms {
		m.Content = h.blocks(m.Content)
		if !h.no(partSamplingTools) {
			out = append(out, m)
			continue
		}
		for _, b := range m.Content {
			out = append(out, SamplingMessage{Role: m.Role, Content: OneOrMany{b}, Extra: m.Extra})
		}
	}
	return out
}

func (h part) elicitParams(p *ElicitParams) *ElicitParams {
	c := *p
	c.Params, c.Task = h.params(c.Params), h.task(c.Task)
	if h.no(partClientEnvelope) {
		c.Meta = nil
	}
	if h.no(partElicitID) {
		c.ElicitationID = ""
	}
	if !h.no(partElicitModes) {
		return &c
	}
	if c.Mode == ElicitForm {
		c.Mode = ""
	}
	if c.RequestedSchema != nil {
		c.RequestedSchema = oldForm(c.RequestedSchema)
	}
	return &c
}

// oldForm says a form in the words of 2025-06-18: no defaults but those of
// booleans, titled choices by enumNames, no lists. A form that cannot be read
// is left alone.
func oldForm(schema jsontext.Value) jsontext.Value {
	fields, err := ParseForm(schema)
	if err != nil {
		return schema
	}
	old := make([]Field, 0, len(fields))
	for _, f := range fields {
		s := &f.Schema
		if s.Type == "array" {
			continue
		}
		if s.Type != "boolean" {
			s.Default = nil
		}
		if s.OneOf != nil {
			s.Enum, s.EnumNames = splitOptions(s.OneOf)
			s.OneOf = nil
		}
		old = append(old, f)
	}
	return FormSchema(old...)
}

func splitOptions(options []EnumOption) (values, titles []string) {
	for _, o := range options {
		values = append(values, o.Const)
		titles = append(titles, o.Title)
	}
	return values, titles
}
