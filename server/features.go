package server

import (
	"context"
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// features is all that a server offers at one moment. It never changes: a
// change makes another one, so a request sees one state from begin to end and
// takes no lock.
type features struct {
	tools     *set[*tool]
	resources *set[*resource]
	templates *set[*template]
	matching  []*template // the templates, in the order in which they are tried
	prompts   *set[*prompt]

	methods       map[string]*method                             // of extensions
	notifications map[string]func(context.Context, *rpc.Request) // of extensions
	capabilities  mcp.ServerCapabilities
	declared      map[string]bool // by dotted name
	encoded       *encodedResults // of this state
}

func newFeatures(s *Server) *features {
	f := &features{
		tools:     &set[*tool]{kind: "tools"},
		resources: &set[*resource]{kind: "resources"},
		templates: &set[*template]{kind: "templates"},
		prompts:   &set[*prompt]{kind: "prompts"},
	}
	if c := s.opts.Capabilities; c != nil {
		f.capabilities = *c
	}
	// A handler may log at any time, and who logs must have declared it.
	if f.capabilities.Logging == nil {
		f.capabilities.Logging = &mcp.Support{}
	}
	if s.tasks != nil {
		s.tasks.declare(&f.capabilities)
	}
	if s.opts.Complete != nil && f.capabilities.Completions == nil {
		f.capabilities.Completions = &mcp.Support{}
	}
	f.declare()
	return f
}

// declare makes the capabilities follow the features. What was declared stays
// declared when the last feature goes: the client may have built on it.
func (f *features) declare() {
	f.encoded = new(encodedResults)
	c := &f.capabilities
	if len(f.tools.keys) > 0 && c.Tools == nil {
		c.Tools = &mcp.ListCapability{ListChanged: true}
	}
	if len(f.prompts.keys) > 0 && c.Prompts == nil {
		c.Prompts = &mcp.ListCapability{ListChanged: true}
	}
	if len(f.resources.keys)+len(f.templates.keys) > 0 && c.Resources == nil {
		c.Resources = &mcp.ResourcesCapability{Subscribe: true, ListChanged: true}
	}
	f.declared = map[string]bool{}
	for _, m := range mcp.Methods() {
		for _, name := range m.Capabilities() {
			f.declared[name] = c.Has(name)
		}
	}
}

// change puts a new state in the place of the current one and tells those who
// want to know. edit works on a copy; it must copy what it changes, and
// reports whether it changed anything.
func (s *Server) change(list lists, edit func(f *features) bool) {
	s.mu.Lock()
	f := *s.features.Load()
	changed := edit(&f)
	if changed {
		f.declare()
		s.features.Store(&f)
	}
	s.mu.Unlock()
	if changed && list != 0 {
		s.hub.listChanged(list)
	}
}

// checkDefinition refuses a feature that would break the list it is in: one
// whose key, the name or the URI, is too long for a cursor, or that cannot be
// encoded.
func checkDefinition(kind, key string, def any) error {
	if len(key) > maxKeyBytes {
		return fmt.Errorf("server: %s %q has %d bytes in its name: %d are allowed", kind, capped(key), len(key), maxKeyBytes)
	}
	if !utf8.ValidString(key) {
		return fmt.Errorf("server: %s %q is not UTF-8", kind, capped(key))
	}
	if _, err := json.Marshal(def); err != nil {
		return fmt.Errorf("server: %s %q cannot be encoded: %w", kind, capped(key), err)
	}
	return nil
}

// method is what answers one method.
type method struct {
	row    mcp.Method
	decode func(req *rpc.Request, meta *mcp.RequestMeta) (any, error)
	handle Handler
	// fixed: the result follows from the features, the revision and the cursor.
	fixed bool
	task  bool // of tasks
}

// on makes a method of a function with typed params.
func on[P any](handle func(ctx context.Context, c *Call, p *P) (any, error)) *method {
	return &method{
		decode: func(req *rpc.Request, meta *mcp.RequestMeta) (any, error) {
			p := new(P)
			if err := mcp.DecodeParams(req, p, meta); err != nil {
				return nil, err
			}
			return p, nil
		},
		handle: func(ctx context.Context, c *Call) (any, error) { return handle(ctx, c, c.Params.(*P)) },
	}
}

// fixed marks a method whose result is encoded once.
func fixed(m *method) *method {
	m.fixed = true
	return m
}

// ofTasks marks a method that only a server with tasks has.
func ofTasks(m *method) *method {
	m.task = true
	return m
}

// methods are those of the protocol that a server answers.
var methods = rows(map[string]*method{
	mcp.MethodInitialize:            on(initialize),
	mcp.MethodPing:                  on(ping),
	mcp.MethodDiscover:              fixed(on(discover)),
	mcp.MethodToolsList:             fixed(on(listTools)),
	mcp.MethodToolsCall:             on(callTool),
	mcp.MethodResourcesList:         fixed(on(listResources)),
	mcp.MethodResourceTemplatesList: fixed(on(listTemplates)),
	mcp.MethodResourcesRead:         on(readResource),
	mcp.MethodResourcesSubscribe:    on(subscribe),
	mcp.MethodResourcesUnsubscribe:  on(unsubscribe),
	mcp.MethodPromptsList:           fixed(on(listPrompts)),
	mcp.MethodPromptsGet:            on(getPrompt),
	mcp.MethodComplete:              on(complete),
	mcp.MethodSetLevel:              on(setLevel),
	mcp.MethodListen:                on(listen),
	mcp.MethodTasksGet:              ofTasks(on(getTask)),
	mcp.MethodTasksResult:           ofTasks(on(taskResult)),
	mcp.MethodTasksList:             ofTasks(on(listTasks)),
	mcp.MethodTasksCancel:           ofTasks(on(cancelTask)),
	mcp.MethodTasksUpdate:           ofTasks(on(updateTask)),
})

func rows(ms map[string]*method) map[string]*method {
	for name, m := range ms {
		m.row, _ = mcp.MethodByName(name)
	}
	return ms
}

// method finds what answers a call: a method that its revision has and whose
// capability is declared.
func (s *Server) method(c *Call) (*method, bool) {
	f := s.features.Load()
	m, ok := methods[c.req.Method]
	if !ok {
		if m, ok = f.methods[c.req.Method]; ok {
			c.Method = &m.row
		}
		return m, ok
	}
	if !m.row.FromClient(c.Version) {
		return m, false
	}
	if c.req.Method == mcp.MethodComplete && s.opts.Complete == nil {
		return m, false
	}
	if m.task && s.tasks == nil {
		return m, false
	}
	need := m.row.Needs(c.Version)
	return m, need == "" || f.declared[need]
}

// answersOf returns the answers that came with params of a method that may ask.
func answersOf(params any) *mcp.Answers {
	switch p := params.(type) {
	case *mcp.CallToolParams:
		return &p.Answers
	case *mcp.GetPromptParams:
		return &p.Answers
	case *mcp.ReadResourceParams:
		return &p.Answers
	}
	return &mcp.Answers{}
}

func initialize(_ context.Context, c *Call, p *mcp.InitializeParams) (any, error) {
	return c.session.initialize(c, p)
}

func ping(context.Context, *Call, *mcp.Params) (any, error) { return &mcp.Result{}, nil }

func discover(_ context.Context, c *Call, _ *mcp.DiscoverParams) (any, error) {
	s := c.session.server
	versions := make([]mcp.Version, 0, 8)
	for _, r := range mcp.Revisions() {
		versions = append(versions, r.Version)
	}
	return &mcp.DiscoverResult{
		SupportedVersions: versions,
		Capabilities:      s.features.Load().capabilities,
		Instructions:      s.opts.Instructions,
	}, nil
}

// cloned returns m with one more entry.
func cloned[V any](m map[string]V, key string, v V) map[string]V {
	c := maps.Clone(m)
	if c == nil {
		c = map[string]V{}
	}
	c[key] = v
	return c
}
