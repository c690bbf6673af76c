package rpc

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// An index says where the members of received params are: decoding has seen
// them, and who handles the request need not look for them again.
type index struct {
	text  *byte // the first byte of the params
	size  int
	known bool // few is complete
	count int
	few   [fewParams]memberPlace
}

// memberPlace is where a name, without quotes, and a value are.
type memberPlace struct{ name, value span }

// fewParams is how many params are indexed: no method has more as a rule.
const fewParams = 6

// add notes a member while its object is scanned.
func (x *index) add(name, value span) {
	if x.count < fewParams {
		x.few[x.count] = memberPlace{name, value}
	}
	x.count++
}

// of makes the places of params in b relative to their beginning. Names that
// were sent with escapes have no place in the text: then there is no index.
func (x *index) of(b []byte, params member) {
	x.text, x.size = &b[params.from], params.to-params.from
	if x.known = x.count <= fewParams; !x.known {
		return
	}
	from := uint32(params.from)
	for i := range x.few[:x.count] {
		m := &x.few[i]
		if m.name.to > uint32(params.to) {
			x.known = false
			return
		}
		m.name = span{m.name.from - from, m.name.to - from}
		m.value = span{m.value.from - from, m.value.to - from}
	}
}

// isIndexed reports whether the index is of the Params that r has now.
func (r *Request) isIndexed() bool {
	return r.index != nil && r.index.known && r.index.size == len(r.Params) && r.index.text == &r.Params[0]
}

// Members is [Members] of Params. Those of a received request are not scanned.
func (r *Request) Members() iter.Seq2[[]byte, jsontext.Value] {
	return func(yield func([]byte, jsontext.Value) bool) {
		if !r.isIndexed() {
			Members(r.Params)(yield)
			return
		}
		for _, m := range r.index.few[:r.index.count] {
			if !yield(r.Params[m.name.from:m.name.to], r.Params[m.value.from:m.value.to:m.value.to]) {
				return
			}
		}
	}
}

// Param returns the member of Params with this name as it was sent, or nil.
// The rest of Params is not decoded. Params must be valid JSON, as those of a
// received request are.
func (r *Request) Param(name string) jsontext.Value {
	if !r.isIndexed() {
		return find(r.Params, name)
	}
	for _, m := range r.index.few[:r.index.count] {
		if string(r.Params[m.name.from:m.name.to]) == name {
			return r.Params[m.value.from:m.value.to:m.value.to]
		}
	}
	return nil
}
