package mcp

import (
	"fmt"
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// The reserved keys of _meta.
const (
	MetaProgressToken = "progressToken"
	// The next four are in requests of the modern era.
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	// MetaServerInfo is in results of the modern era.
	MetaServerInfo = "io.modelcontextprotocol/serverInfo"
	// MetaSubscriptionID is in all that is sent for subscriptions/listen. It
	// is the ID of that request, with its JSON type.
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
	// The next two belong to the tasks of 2025-11-25.
	MetaRelatedTask            = "io.modelcontextprotocol/related-task"
	MetaModelImmediateResponse = "io.modelcontextprotocol/model-immediate-response"
	// The trace context of W3C: the only bare names besides progressToken.
	MetaTraceParent = "traceparent"
	MetaTraceState  = "tracestate"
	MetaBaggage     = "baggage"
)

// Meta is a _meta object. Keys that are not known are kept. Nil is absent.
type Meta map[string]jsontext.Value

// Set encodes v and puts it under key. It makes the map where there is none.
func (m *Meta) Set(key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode _meta %q: %w", key, err)
	}
	if *m == nil {
		*m = Meta{}
	}
	(*m)[key] = b
	return nil
}

// Decode decodes the value of key into v, a pointer. It reports whether the
// key is there.
func (m Meta) Decode(key string, v any) (bool, error) {
	raw, ok := m[key]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return true, fmt.Errorf("decode _meta %q: %w", key, err)
	}
	return true, nil
}

// Clone returns a copy of the map. The values are shared.
func (m Meta) Clone() Meta { return maps.Clone(m) }

// ServerInfo returns who sent the result that has this _meta. It is nil where
// the server does not say, or says it badly: it is only for display.
func (m Meta) ServerInfo() *Implementation {
	var info Implementation
	if ok, err := m.Decode(MetaServerInfo, &info); !ok || err != nil {
		return nil
	}
	return &info
}

// SubscriptionID returns the ID of the listen request that a notification or
// result belongs to; zero where there is none.
func (m Meta) SubscriptionID() rpc.ID {
	var id rpc.ID
	if ok, err := m.Decode(MetaSubscriptionID, &id); !ok || err != nil {
		return rpc.ID{}
	}
	return id
}

// ProgressToken names the request that a progress notification belongs to. It
// keeps the JSON text, a string or an integer, so 1 and "1" are different
// tokens. The zero token means that nobody asked for progress.
type ProgressToken struct{ rpc.ID }

// IntToken returns the token whose JSON text is n.
func IntToken(n int64) ProgressToken { return ProgressToken{rpc.IntID(n)} }

// StringToken returns the token that is the JSON string s.
func StringToken(s string) ProgressToken { return ProgressToken{rpc.StringID(s)} }

// Params is the part that the params of every method share.
type Params struct {
	Meta Meta `json:"_meta,omitzero"`
	// Extra has the members that no revision defines, as one object.
	Extra jsontext.Value `json:",embed"`
}

// CommonParams returns p.
func (p *Params) CommonParams() *Params { return p }

// AnyParams is a pointer to the params of any method.
type AnyParams interface{ CommonParams() *Params }

// Result is the part that the results of every method share. It is the whole
// result of methods that only acknowledge.
type Result struct {
	// ResultType is "" in the legacy era, and means complete then.
	ResultType ResultType `json:"resultType,omitzero"`
	Meta       Meta       `json:"_meta,omitzero"`
	// Extra has the members that no revision defines, as one object.
	Extra jsontext.Value `json:",embed"`
}

// CommonResult returns r.
func (r *Result) CommonResult() *Result { return r }

// AnyResult is a pointer to the result of any method.
type AnyResult interface{ CommonResult() *Result }

// ResultType says of what kind a result is. A receiver must refuse a type that
// it does not know. It is defined from 2026-07-28 on.
type ResultType string

// The known kinds of results.
const (
	ResultComplete      ResultType = "complete"
	ResultInputRequired ResultType = "input_required"
	// ResultTask belongs to the tasks extension.
	ResultTask ResultType = "task"
)

// Cache says how long, and for whom, a result may be kept (2026-07-28).
type Cache struct {
	// TTLMs is a time in milliseconds from receipt. Nil, 0 and less mean
	// that the result is stale at once.
	TTLMs *int64     `json:"ttlMs,omitzero"`
	Scope CacheScope `json:"cacheScope,omitzero"`
}

// CacheHints returns c.
func (c *Cache) CacheHints() *Cache { return c }

// CacheScope says who may be served from a cache.
type CacheScope string

const (
	// CachePublic results are the same for everybody.
	CachePublic CacheScope = "public"
	// CachePrivate results are for one authorization context.
	CachePrivate CacheScope = "private"
)

// PaginatedParams are the params of the methods that list.
type PaginatedParams struct {
	Params
	// Cursor is a NextCursor of an earlier page. Nil asks for the first page;
	// the empty string is a cursor like any other.
	Cursor *string `json:"cursor,omitzero"`
}

// RequestMeta is what the _meta of a request says, decoded in one pass. Its
// zero value is that of a request without _meta.
type RequestMeta struct {
	// Version is "" where the request does not name one, as in the legacy era.
	Version Version `json:"io.modelcontextprotocol/protocolVersion,omitzero"`
	// Client is nil where the client does not say who it is.
	Client *Implementation `json:"io.modelcontextprotocol/clientInfo,omitzero"`
	// Capabilities is nil where it is missing, as in the legacy era.
	Capabilities *ClientCapabilities `json:"io.modelcontextprotocol/clientCapabilities,omitzero"`
	// LogLevel is "" where no log messages are wanted.
	LogLevel LoggingLevel `json:"io.modelcontextprotocol/logLevel,omitzero"`
	// ProgressToken is zero where no progress is wanted.
	ProgressToken ProgressToken `json:"progressToken,omitzero"`
	// Extra has the other keys, as one object.
	Extra jsontext.Value `json:",embed"`
}

// Read reads the _meta of a received request into m, which must be zero. It
// returns an invalid-params error where a reserved key has the wrong type.
func (m *RequestMeta) Read(req *rpc.Request) error {
	params := req.Params
	if len(params) == 0 {
		return nil
	}
	if meta := req.Param("_meta"); params.Kind() == '{' && (meta == nil || m.readFast(meta)) {
		return nil
	}
	var p struct {
		Meta RequestMeta `json:"_meta"`
	}
	err := json.Unmarshal(params, &p)
	if *m = p.Meta; err != nil {
		return InvalidParams("params: %w", decodeError(err))
	}
	return nil
}

// Modern reports whether any key is there that only modern requests have.
func (m *RequestMeta) Modern() bool {
	return m.Version != "" || m.Client != nil || m.Capabilities != nil || m.LogLevel != ""
}

// Check returns an invalid-params error where a key that the modern era
// requires is missing or a value is not known (2026-07-28, basic).
func (m *RequestMeta) Check() error {
	switch {
	case m.Version == "":
		return InvalidParams("params._meta must have the key %q", MetaProtocolVersion)
	case m.Capabilities == nil:
		return InvalidParams("params._meta must have the key %q", MetaClientCapabilities)
	case m.LogLevel != "" && !m.LogLevel.Valid():
		return InvalidParams("unknown log level %q", m.LogLevel)
	}
	return nil
}

// Put writes what m says into the _meta of a request, over what is there.
func (m *RequestMeta) Put(meta *Meta) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode _meta: %w", err)
	}
	var add Meta
	if err := json.Unmarshal(b, &add); err != nil {
		return fmt.Errorf("encode _meta: %w", err)
	}
	if *meta == nil {
		*meta = add
		return nil
	}
	maps.Copy(*meta, add)
	return nil
}

// ValidMetaKey reports whether key has the form of a _meta key: an optional
// prefix of dot-separated labels and a slash, then a name (2025-11-25, basic).
func ValidMetaKey(key string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		return validMetaName(key)
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if !validLabel(label) {
			return false
		}
	}
	return validMetaName(name)
}

// ReservedMetaKey reports whether the prefix of key belongs to MCP: its second
// label is modelcontextprotocol or mcp.
func ReservedMetaKey(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	labels := strings.SplitN(prefix, ".", 3)
	return len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp")
}

func validLabel(s string) bool {
	if s == "" || !isLetter(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func validMetaName(s string) bool {
	if s == "" {
		return true
	}
	if !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && !strings.ContainsRune("-_.", rune(s[i])) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool       { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlphanumeric(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }
