package server

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"
)

// climbs reports whether a URI in normal form names a file by way of a parent
// directory, however its slashes are written (2026-07-28, resources, security).
func climbs(uri string) bool {
	scheme, path, _ := strings.Cut(uri, ":")
	if !strings.EqualFold(scheme, "file") {
		return false
	}
	path, err := url.PathUnescape(path)
	return err != nil || slices.Contains(strings.FieldsFunc(path, func(r rune) bool {
		return r == '/' || r == '\\' || r == '?' || r == '#'
	}), "..")
}

// matcher finds the variables of a URI template in a URI. RFC 6570 defines how
// a template is expanded; this is the way back. Where a template has several
// readings, the first variable takes the most.
type matcher struct {
	re      *regexp.Regexp
	groups  []group
	names   map[string]bool // of all variables
	literal int             // bytes of literal text
}

// group is what one group of the expression captured.
type group struct {
	name string
	form []string // a query: the names that it may have, in any order
	any  bool     // a query with an exploded variable: others may be there too
}

// The characters of RFC 3986, section 2. Everything else is percent-encoded.
const (
	unreserved = "-._~"
	reserved   = ":/?#[]@!$&'()*+,;="
)

// operators has, for each operator of RFC 6570, section 3.2, what an expansion
// begins with, what parts its variables, and whether names are written too.
var operators = map[byte]struct {
	first, sep      string
	named, reserved bool
}{
	0:   {"", ",", false, false},
	'+': {"", ",", false, true},
	'#': {"#", ",", false, true},
	'.': {".", ".", false, false},
	'/': {"/", "/", false, false},
	';': {";", ";", true, false},
}

func newMatcher(raw string) (*matcher, error) {
	if _, err := uritemplate.New(raw); err != nil {
		return nil, fmt.Errorf("not a URI template of RFC 6570: %w", err)
	}
	m := &matcher{names: map[string]bool{}}
	var b strings.Builder
	b.WriteString("^")
	for rest := raw; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		text, err := normalURI(literal)
		if err != nil {
			return nil, err
		}
		m.literal += len(text)
		b.WriteString(regexp.QuoteMeta(text))
		if !found {
			break
		}
		expression, tail, _ := strings.Cut(after, "}")
		m.expression(&b, expression)
		rest = tail
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, errors.New("the template is too big")
	}
	m.re = re
	return m, nil
}

func (m *matcher) expression(b *strings.Builder, expression string) {
	if expression[0] == '?' || expression[0] == '&' {
		b.WriteString("((?:" + regexp.QuoteMeta(expression[:1]) + "[^#]*)?)")
		m.groups = append(m.groups, m.form(expression[1:]))
		return
	}
	op, named := operators[expression[0]]
	if !named {
		op = operators[0]
	} else {
		expression = expression[1:]
	}
	chars := `[A-Za-z0-9%\-._~`
	if op.reserved {
		chars += `:/?#\[\]@!$&'()*+,;=`
	}
	for i, spec := range strings.Split(expression, ",") {
		lead := op.first
		if i > 0 {
			lead = op.sep
		}
		name, explode := m.variable(spec)
		value := chars
		if explode { // a list takes the separators in as well
			value += regexp.QuoteMeta(op.sep)
		}
		value += "]"
		pattern := regexp.QuoteMeta(lead) + "(" + value + "+)"
		switch {
		case op.named:
			pattern = "(?:" + regexp.QuoteMeta(lead+name) + "=?(" + value + "*))?"
		case lead != "":
			pattern = "(?:" + pattern + ")?"
		}
		b.WriteString(pattern)
		m.groups = append(m.groups, group{name: name})
	}
}

// variable reads name, name* or name:3.
func (m *matcher) variable(spec string) (name string, explode bool) {
	name, explode = strings.CutSuffix(spec, "*")
	name, _, _ = strings.Cut(name, ":")
	m.names[name] = true
	return name, explode
}

func (m *matcher) form(specs string) group {
	var g group
	for spec := range strings.SplitSeq(specs, ",") {
		name, explode := m.variable(spec)
		g.form, g.any = append(g.form, name), g.any || explode
	}
	return g
}

// match returns the variables of a URI in normal form.
func (m *matcher) match(uri string) (map[string]string, bool) {
	found := m.re.FindStringSubmatchIndex(uri)
	if found == nil {
		return nil, false
	}
	vars := map[string]string{}
	for i, g := range m.groups {
		from, to := found[2*i+2], found[2*i+3]
		if from < 0 {
			continue
		}
		if g.form != nil {
			if !m.readForm(g, vars, uri[from:to]) {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(uri[from:to])
		if err != nil || !utf8.ValidString(value) {
			return nil, false
		}
		vars[g.name] = value
	}
	return vars, true
}

// readForm reads ?a=1&b=2. Other names than those of the form are left out,
// except where it has an exploded variable, which may have any; but a query never
// gives the value of a variable that the template has elsewhere.
func (m *matcher) readForm(g group, vars map[string]string, query string) bool {
	for pair := range strings.SplitSeq(strings.TrimLeft(query, "?&"), "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, errName := url.PathUnescape(name)
		value, errValue := url.PathUnescape(value)
		if errName != nil || errValue != nil || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return false
		}
		if !slices.Contains(g.form, name) && (!g.any || m.names[name]) {
			continue
		}
		if _, twice := vars[name]; !twice {
			vars[name] = value
		}
	}
	return true
}

// normalURI writes a URI in one form: what must be encoded is encoded, what
// need not be is not. A bad escape is an error.
func normalURI(s string) (string, error) {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return "", errors.New("a % is not followed by two hexadecimal digits")
			}
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if isUnreserved(c) {
				b.WriteByte(c)
				continue
			}
		case isUnreserved(c) || strings.IndexByte(reserved, c) >= 0:
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String(), nil
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(unreserved, c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
