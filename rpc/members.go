package rpc

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Members yields the members of a JSON object in the order they were sent: the
// name without escapes, good until the next one, and the value as it stands in
// v. Nothing is decoded. What is no object has no members. v must be valid JSON,
// as the params of a received request are.
func Members(v jsontext.Value) iter.Seq2[[]byte, jsontext.Value] {
	return func(yield func([]byte, jsontext.Value) bool) {
		ReadMembers(v, func(name []byte, rest jsontext.Value) (int, bool) {
			end := skipValue(rest, 0)
			return end, yield(name, rest[:end:end])
		})
	}
}

// ReadMembers is [Members] for who reads values as they come, as [ReadString] does,
// so that none is looked at twice. read gets the name and all that follows, which
// begins with the value; it returns the length of the value, [ValueSize] if need be,
// and false to end.
func ReadMembers(v jsontext.Value, read func(name []byte, rest jsontext.Value) (size int, more bool)) {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '{' {
		return
	}
	for i = skipSpace(v, i+1); i < len(v) && v[i] == '"'; i = skipSpace(v, i+1) {
		end := skipString(v, i)
		name := unquoted(v[i:end])
		i = skipSpace(v, end)
		i = skipSpace(v, i+1) // the colon
		size, more := read(name, v[i:])
		if !more {
			return
		}
		i = skipSpace(v, i+size) // at the comma or the bracket
	}
}

// ValueSize returns the length of the JSON value that v begins with, which must be
// valid.
func ValueSize(v jsontext.Value) int { return skipValue(v, 0) }

// Elements yields the elements of a JSON array as they stand in v. What is no
// array has no elements. v must be valid JSON.
func Elements(v jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		i := skipSpace(v, 0)
		if i >= len(v) || v[i] != '[' {
			return
		}
		for i = skipSpace(v, i+1); i < len(v) && v[i] != ']'; i = skipSpace(v, i) {
			end := skipValue(v, i)
			if !yield(v[i:end:end]) {
				return
			}
			if i = skipSpace(v, end); i < len(v) && v[i] == ',' {
				i++
			}
		}
	}
}

// A ResultReader is a result that reads its JSON by itself, as an [Appender]
// writes it. v is valid JSON, as [Decode] validates it, and may be kept.
type ResultReader interface {
	ReadResult(v jsontext.Value) error
}

// An Appender is a result, or params, that writes its JSON by itself: faster
// than by reflection, for what is sent most. AppendJSON appends one line of valid JSON to
// dst.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// AppendValue appends v to dst as one line. It returns an error, and dst as it
// was, when v is not valid JSON: v need not come from this package.
func AppendValue(dst []byte, v jsontext.Value) ([]byte, error) { return appendValue(dst, v) }
