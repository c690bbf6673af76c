package client

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// body is the params of one operation, encoded once however often they are
// sent: every attempt has another _meta, and every answer to input_required
// other members beside it.
type body struct {
	members []byte // the members of params but those below, without braces
	meta    []byte // the members of _meta, without braces

	scratch *[]byte // what members are in, from scratches; nil: memory of their own
}

// scratches holds memory for what is copied once more before it is sent.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is what is kept of it: more is for a call that is no usual one.
const maxScratch = 64 << 10

// free gives the memory back: b is not to be used any more.
func (b body) free() {
	if b.scratch != nil && cap(*b.scratch) <= maxScratch {
		scratches.Put(b.scratch)
	}
}

// write encodes params as they are.
func (b *body) write(params any) (jsontext.Value, error) {
	a, ok := params.(rpc.Appender)
	if !ok {
		return json.Marshal(params)
	}
	b.scratch = scratches.Get().(*[]byte)
	v, err := a.AppendJSON((*b.scratch)[:0])
	*b.scratch = v
	return v, err
}

// The members that are spliced in anew with each attempt.
const (
	memberMeta      = "_meta"
	memberResponses = "inputResponses"
	memberState     = "requestState"
)

// encodeParams encodes params, which may be nil, and adds extra to its _meta;
// extra wins. keepInput says that the caller handles input_required alone, so
// inputResponses and requestState are the caller's.
func encodeParams(params any, extra mcp.Meta, keepInput bool) (body, error) {
	var b body
	if params != nil {
		v, err := b.write(params)
		if err != nil {
			return b, err
		}
		if usual(params) {
			b.members = inner(v)
		} else if err = b.split(v, keepInput); err != nil {
			return b, err
		}
	}
	if len(extra) == 0 {
		return b, nil
	}
	v, err := json.Marshal(extra, json.Deterministic(true))
	if err != nil {
		return b, fmt.Errorf("_meta: %w", err)
	}
	kept, err := without(b.meta, func(name string) bool { _, ok := extra[name]; return ok })
	b.meta = join(kept, inner(v))
	return b, err
}

// usual reports whether params are those of a tool call and have none of the
// special members, wherever their text may stand in the arguments.
func usual(params any) bool {
	p, ok := params.(*mcp.CallToolParams)
	return ok && p.Meta == nil && p.Extra == nil && p.InputResponses == nil && p.RequestState == nil
}

func (b *body) split(v jsontext.Value, keepInput bool) error {
	if v.Kind() == 'n' {
		return nil
	}
	if v.Kind() != '{' {
		return errors.New("params must be a JSON object")
	}
	// Most params have none of the special members: nothing is copied then.
	if !bytes.Contains(v, []byte(`"_meta"`)) &&
		(keepInput || !bytes.Contains(v, []byte(`"inputResponses"`)) && !bytes.Contains(v, []byte(`"requestState"`))) {
		b.members = inner(v)
		return nil
	}
	return eachMember(v, func(name string, raw jsontext.Value) {
		switch {
		case name == memberMeta:
			if raw.Kind() == '{' {
				b.meta = bytes.Clone(inner(raw))
			}
		case !keepInput && (name == memberResponses || name == memberState):
		default:
			b.members = appendMember(b.members, name, raw)
		}
	})
}

// stamp is what the client itself says in _meta: the era's members, the token
// of progress.
type stamp struct {
	members []byte
	names   []string // of members
}

// add appends one member; raw is its JSON.
func (s *stamp) add(name string, raw []byte) {
	s.members = appendMember(s.members, name, raw)
	s.names = append(s.names, name)
}

// sent is params as they are sent: body with stamp in _meta and extra, which is
// members, beside it. A member of the caller's _meta that the stamp has is left
// out.
type sent struct {
	body
	stamp
	extra []byte
}

// sents are used again: what they say is copied.
var sents = sync.Pool{New: func() any { return new(sent) }}

// fill sets the params of req.
func (s *sent) fill(req *rpc.Request) error {
	if len(s.stamp.members)+len(s.meta)+len(s.extra)+len(s.body.members) == 0 {
		return nil
	}
	p := sents.Get().(*sent)
	*p = *s
	err := req.SetParams(p)
	*p = sent{}
	sents.Put(p)
	return err
}

// AppendJSON implements [rpc.Appender].
func (s *sent) AppendJSON(out []byte) ([]byte, error) {
	meta := s.meta
	if len(meta) > 0 && len(s.names) > 0 {
		var err error
		if meta, err = without(meta, func(name string) bool { return slices.Contains(s.names, name) }); err != nil {
			return out, err
		}
	}
	n := len(s.stamp.members) + len(meta) + len(s.extra) + len(s.body.members)
	out = slices.Grow(out, n+len(`{"_meta":{,},,}`))
	out = append(out, '{')
	if len(s.stamp.members)+len(meta) > 0 {
		out = append(out, `"_meta":{`...)
		out = appendMembers(out, s.stamp.members)
		out = appendMembers(out, meta)
		out = append(out, '}')
	}
	out = appendMembers(out, s.extra)
	out = appendMembers(out, s.body.members)
	return append(out, '}'), nil
}

// inner returns an object without its braces.
func inner(v jsontext.Value) []byte {
	v = bytes.TrimSpace(v)
	return bytes.TrimSpace(v[1 : len(v)-1])
}

// appendMembers adds members to an object that is being written.
func appendMembers(dst, members []byte) []byte {
	if len(members) == 0 {
		return dst
	}
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return append(dst, members...)
}

func join(a, b []byte) []byte { return appendMembers(bytes.Clone(a), b) }

func appendMember(dst []byte, name string, raw jsontext.Value) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = appendString(dst, name)
	dst = append(dst, ':')
	return append(dst, raw...)
}

// appendString writes s as JSON; bytes that are not UTF-8 are replaced.
func appendString(dst []byte, s string) []byte {
	out, _ := jsontext.AppendQuote(dst, s) // the error tells of the replacement
	return out
}

// without returns members but those that drop names.
func without(members []byte, drop func(name string) bool) ([]byte, error) {
	if len(members) == 0 {
		return nil, nil
	}
	var kept []byte
	err := eachMember(object(members), func(name string, raw jsontext.Value) {
		if !drop(name) {
			kept = appendMember(kept, name, raw)
		}
	})
	return kept, err
}

func object(members []byte) jsontext.Value {
	return append(append([]byte{'{'}, members...), '}')
}

// eachMember calls fn with each member of an object, in order. raw is valid
// until fn returns.
func eachMember(v jsontext.Value, fn func(name string, raw jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := tok.String()
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		fn(name, bytes.TrimSpace(raw))
	}
	_, err := d.ReadToken()
	return err
}
