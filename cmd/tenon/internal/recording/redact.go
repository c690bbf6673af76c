package recording

import (
	"bytes"
	"maps"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Gone stands where a secret was.
const Gone = "[redacted]"

// secretName matches names of members, headers and arguments whose value is
// nobody else's business. The tokens and names of the protocol are no secrets.
var secretName = regexp.MustCompile(`(?i)(^|[^a-z])(pass(word|wd|phrase)?|secret|token|authorization|cookie|credentials?|signature|bearer)([^a-z]|$)` +
	`|(api|access|private|secret|signing|encryption)[-_ ]?key|client[-_ ]?secret|(access|refresh|id|auth|session|bearer)[-_ ]?token|passw|mcp-session-id|set-cookie`)

var publicName = map[string]bool{"progressToken": true, "nextCursor": true, "cursor": true}

// secretText matches secrets by what they look like, wherever they are.
var secretText = regexp.MustCompile(`(?i:bearer|basic|dpop) +[A-Za-z0-9._~+/=-]{8,}` +
	`|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}` +
	`|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----)?`)

// userInfo matches the name and password in a URL.
var userInfo = regexp.MustCompile(`://[^/@\s"]+@`)

// queryValue matches values of query parameters with a secret name.
var queryValue = regexp.MustCompile(`(?i)([?&](?:[a-z_-]*(?:token|secret|password|signature|key|code))=)[^&\s"#]+`)

// Redact returns text without secrets that are known by their looks.
func Redact(text string) string {
	text = secretText.ReplaceAllString(text, Gone)
	text = userInfo.ReplaceAllString(text, "://"+Gone+"@")
	return queryValue.ReplaceAllString(text, "${1}"+Gone)
}

// SecretName reports whether a member or header of the name has a secret.
func SecretName(name string) bool { return !publicName[name] && secretName.MatchString(words(name)) }

// words takes camelCase apart, so that accessToken reads as access_token.
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// RedactJSON returns a value without secrets: text with a secret name, or the
// looks of a secret. Numbers and the order of members stay as they are. What
// is no JSON is redacted as text.
func RedactJSON(v jsontext.Value) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if d.StackDepth() == 0 && out.Len() > 0 {
			return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
		}
		if err := redactToken(d, e); err != nil {
			text, _ := jsontext.AppendQuote(nil, Redact(string(v)))
			return text
		}
	}
}

func redactToken(d *jsontext.Decoder, e *jsontext.Encoder) error {
	kind := d.PeekKind()
	if kind != '"' {
		if kind == '0' { // as it was written
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			return e.WriteValue(v)
		}
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		return e.WriteToken(tok)
	}
	tok, err := d.ReadToken()
	if err != nil {
		return err
	}
	text := tok.String()
	if isName(d) {
		return e.WriteToken(jsontext.String(text))
	}
	if name := memberName(d); name != "" && text != "" && SecretName(name) {
		return e.WriteToken(jsontext.String(Gone))
	}
	return e.WriteToken(jsontext.String(Redact(text)))
}

// isName reports whether the string just read is the name of a member.
func isName(d *jsontext.Decoder) bool {
	kind, n := d.StackIndex(d.StackDepth())
	return kind == '{' && n%2 == 1
}

// memberName returns the name that the value just read has: of the member, or
// of the member whose array it is in.
func memberName(d *jsontext.Decoder) string {
	for depth := d.StackDepth(); depth > 0; depth-- {
		if kind, _ := d.StackIndex(depth); kind == '{' {
			p := d.StackPointer()
			for i := d.StackDepth(); i > depth; i-- {
				p = p.Parent()
			}
			return p.LastToken()
		}
	}
	return ""
}

func redacted(f Frame) Frame {
	if len(f.Msg) > 0 {
		f.Msg = RedactJSON(f.Msg)
	}
	f.Text = Redact(f.Text)
	if f.HTTP != nil {
		trip := *f.HTTP
		trip.Path = Redact(trip.Path)
		trip.Error = Redact(trip.Error)
		trip.Sent, trip.Got = redactHeaders(trip.Sent), redactHeaders(trip.Got)
		f.HTTP = &trip
	}
	return f
}

func redactHeaders(h map[string]string) map[string]string {
	h = maps.Clone(h)
	for name, value := range h {
		h[name] = Redact(value)
		if SecretName(name) {
			h[name] = Gone
		}
	}
	return h
}
