package rpc

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A scanner validates JSON text in one pass: RFC 8259 with what RFC 7493 adds,
// that is UTF-8, whole surrogate pairs and no name twice in one object, at any
// level. It builds nothing. Its methods take the offset where a thing begins
// and return the offset behind it, or -1 after a failure.
type scanner struct {
	b     []byte
	depth int // levels that may still be entered

	// names has the member names of the objects that are open, as spans of b;
	// a name with escapes is unescaped and appended to text, and its span
	// begins at len(b) plus its place there.
	names []span
	text  []byte

	fault string // what is wrong
	at    int    // and where
}

type span struct{ from, to uint32 }

// scanners holds scanners for their memory.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// newScanner returns a scanner of b, which must be freed.
func newScanner(b []byte, depth int) *scanner {
	s := scanners.Get().(*scanner)
	s.b, s.depth, s.fault = b, depth, ""
	return s
}

func (s *scanner) free() {
	const kept = 1024 // what a huge object needed is not kept
	s.b = nil
	if cap(s.names) > kept || cap(s.text) > kept {
		return
	}
	s.names, s.text = s.names[:0], s.text[:0]
	scanners.Put(s)
}

func (s *scanner) fail(at int, fault string) int {
	if s.fault == "" {
		s.fault, s.at = fault, at
	}
	return -1
}

// unexpected fails at i, where something else should be.
func (s *scanner) unexpected(i int) int {
	if i >= len(s.b) {
		return s.fail(i, faultEnd)
	}
	return s.fail(i, "unexpected character")
}

const faultEnd = "unexpected end"

// space returns the offset of the first byte at or after i that is no space.
func (s *scanner) space(i int) int {
	for i < len(s.b) {
		switch s.b[i] {
		case ' ', '\n', '\r', '\t':
			i++
		default:
			return i
		}
	}
	return i
}

// value validates the value at i.
func (s *scanner) value(i int) int {
	if i >= len(s.b) {
		return s.unexpected(i)
	}
	switch s.b[i] {
	case '"':
		end, _ := s.str(i)
		return end
	case '{':
		return s.object(i, nil, nil)
	case '[':
		return s.array(i)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		return s.number(i)
	}
}

func (s *scanner) literal(i int, want string) int {
	for k := range len(want) {
		if i+k >= len(s.b) || s.b[i+k] != want[k] {
			return s.unexpected(i + k)
		}
	}
	return i + len(want)
}

func (s *scanner) number(i int) int {
	if i < len(s.b) && s.b[i] == '-' {
		i++
	}
	if i < len(s.b) && s.b[i] == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return -1
	}
	if i < len(s.b) && s.b[i] == '.' {
		if i = s.digits(i + 1); i < 0 {
			return -1
		}
	}
	if i < len(s.b) && (s.b[i] == 'e' || s.b[i] == 'E') {
		i++
		if i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits wants one digit or more.
func (s *scanner) digits(i int) int {
	start := i
	for i < len(s.b) && s.b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return s.unexpected(i)
	}
	return i
}

func (s *scanner) array(i int) int {
	if s.depth--; s.depth < 0 {
		return s.fail(i, "nested too deep")
	}
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == ']' {
		s.depth++
		return i + 1
	}
	for {
		if i = s.value(i); i < 0 {
			return -1
		}
		var more bool
		if i, more = s.next(i, ']'); i < 0 || !more {
			s.depth++
			return i
		}
	}
}

// next goes behind the comma that follows a value, or behind the bracket that
// closes what it is in.
func (s *scanner) next(i int, bracket byte) (int, bool) {
	i = s.space(i)
	if i >= len(s.b) || s.b[i] != ',' && s.b[i] != bracket {
		return s.unexpected(i), false
	}
	if s.b[i] == bracket {
		return i + 1, false
	}
	return s.space(i + 1), true
}

// object validates the object at i, and notes where its members are: in e those
// of an envelope, in x those of params. Both may be nil.
func (s *scanner) object(i int, e *envelope, x *index) int {
	if s.depth--; s.depth < 0 {
		return s.fail(i, "nested too deep")
	}
	var skipped member
	first, text := len(s.names), len(s.text)
	i = s.space(i + 1)
	more := i >= len(s.b) || s.b[i] != '}'
	if !more {
		i++
	}
	for more {
		at := i
		if i = s.name(i); i < 0 {
			return -1
		}
		m := &skipped
		if e != nil {
			m = e.member(s, len(s.names)-1)
		}
		m.from = i
		if e != nil && m == &e.params && i < len(s.b) && s.b[i] == '{' {
			i = s.object(i, nil, &e.index)
		} else {
			i = s.value(i)
		}
		if i < 0 {
			return -1
		}
		m.to = i
		if x != nil {
			x.add(s.names[len(s.names)-1], span{uint32(m.from), uint32(i)})
		}
		if len(s.names)-first <= fewNames && s.repeated(first) {
			return s.fail(at, "name that occurs twice")
		}
		if i, more = s.next(i, '}'); i < 0 {
			return -1
		}
	}
	if len(s.names)-first > fewNames && s.anyRepeated(first) {
		return s.fail(i-1, "name that occurs twice")
	}
	s.names, s.text = s.names[:first], s.text[:text]
	s.depth++
	return i
}

// name validates a member's name and the colon, notes the name, and returns
// the offset of the value.
func (s *scanner) name(i int) int {
	if i >= len(s.b) || s.b[i] != '"' {
		return s.unexpected(i)
	}
	end, escaped := s.str(i)
	if end < 0 {
		return -1
	}
	n := span{uint32(i + 1), uint32(end - 1)}
	if escaped {
		n.from = uint32(len(s.b) + len(s.text))
		s.text, _ = jsontext.AppendUnquote(s.text, s.b[i:end])
		n.to = uint32(len(s.b) + len(s.text))
	}
	s.names = append(s.names, n)
	i = s.space(end)
	if i >= len(s.b) || s.b[i] != ':' {
		return s.unexpected(i)
	}
	return s.space(i + 1)
}

// nameOf returns the unescaped name n.
func (s *scanner) nameOf(n span) []byte {
	if size := uint32(len(s.b)); n.from >= size {
		return s.text[n.from-size : n.to-size]
	}
	return s.b[n.from:n.to]
}

// fewNames is how many names are compared pair by pair. In larger objects they
// are sorted, so that time stays near linear whatever the other side sends.
const fewNames = 8

// repeated reports whether the last name is among those from first on.
func (s *scanner) repeated(first int) bool {
	last := s.names[len(s.names)-1]
	for _, n := range s.names[first : len(s.names)-1] {
		if n.to-n.from == last.to-last.from && bytes.Equal(s.nameOf(n), s.nameOf(last)) {
			return true
		}
	}
	return false
}

// anyRepeated reports whether any name occurs twice from first on. It changes
// their order.
func (s *scanner) anyRepeated(first int) bool {
	names := s.names[first:]
	order := func(x, y span) int {
		if c := cmp.Compare(x.to-x.from, y.to-y.from); c != 0 {
			return c
		}
		return bytes.Compare(s.nameOf(x), s.nameOf(y))
	}
	slices.SortFunc(names, order)
	for k := 1; k < len(names); k++ {
		if order(names[k-1], names[k]) == 0 {
			return true
		}
	}
	return false
}

// str validates the string at i and tells whether it has escapes.
func (s *scanner) str(i int) (end int, escaped bool) {
	b := s.b
	i++
	for {
		i = plain(b, i)
		if i >= len(b) {
			return s.unexpected(i), escaped
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i+1 < len(b) && isShortEscape(b[i+1]) {
				i += 2
			} else {
				i = s.escape(i)
			}
		case c < ' ':
			return s.fail(i, "control character in a string"), escaped
		case isPair(b, i):
			i += 2
		default:
			i = s.runes(i)
		}
		if i < 0 {
			return -1, escaped
		}
	}
}

// runes validates the characters from i on that are not ASCII.
func (s *scanner) runes(i int) int {
	for i < len(s.b) && s.b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(s.b[i:])
		if r == utf8.RuneError && n == 1 {
			return s.fail(i, "text that is not UTF-8")
		}
		i += n
	}
	return i
}

// isShortEscape reports whether c makes an escape of two bytes.
func isShortEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// escape validates the escape at i. A surrogate must be the first half of a
// pair and its second half must follow.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.b) {
		return s.unexpected(len(s.b))
	}
	switch {
	case isShortEscape(s.b[i+1]):
		return i + 2
	case s.b[i+1] != 'u':
		return s.fail(i, "unknown escape")
	}
	r := s.hex4(i + 2)
	if r < 0 {
		return -1
	}
	if r < 0xd800 || r > 0xdfff {
		return i + 6
	}
	if r >= 0xdc00 {
		return s.fail(i, "half of a surrogate pair")
	}
	for k, c := range []byte(`\u`) {
		if i+6+k >= len(s.b) {
			return s.unexpected(len(s.b))
		}
		if s.b[i+6+k] != c {
			return s.fail(i, "half of a surrogate pair")
		}
	}
	switch r := s.hex4(i + 8); {
	case r < 0:
		return -1
	case r < 0xdc00 || r > 0xdfff:
		return s.fail(i, "half of a surrogate pair")
	}
	return i + 12
}

// hex4 returns the number that four hexadecimal digits at i spell.
func (s *scanner) hex4(i int) int {
	r := 0
	for k := range 4 {
		if i+k >= len(s.b) {
			return s.unexpected(len(s.b))
		}
		c := s.b[i+k]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case (c|0x20)-'a' <= 5:
			c = (c | 0x20) - 'a' + 10
		default:
			return s.fail(i+k, "unknown escape")
		}
		r = r<<4 | int(c)
	}
	return r
}
