package schema

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// text is JSON that was found valid before. Its methods take the offset where a
// thing begins and return the offset behind it. Over anything else they come to
// an end too, with offsets that mean nothing.
type text []byte

// at returns the byte at i, 0 behind the end.
func (t text) at(i int) byte {
	if i < len(t) {
		return t[i]
	}
	return 0
}

// space returns the offset of the first byte at or after i that is no space.
func (t text) space(i int) int {
	for i < len(t) {
		switch t[i] {
		case ' ', '\n', '\r', '\t':
			i++
		default:
			return i
		}
	}
	return i
}

// skip returns the end of the value at i.
func (t text) skip(i int) int {
	switch t.at(i) {
	case '"':
		end, _ := t.str(i)
		return end
	case '{', '[':
		return t.skipNested(i)
	}
	return t.scalar(i)
}

func (t text) skipNested(i int) int {
	depth := 0
	for i < len(t) {
		switch t[i] {
		case '"':
			i, _ = t.str(i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// scalar returns the end of the number or literal at i.
func (t text) scalar(i int) int {
	for i++; i < len(t); i++ {
		switch t[i] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			return i
		}
	}
	return min(i, len(t))
}

// shortString is how many bytes of a string are looked at one by one: names and
// most values are shorter, and for the rest there is a faster way.
const shortString = 32

// str returns the end of the string at i, and whether it has escapes.
func (t text) str(i int) (end int, escaped bool) {
	i++
	for stop := min(i+shortString, len(t)); i < stop; i++ {
		switch t[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
	}
	return t.longString(i, escaped)
}

// longString is str from somewhere inside the string on. The quote that was
// found is remembered, so a string full of escapes takes no longer.
func (t text) longString(i int, escaped bool) (int, bool) {
	for quote := -1; i < len(t); {
		if quote < i {
			k := bytes.IndexByte(t[i:], '"')
			if k < 0 {
				break
			}
			quote = i + k
		}
		k := bytes.IndexByte(t[i:quote], '\\')
		if k < 0 {
			return quote + 1, escaped
		}
		escaped = true
		i += k + 2
	}
	return len(t), escaped
}

// content returns what the string from i to end says. Where it has escapes it
// is written over scratch.
func (t text) content(i, end int, escaped bool, scratch []byte) []byte {
	if !escaped {
		return t[min(i+1, end):max(i+1, end-1)]
	}
	s, _ := jsontext.AppendUnquote(scratch[:0], t[i:end])
	return s
}

// cursor goes through the members of an object or the items of an array.
//
//	for c := t.open(i); c.next(t); c.leave(end) { … }
type cursor struct {
	name, nameEnd int  // the name with its quotes, in an object
	escaped       bool // the name has escapes
	value         int  // where the value begins
	index         int  // of the member or item
	end           int  // behind what is read so far; at last, behind the bracket
	broken        bool // this is no JSON
	object        bool
}

func (t text) open(i int) cursor { return cursor{index: -1, end: i + 1, object: t.at(i) == '{'} }

// next goes to the next value, and returns false when there is none.
func (c *cursor) next(t text) bool {
	i := t.space(c.end)
	switch t.at(i) {
	case '}', ']':
		c.end = i + 1
		return false
	case ',':
		i = t.space(i + 1)
	}
	if c.object {
		if t.at(i) != '"' {
			return c.fail()
		}
		c.name = i
		c.nameEnd, c.escaped = t.str(i)
		if i = t.space(c.nameEnd); t.at(i) != ':' {
			return c.fail()
		}
		i = t.space(i + 1)
	}
	if i >= len(t) {
		return c.fail()
	}
	c.value, c.end = i, 0
	c.index++
	return true
}

func (c *cursor) fail() bool {
	c.broken = true
	return false
}

// leave goes behind the value, which ends at end.
func (c *cursor) leave(end int) { c.end = end }

// kinds is a set of the types of JSON Schema. An integer is a number too.
type kinds uint8

const (
	null kinds = 1 << iota
	boolean
	integer
	number
	str
	array
	object

	scalars = null | boolean | integer | number | str
	anyKind = scalars | array | object
)

// kindNames has the names in the order of the bits.
var kindNames = [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}

// kindAt returns the type of the value at i, without telling integers apart,
// and 0 where no value begins.
func (t text) kindAt(i int) kinds {
	switch c := t.at(i); c {
	case '"':
		return str
	case '{':
		return object
	case '[':
		return array
	case 't', 'f':
		return boolean
	case 'n':
		return null
	default:
		if c == '-' || c-'0' <= 9 {
			return number
		}
	}
	return 0
}
