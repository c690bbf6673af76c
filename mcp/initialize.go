package mcp

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// InitializeParams open a legacy session.
type InitializeParams struct {
	Params
	ProtocolVersion Version            `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"capabilities"`
	ClientInfo      Implementation     `json:"clientInfo"`
}

// InitializeResult answers them with the version of the session.
type InitializeResult struct {
	Result
	ProtocolVersion Version            `json:"protocolVersion"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	// Instructions tell a model how to use the server.
	Instructions string `json:"instructions,omitzero"`
}

// Implementation says which program speaks. It is for display and logs, never
// for decisions.
type Implementation struct {
	Name string `json:"name"`
	// Title is for people; since 2025-06-18.
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
	// The next three are since 2025-11-25.
	Description string         `json:"description,omitzero"`
	Icons       []Icon         `json:"icons,omitzero"`
	WebsiteURL  string         `json:"websiteUrl,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// Icon is a picture to show beside a name. Whoever renders it must check the
// scheme of Src and the bytes behind it.
type Icon struct {
	// Src is an https or data URL.
	Src      string `json:"src"`
	MIMEType string `json:"mimeType,omitzero"`
	// Sizes are "48x48" or "any".
	Sizes []string `json:"sizes,omitzero"`
	// Theme is "light" or "dark", the background it is made for.
	Theme string         `json:"theme,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// Support is a capability that is there or not: a pointer to it, nil when
// absent, with settings that are not known kept in Extra.
type Support struct {
	Extra jsontext.Value `json:",embed"`
}

// ClientCapabilities say what a server may ask of a client.
type ClientCapabilities struct {
	Experimental map[string]jsontext.Value `json:"experimental,omitzero"`
	// Extensions has settings by the identifier of the extension; {} means
	// supported without settings.
	Extensions map[string]jsontext.Value `json:"extensions,omitzero"`
	// Roots is deprecated in 2026-07-28.
	Roots *RootsCapability `json:"roots,omitzero"`
	// Sampling is deprecated in 2026-07-28.
	Sampling    *SamplingCapability    `json:"sampling,omitzero"`
	Elicitation *ElicitationCapability `json:"elicitation,omitzero"`
	// Tasks is of 2025-11-25 only.
	Tasks *ClientTasksCapability `json:"tasks,omitzero"`
	Extra jsontext.Value         `json:",embed"`
}

// RootsCapability says that the client has roots.
type RootsCapability struct {
	// ListChanged: it notifies when they change (legacy).
	ListChanged bool           `json:"listChanged,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// SamplingCapability says that the client has a model to sample from.
type SamplingCapability struct {
	// Context: includeContext may be other than none.
	Context *Support `json:"context,omitzero"`
	// Tools: tools and toolChoice may be sent.
	Tools *Support       `json:"tools,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// ElicitationCapability says that the client can ask its user. Neither mode
// means the same as Form alone.
type ElicitationCapability struct {
	Form  *Support       `json:"form,omitzero"`
	URL   *Support       `json:"url,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// HasForm reports whether the user can be shown a form. A nil e has nothing.
func (e *ElicitationCapability) HasForm() bool {
	return e != nil && (e.Form != nil || e.URL == nil)
}

// HasURL reports whether the user can be sent to a URL. A nil e has nothing.
func (e *ElicitationCapability) HasURL() bool { return e != nil && e.URL != nil }

// ServerCapabilities say what a client may ask of a server.
type ServerCapabilities struct {
	Experimental map[string]jsontext.Value `json:"experimental,omitzero"`
	// Extensions has settings by the identifier of the extension; {} means
	// supported without settings.
	Extensions map[string]jsontext.Value `json:"extensions,omitzero"`
	// Logging is deprecated in 2026-07-28.
	Logging     *Support             `json:"logging,omitzero"`
	Completions *Support             `json:"completions,omitzero"`
	Prompts     *ListCapability      `json:"prompts,omitzero"`
	Resources   *ResourcesCapability `json:"resources,omitzero"`
	Tools       *ListCapability      `json:"tools,omitzero"`
	// Tasks is of 2025-11-25 only.
	Tasks *ServerTasksCapability `json:"tasks,omitzero"`
	Extra jsontext.Value         `json:",embed"`
}

// ListCapability says that the server has tools or prompts.
type ListCapability struct {
	// ListChanged: it notifies when the list changes.
	ListChanged bool           `json:"listChanged,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// ResourcesCapability says that the server has resources.
type ResourcesCapability struct {
	// Subscribe: it notifies when a resource changes.
	Subscribe bool `json:"subscribe,omitzero"`
	// ListChanged: it notifies when the list changes.
	ListChanged bool           `json:"listChanged,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// extensionName is the beginning of the name of an extension's capability.
const extensionName = "extensions."

// Names returns the dotted names of the capabilities, sorted: "elicitation.url",
// "roots.listChanged", "extensions.ID". A name stands for its parents too, so
// only the deepest are there.
func (c *ClientCapabilities) Names() []string {
	var n names
	n.group("roots", c.Roots != nil, flag{"listChanged", c.Roots != nil && c.Roots.ListChanged})
	if s := c.Sampling; s != nil {
		n.group("sampling", true, flag{"context", s.Context != nil}, flag{"tools", s.Tools != nil})
	}
	if e := c.Elicitation; e != nil {
		n.group("elicitation", true, flag{"form", e.HasForm()}, flag{"url", e.URL != nil})
	}
	if t := c.Tasks; t != nil {
		n.group("tasks", true, flag{"list", t.List != nil}, flag{"cancel", t.Cancel != nil},
			flag{"requests.sampling.createMessage", t.CreatesMessages()}, flag{"requests.elicitation.create", t.Elicits()})
	}
	n.extensions(c.Extensions)
	return n.sorted()
}

// Has reports whether the capability with this dotted name is declared, such
// as "sampling", "sampling.tools", "elicitation.form" or "extensions.ID". An
// elicitation capability without a mode has "elicitation.form".
func (c *ClientCapabilities) Has(name string) bool { return declares(c.Names(), name) }

// Covers reports whether all that need has is declared.
func (c *ClientCapabilities) Covers(need *ClientCapabilities) bool {
	all := c.Names()
	return !slices.ContainsFunc(need.Names(), func(name string) bool { return !declares(all, name) })
}

// Names returns the dotted names of the capabilities, sorted: "tools",
// "resources.subscribe", "extensions.ID". A name stands for its parents too, so
// only the deepest are there.
func (c *ServerCapabilities) Names() []string {
	var n names
	n.group("logging", c.Logging != nil)
	n.group("completions", c.Completions != nil)
	n.group("prompts", c.Prompts != nil, flag{"listChanged", c.Prompts != nil && c.Prompts.ListChanged})
	n.group("tools", c.Tools != nil, flag{"listChanged", c.Tools != nil && c.Tools.ListChanged})
	if r := c.Resources; r != nil {
		n.group("resources", true, flag{"subscribe", r.Subscribe}, flag{"listChanged", r.ListChanged})
	}
	if t := c.Tasks; t != nil {
		n.group("tasks", true, flag{"list", t.List != nil}, flag{"cancel", t.Cancel != nil}, flag{"requests.tools.call", t.CallsTools()})
	}
	n.extensions(c.Extensions)
	return n.sorted()
}

// Has reports whether the capability with this dotted name is declared, such
// as "tools" or "resources.subscribe".
func (c *ServerCapabilities) Has(name string) bool { return declares(c.Names(), name) }

type flag struct {
	name string
	on   bool
}

type names struct{ all []string }

func (n *names) group(name string, on bool, flags ...flag) {
	if !on {
		return
	}
	deeper := false
	for _, f := range flags {
		if f.on {
			n.all = append(n.all, name+"."+f.name)
			deeper = true
		}
	}
	if !deeper {
		n.all = append(n.all, name)
	}
}

func (n *names) extensions(m map[string]jsontext.Value) {
	for id := range m {
		n.all = append(n.all, extensionName+id)
	}
}

func (n *names) sorted() []string {
	slices.Sort(n.all)
	return n.all
}

func declares(all []string, name string) bool {
	for _, n := range all {
		rest, ok := strings.CutPrefix(n, name)
		if ok && (rest == "" || rest[0] == '.' && !strings.HasPrefix(n, extensionName)) {
			return true
		}
	}
	return false
}
