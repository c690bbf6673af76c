package mcp

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// What is here is what every request passes through: the _meta of requests, the
// params of a tool call and its result. It reads and writes the usual forms
// without reflection and leaves every other form, right or wrong, to the JSON
// package, which then says what is wrong with it. A test proves that both agree.

// A fastReader reads the usual form of its params. It reports false for any
// other, and for what has errors; it may have changed then.
type fastReader interface {
	readFast(req *rpc.Request, meta *RequestMeta) bool
}

// readFast reads the _meta of a request (2026-07-28, basic, _meta).
func (m *RequestMeta) readFast(meta jsontext.Value) (ok bool) {
	var extra []byte
	// Nearly all requests that have one of the two have both.
	var client struct {
		Implementation
		capabilities ClientCapabilities
	}
	for name, v := range rpc.Members(meta) {
		switch string(name) {
		case MetaProtocolVersion:
			var s string
			s, ok = plainString(v, knownVersion)
			m.Version = Version(s)
		case MetaClientInfo:
			m.Client = &client.Implementation
			ok = m.Client.readFast(v)
		case MetaClientCapabilities:
			m.Capabilities = &client.capabilities
			ok = string(v) == "{}" || v.Kind() == '{' && json.Unmarshal(v, m.Capabilities) == nil
		case MetaProgressToken:
			id, err := rpc.ParseID(v)
			m.ProgressToken, ok = ProgressToken{id}, err == nil
		case MetaLogLevel:
			ok = false // rare
		default:
			extra = appendMember(extra, name, v)
			ok = true
		}
		if !ok {
			return false
		}
	}
	if extra != nil {
		m.Extra = append(extra, '}')
	}
	return meta.Kind() == '{'
}

// appendMember appends a member to the object that b has the beginning of.
func appendMember(b, name []byte, v jsontext.Value) []byte {
	c := byte(',')
	if b == nil {
		c = '{'
	}
	b = append(rpc.AppendString(append(b, c), string(name)), ':')
	return append(b, v...)
}

// readFast reads an Implementation that has a name and a version only.
func (i *Implementation) readFast(v jsontext.Value) bool {
	var name, version jsontext.Value
	plain := !slices.Contains(v, '\\')
	for key, value := range rpc.Members(v) {
		switch string(key) {
		case "name":
			name = value
		case "version":
			version = value
		default:
			plain = false
		}
	}
	if !plain || name.Kind() != '"' || version.Kind() != '"' {
		return v.Kind() == '{' && json.Unmarshal(v, i) == nil
	}
	both := string(append(append(make([]byte, 0, 128), name[1:len(name)-1]...), version[1:len(version)-1]...))
	i.Name, i.Version = both[:len(name)-2], both[len(name)-2:]
	return true
}

// readFast implements fastReader.
func (p *CallToolParams) readFast(req *rpc.Request, meta *RequestMeta) (ok bool) {
	nothing := meta != nil && meta.Extra == nil && meta.ProgressToken.IsZero()
	for name, v := range req.Members() {
		switch string(name) {
		case "name":
			p.Name, ok = plainString(v, nil)
		case "arguments":
			p.Arguments, ok = v, true
		case "_meta":
			ok = v.Kind() == '{'
			if !nothing {
				p.Meta = readMeta(v)
			}
		default:
			ok = false // answers, a task, what no revision has
		}
		if !ok {
			return false
		}
	}
	return true
}

// readMeta reads a _meta without what [RequestMeta] has of it.
func readMeta(v jsontext.Value) (m Meta) {
	for name, v := range rpc.Members(v) {
		switch string(name) {
		case MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, MetaLogLevel:
			continue
		}
		if m == nil {
			m = make(Meta, 1)
		}
		m[string(name)] = v
	}
	return m
}

// plainString reads a string without escapes. known may save the memory for it.
func plainString(v jsontext.Value, known func([]byte) string) (s string, ok bool) {
	if v.Kind() != '"' || len(v) < 2 {
		return "", false
	}
	text := v[1 : len(v)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		return "", false
	}
	if known != nil {
		return known(text), true
	}
	return string(text), true
}

func knownVersion(text []byte) string {
	for _, r := range revisions {
		if string(text) == string(r.Version) {
			return string(r.Version)
		}
	}
	return string(text)
}

// AppendJSON implements [rpc.Appender].
func (r *CallToolResult) AppendJSON(b []byte) ([]byte, error) {
	if r.ResultType == ResultInputRequired || r.Extra != nil || r.InputRequests != nil || r.RequestState != nil {
		return appendSlow(b, r)
	}
	start := len(b)
	b = append(b, '{')
	if r.ResultType != "" {
		b = append(rpc.AppendString(append(b, `"resultType":`...), string(r.ResultType)), ',')
	}
	var err error
	if r.Meta != nil {
		if b, err = r.Meta.appendJSON(append(b, `"_meta":`...)); err != nil {
			return b[:start], err
		}
		b = append(b, ',')
	}
	if b, err = r.Content.appendJSON(append(b, `"content":`...)); err != nil {
		return b[:start], err
	}
	if r.StructuredContent != nil {
		if b, err = rpc.AppendValue(append(b, `,"structuredContent":`...), r.StructuredContent); err != nil {
			return b[:start], err
		}
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}

func (m Meta) appendJSON(b []byte) ([]byte, error) {
	b = append(b, '{')
	if len(m) == 1 {
		for key, v := range m {
			b = append(rpc.AppendString(b, key), ':')
			b, err := rpc.AppendValue(b, v)
			return append(b, '}'), err
		}
	}
	var few [4]string
	keys := slices.AppendSeq(few[:0], maps.Keys(m))
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rpc.AppendString(b, key), ':')
		var err error
		if b, err = rpc.AppendValue(b, m[key]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func (c Contents) appendJSON(b []byte) ([]byte, error) {
	b = append(b, '[')
	for i, block := range c {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		text, ok := block.(*TextContent)
		if ok && text != nil && text.Annotations == nil && text.Meta == nil && text.Extra == nil {
			b = append(rpc.AppendString(append(b, `{"type":"text","text":`...), text.Text), '}')
		} else if b, err = appendSlow(b, block); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendSlow appends what v's own methods make of it.
func appendSlow(b []byte, v json.MarshalerTo) ([]byte, error) {
	if v == nil {
		return b, errNoContent
	}
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	return append(b, text...), err
}

// AppendJSON implements [rpc.Appender].
func (p *ProgressParams) AppendJSON(b []byte) ([]byte, error) {
	if p.Meta != nil || p.Extra != nil || p.ProgressToken.IsZero() || !finite(p.Progress) || p.Total != nil && !finite(*p.Total) {
		text, err := json.Marshal(p)
		return append(b, text...), err
	}
	b = append(append(b, `{"progressToken":`...), p.ProgressToken.String()...)
	b = appendNumber(append(b, `,"progress":`...), p.Progress)
	if p.Total != nil {
		b = appendNumber(append(b, `,"total":`...), *p.Total)
	}
	if p.Message != "" {
		b = rpc.AppendString(append(b, `,"message":`...), p.Message)
	}
	return append(b, '}'), nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// appendNumber appends f, which is finite.
func appendNumber(b []byte, f float64) []byte {
	const exact = 1 << 53
	if n := int64(f); -exact < f && f < exact && float64(n) == f && (n != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(b, n, 10)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}
