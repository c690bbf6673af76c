package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escape makes text of a peer safe for a terminal: control characters could
// drive it, and bidirectional or invisible ones could make a line read as what
// it is not. They are shown as escapes; newlines and tabs stay.
func escape(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && s[i] != 0xEF: // not UTF-8; U+FFFD itself begins with EF
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unsafeRune(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// escapeLine is escape for what must stay on one line.
func escapeLine(s string) string {
	return escape(strings.Join(strings.Fields(s), " "))
}

// escapeJSON is escape for JSON, whose value stays the same: characters
// that are not ASCII are in strings only.
func escapeJSON(b []byte) []byte {
	if bytes.IndexFunc(b, unsafeRune) < 0 {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if !unsafeRune(r) {
			out.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, u)
		}
	}
	return out.Bytes()
}

func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7F && r < 0xA0: // C0, DEL and C1: what terminals obey
		return true
	case r == 0x061C, r == 0x200E, r == 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069: // direction
		return true
	case r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0x200B: // lines that are none, and width zero
		return true
	}
	return r >= 0xE0000 && r <= 0xE007F // tags: invisible ASCII
}
