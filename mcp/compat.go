package mcp

import "reflect"

// part is something that not every revision has.
type part uint64

const (
	partModern          part = 1 << iota // the modern envelope: result types, cache hints, questions and answers, reserved _meta keys
	partLegacy                           // what only a session can have
	partAudio                            // audio blocks
	partToolAnnotations                  // annotations of tools
	partProgressMessage                  // message of progress
	partCompletions                      // the completions capability
	partResourceLinks                    // resource_link blocks
	partTitles                           // title beside name
	partNestedMeta                       // _meta in other places than params and results
	partStructured                       // structuredContent, outputSchema
	partLastModified                     // lastModified in annotations
	partCompleteContext                  // context of completion
	partElicitation                      // the elicitation capability
	partIcons                            // icons, and what else describes an implementation
	partElicitModes                      // URL mode, and the fields of forms that came with it
	partElicitID                         // elicitationId
	partSamplingTools                    // tools, tool blocks and several blocks in sampling
	partTasks                            // tasks in the core
	partAnyOutput                        // structured content and output schemas that are no objects
	partClientEnvelope                   // answers of the client are whole results, its questions whole params
)

// parts is the downgrade table: the revisions that have a part. Until "" means
// that the newest has it.
var parts = [...]struct {
	part        part
	from, until Version
}{
	{partModern, V20260728, ""},
	{partLegacy, V20241105, legacyLast},
	{partClientEnvelope, V20241105, legacyLast},
	{partAudio, V20250326, ""},
	{partToolAnnotations, V20250326, ""},
	{partProgressMessage, V20250326, ""},
	{partCompletions, V20250326, ""},
	{partResourceLinks, V20250618, ""},
	{partTitles, V20250618, ""},
	{partNestedMeta, V20250618, ""},
	{partStructured, V20250618, ""},
	{partLastModified, V20250618, ""},
	{partCompleteContext, V20250618, ""},
	{partElicitation, V20250618, ""},
	{partIcons, V20251125, ""},
	{partElicitModes, V20251125, ""},
	{partElicitID, V20251125, V20251125},
	{partSamplingTools, V20251125, ""},
	{partTasks, V20251125, V20251125},
	{partAnyOutput, V20260728, ""},
}

// partsOf has what has returns, for the known revisions.
var partsOf = func() (sets [len(revisions)]part) {
	for i, r := range revisions {
		sets[i] = partsAt(r.Version)
	}
	return sets
}()

// has returns the parts of revision v.
func has(v Version) part {
	for i := range revisions {
		if revisions[i].Version == v {
			return partsOf[i]
		}
	}
	return partsAt(v)
}

func partsAt(v Version) (all part) {
	for _, p := range parts {
		if v >= p.from && (p.until == "" || v <= p.until) {
			all |= p.part
		}
	}
	return all
}

// no reports whether p is missing.
func (h part) no(p part) bool { return h&p == 0 }

// Downgrade returns value, a pointer to params or to a result, in a form that a
// peer of revision v understands: what that revision does not have is left
// out, or said with what it has. It changes nothing in place: what must differ
// is copied. A value of another type comes back as it is, and so may one in which
// nothing must differ.
//
// It does not ask whether the peer declared a capability, and does not add what
// a revision requires.
func Downgrade(v Version, value any) any {
	if p := reflect.ValueOf(value); p.Kind() == reflect.Pointer && p.IsNil() {
		return value
	}
	if x, ok := value.(*CallToolParams); ok && x.Meta == nil && x.InputResponses == nil && x.RequestState == nil && x.Task == nil {
		return x // most calls have nothing to leave out
	}
	h := has(v)
	if out := h.listing(value); out != nil {
		return out
	}
	if out := h.answering(value); out != nil {
		return out
	}
	if out := h.asking(value); out != nil {
		return out
	}
	switch x := value.(type) {
	case *InitializeParams:
		c := *x
		c.Params = h.params(c.Params)
		c.Capabilities = h.clientCapabilities(c.Capabilities)
		c.ClientInfo = h.implementation(c.ClientInfo)
		return &c
	case *InitializeResult:
		c := *x
		c.Result = h.result(c.Result)
		c.Capabilities = h.serverCapabilities(c.Capabilities)
		c.ServerInfo = h.implementation(c.ServerInfo)
		return &c
	case *DiscoverResult:
		c := *x
		c.Capabilities = h.serverCapabilities(c.Capabilities)
		return &c
	case *ProgressParams:
		if x.Meta == nil && (x.Message == "" || !h.no(partProgressMessage)) {
			return x
		}
		c := *x
		c.Params = h.params(c.Params)
		if h.no(partProgressMessage) {
			c.Message = ""
		}
		return &c
	}
	return h.plain(value)
}

// listing downgrades the results of methods that list.
func (h part) listing(value any) any {
	switch x := value.(type) {
	case *ListToolsResult:
		c := *x
		c.Result, c.Cache = h.result(c.Result), h.cache(c.Cache)
		c.Tools = mapped(c.Tools, h.tool)
		return &c
	case *ListResourcesResult:
		c := *x
		c.Result, c.Cache = h.result(c.Result), h.cache(c.Cache)
		c.Resources = mapped(c.Resources, h.resource)
		return &c
	case *ListResourceTemplatesResult:
		c := *x
		c.Result, c.Cache = h.result(c.Result), h.cache(c.Cache)
		c.ResourceTemplates = mapped(c.ResourceTemplates, h.resourceTemplate)
		return &c
	case *ListPromptsResult:
		c := *x
		c.Result, c.Cache = h.result(c.Result), h.cache(c.Cache)
		c.Prompts = mapped(c.Prompts, h.prompt)
		return &c
	}
	return nil
}

// answering downgrades the other results of servers that hold content.
func (h part) answering(value any) any {
	switch x := value.(type) {
	case *CallToolResult:
		return h.callToolResult(x)
	case *GetPromptResult:
		c := *x
		c.Result, c.Questions = h.result(c.Result), h.questions(c.Questions)
		c.Messages = mapped(c.Messages, func(m PromptMessage) PromptMessage {
			m.Content = h.content(m.Content)
			return m
		})
		return &c
	case *ReadResourceResult:
		c := *x
		c.Result, c.Cache, c.Questions = h.result(c.Result), h.cache(c.Cache), h.questions(c.Questions)
		c.Contents = mapped(c.Contents, h.resourceContents)
		return &c
	}
	return nil
}

// asking downgrades params of requests, to either side, and the answers of
// clients.
func (h part) asking(value any) any {
	switch x := value.(type) {
	case *CallToolParams:
		c := *x
		c.Params, c.Answers, c.Task = h.params(c.Params), h.answers(c.Answers), h.task(c.Task)
		return &c
	case *GetPromptParams:
		c := *x
		c.Params, c.Answers = h.params(c.Params), h.answers(c.Answers)
		return &c
	case *ReadResourceParams:
		c := *x
		c.Params, c.Answers = h.params(c.Params), h.answers(c.Answers)
		return &c
	case *CompleteParams:
		return h.completeParams(x)
	case *ElicitParams:
		return h.elicitParams(x)
	case *ElicitResult:
		c := *x
		c.Result = h.clientResult(c.Result, false)
		return &c
	case *CreateMessageParams:
		return h.createMessageParams(x)
	case *CreateMessageResult:
		c := *x
		c.Result = h.clientResult(c.Result, true)
		c.Content = h.single(h.blocks(c.Content))
		return &c
	case *ListRootsResult:
		c := *x
		c.Result = h.clientResult(c.Result, false)
		c.Roots = mapped(c.Roots, func(r Root) Root {
			r.Meta = h.nestedMeta(r.Meta)
			return r
		})
		return &c
	}
	return nil
}

// plain downgrades values that have nothing special but their _meta.
func (h part) plain(value any) any {
	switch x := value.(type) {
	case *Result:
		return h.answered(clone(x))
	case *CompleteResult:
		return h.answered(clone(x))
	case *ListTasksResult:
		return h.answered(clone(x))
	case *LegacyCreateTaskResult:
		return h.answered(clone(x))
	case *LegacyGetTaskResult:
		return h.answered(clone(x))
	case *Params:
		return h.said(clone(x))
	case *PaginatedParams:
		return h.said(clone(x))
	case *SetLevelParams:
		return h.said(clone(x))
	case *SubscribeParams:
		return h.said(clone(x))
	case *ListRootsParams:
		return h.said(clone(x))
	case *CancelledParams:
		return h.said(clone(x))
	case *LogParams:
		return h.said(clone(x))
	case *ResourceUpdatedParams:
		return h.said(clone(x))
	case *ListChangedParams:
		return h.said(clone(x))
	}
	return value
}

// answered downgrades the common part of r in place.
func (h part) answered(r AnyResult) AnyResult {
	c := r.CommonResult()
	*c = h.result(*c)
	return r
}

// said downgrades the common part of p in place.
func (h part) said(p AnyParams) AnyParams {
	c := p.CommonParams()
	*c = h.params(*c)
	return p
}

func clone[T any](v *T) *T {
	c := *v
	return &c
}

// mapped returns a copy of s with f done to each element; nil stays nil.
func mapped[T any](s []T, f func(T) T) []T {
	if s == nil {
		return nil
	}
	out := make([]T, len(s))
	for i, e := range s {
		out[i] = f(e)
	}
	return out
}
