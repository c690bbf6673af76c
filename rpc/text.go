package rpc

import (
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendString appends s to dst as a JSON string. Bytes that are not UTF-8 are
// replaced.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = slices.Grow(dst, len(s)+len(s)/16+2)
	for i := 0; ; {
		end := sound(s, i)
		dst = append(dst, s[i:end]...)
		switch {
		case end == len(s):
			return append(dst, '"')
		case s[end] >= utf8.RuneSelf: // not UTF-8
			dst = append(dst, "\ufffd"...)
		default:
			dst = appendEscape(dst, s[end])
		}
		i = end + 1
	}
}

// sound returns the offset of the first byte at or after i that cannot stand in a
// JSON string as it is.
func sound(s string, i int) int {
	for {
		i = plain(s, i)
		switch {
		case i == len(s) || s[i] < utf8.RuneSelf:
			return i
		case isPair(s, i):
			i += 2
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return i
			}
			i += n
		}
	}
}

// isPair reports whether the character at i is one of the two bytes of most
// alphabets.
func isPair[T string | []byte](b T, i int) bool {
	return b[i]-0xc2 <= 0xdf-0xc2 && i+1 < len(b) && b[i+1]&0xc0 == 0x80
}

// appendEscape appends c, which cannot stand in a string as it is.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Unquote returns the text of v, a valid JSON string as it stands in a message,
// and false where v is something else.
func Unquote(v jsontext.Value) (string, bool) {
	read := ReadString
	if len(v) > longText {
		read = readLong
	}
	text, size := read(v)
	return text, size > 0 && size == len(v)
}

// ReadString returns the text of the JSON string that v begins with, and the length
// of what it has read; zero where v does not begin with a string. What v begins with
// must be valid JSON.
func ReadString(v jsontext.Value) (text string, size int) {
	if len(v) < 2 || v[0] != '"' {
		return "", 0
	}
	end := quoted(v, 1)
	if end < len(v) && v[end] == '"' {
		return string(v[1:end]), end + 1
	}
	if len(v) > longText {
		return readLong(v[:skipString(v, 0)])
	}
	buf := encoded.Get().(*[]byte) // it is not known how long the text is
	b := (*buf)[:0]
	defer func() { encoding{b, buf}.free() }()
	for i := 1; end < len(v); end = quoted(v, i) {
		b = append(b, v[i:end]...)
		if v[end] == '"' {
			return string(b), end + 1
		}
		r, n := unescape(v[end:])
		if n == 0 || n > len(v)-end {
			return "", 0
		}
		b = utf8.AppendRune(b, r)
		i = end + n
	}
	return "", 0
}

// longText is from where on it is better to look for the end of a text first, than
// to read it into memory that is not its own.
const longText = 64 << 10

// readLong is ReadString of a string that ends where v does.
func readLong(v jsontext.Value) (text string, size int) {
	if v[0] != '"' || v[len(v)-1] != '"' {
		return "", 0
	}
	size = len(v)
	v = v[1 : size-1]
	var b strings.Builder
	b.Grow(len(v))
	for i := 0; ; {
		end := min(quoted(v, i), len(v))
		b.Write(v[i:end])
		if end == len(v) {
			return b.String(), size
		}
		r, n := unescape(v[end:])
		if n == 0 || n > len(v)-end {
			return "", 0
		}
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		i = end + n
	}
}

// unescape returns the character that an escape stands for, and its length; zero
// where it is none.
func unescape(v []byte) (r rune, size int) {
	if len(v) < 2 {
		return 0, 0
	}
	switch c := v[1]; c {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		if r = hexRune(v); r < 0 {
			return 0, 0
		}
		if utf16.IsSurrogate(r) && len(v) >= 12 {
			return utf16.DecodeRune(r, hexRune(v[6:])), 12
		}
		return r, 6
	default:
		return rune(c), 2
	}
}

// hexRune returns the number that \uXXXX at the start of v spells.
func hexRune(v []byte) rune {
	s := scanner{b: v}
	return rune(s.hex4(2))
}

// plain returns the offset of the first byte at or after i that needs a look
// inside a string: a quote, a backslash, a control character, or the start of
// a character that is not ASCII.
func plain[T string | []byte](b T, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := special(load(b, i)); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// quoted returns the offset of the first quote or backslash at or after i, or
// something from len(b) on.
func quoted(b []byte, i int) int {
	const (
		ones = 0x0101010101010101
		tops = ones << 7
	)
	for ; i+8 <= len(b); i += 8 {
		v := load(b, i)
		quote, backslash := v^ones*'"', v^ones*'\\'
		if m := ((quote-ones)&^quote | (backslash-ones)&^backslash) & tops; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// load returns the eight bytes at i, the first of them lowest.
func load[T string | []byte](b T, i int) uint64 {
	_ = b[i+7]
	return uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24 |
		uint64(b[i+4])<<32 | uint64(b[i+5])<<40 | uint64(b[i+6])<<48 | uint64(b[i+7])<<56
}

// special sets the top bit of each byte of v where plain must stop. Above the
// lowest such byte others may be marked wrongly, because subtraction borrows.
func special(v uint64) uint64 {
	const (
		ones = 0x0101010101010101
		tops = ones << 7
	)
	control := (v - ones*' ') &^ v
	quote := v ^ ones*'"'
	quote = (quote - ones) &^ quote
	backslash := v ^ ones*'\\'
	backslash = (backslash - ones) &^ backslash
	return (v | control | quote | backslash) & tops
}
