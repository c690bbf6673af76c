package infer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// tag is what the tag "jsonschema" of a field says.
type tag struct {
	required bool
	keywords []keyword
}

// keyword is one key=value of a tag. A description without a key has one here.
type keyword struct {
	rule
	value string
}

// rule is what can be said in a tag.
type rule struct {
	name string
	form form
	// kinds are the types of JSON that the keyword is for. Nil = any.
	kinds []string
}

// form is what the value of a keyword looks like.
type form int

const (
	formText   form = iota // for people: may have commas
	formString             // a string for JSON Schema
	formNumber
	formCount // a number that is an integer, and not negative
	formFlag
	formValue  // a value of the field
	formValues // values of the field: again and again, or with | between them
)

// rules returns everything that can be said in a tag, in the order in which
// people are told.
func rules() []rule {
	numbers := []string{"integer", "number"}
	strings := []string{"string"}
	scalars := []string{"string", "integer", "number", "boolean", ""}
	return []rule{
		{"description", formText, nil},
		{"title", formText, nil},
		{"enum", formValues, scalars},
		{"const", formValue, scalars},
		{"default", formValue, nil},
		{"example", formValue, nil},
		{"minimum", formNumber, numbers},
		{"maximum", formNumber, numbers},
		{"exclusiveMinimum", formNumber, numbers},
		{"exclusiveMaximum", formNumber, numbers},
		{"multipleOf", formNumber, numbers},
		{"minLength", formCount, strings},
		{"maxLength", formCount, strings},
		{"pattern", formString, strings},
		{"format", formString, strings},
		{"minItems", formCount, []string{"array"}},
		{"maxItems", formCount, []string{"array"}},
		{"uniqueItems", formFlag, []string{"array"}},
		{"minProperties", formCount, []string{"object"}},
		{"maxProperties", formCount, []string{"object"}},
		{"deprecated", formFlag, nil},
		{"readOnly", formFlag, nil},
		{"writeOnly", formFlag, nil},
	}
}

func ruleNamed(name string) (rule, bool) {
	if strings.HasPrefix(name, "x-") { // an extension, such as x-mcp-header
		return rule{name: name, form: formString}, true
	}
	all := rules()
	i := slices.IndexFunc(all, func(r rule) bool { return r.name == name })
	if i < 0 {
		return rule{}, false
	}
	return all[i], true
}

const requiredWord = "required"

// parseTag reads a tag: parts with commas between them, each key=value, the
// word required, or a description, which there is one of.
func parseTag(text string) (*tag, error) {
	t := &tag{}
	described := false
	for text != "" {
		var part string
		part, text = cutPart(text)
		if part == requiredWord {
			t.required = true
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok || !isWord(name) {
			name, value = "description", part
		}
		r, known := ruleNamed(name)
		if !known {
			return nil, unknownKeyword(name)
		}
		if name == "description" {
			if described {
				return nil, fmt.Errorf("%q is a second description", value)
			}
			described = true
		}
		value = strings.ReplaceAll(value, `\,`, ",")
		if r.form != formValues && r.name != "example" && slices.ContainsFunc(t.keywords, func(k keyword) bool { return k.name == name }) {
			return nil, errors.New(name + " is there twice")
		}
		t.keywords = append(t.keywords, keyword{r, value})
	}
	return t, nil
}

// cutPart splits a tag at its first comma that begins something new: one before
// key= or before the word required. A space after it is no matter where the key
// is known or where no text for people would be cut. `\,` is no such comma.
func cutPart(text string) (part, rest string) {
	prose := true // is the part text for people?
	if name, _, ok := strings.Cut(text, "="); ok && isWord(name) {
		r, known := ruleNamed(name)
		prose = known && r.form == formText
	}
	for i := range len(text) {
		if text[i] != ',' || i > 0 && text[i-1] == '\\' {
			continue
		}
		next := text[i+1:]
		tight := strings.TrimLeft(next, " ")
		if r, ok := strings.CutPrefix(tight, requiredWord); ok && (r == "" || r[0] == ',') && (!prose || tight == next) {
			return text[:i], tight
		}
		name, _, ok := strings.Cut(tight, "=")
		if !ok || !isWord(name) {
			continue
		}
		if _, known := ruleNamed(name); known || !prose || tight == next {
			return text[:i], tight
		}
	}
	return text, ""
}

// isWord reports whether s could be a key.
func isWord(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '-' && r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

func unknownKeyword(name string) error {
	var names []string
	for _, r := range rules() {
		if strings.EqualFold(r.name, name) {
			return fmt.Errorf("there is no keyword %q: write %s=", name, r.name)
		}
		names = append(names, r.name)
	}
	return fmt.Errorf("there is no keyword %q: there are %s, and x-…; for more give the type a method JSONSchema, or the tool a schema; "+
		`a text that only looks like a keyword is written with description= in front, and \\, for its comma`, name, strings.Join(names, ", "))
}
