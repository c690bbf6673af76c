package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schema is what the command line needs to know of a tool's input schema.
type schema struct {
	Properties jsontext.Value `json:"properties"`
	Required   []string       `json:"required"`
	Additional jsontext.Value `json:"additionalProperties"`
}

// property is one argument of a tool.
type property struct {
	Name     string
	Required bool
	Types    []string // of JSON Schema; empty: any
	Items    []string // the types of an array's elements
}

type propertySchema struct {
	Type  types `json:"type"`
	Items *struct {
		Type types `json:"type"`
	} `json:"items"`
	Enum  []jsontext.Value `json:"enum"`
	AnyOf []propertySchema `json:"anyOf"`
	OneOf []propertySchema `json:"oneOf"`
}

// types is one type or a list of them.
type types []string

func (t *types) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var one string
		err := json.UnmarshalDecode(d, &one)
		*t = types{one}
		return err
	}
	return json.UnmarshalDecode(d, (*[]string)(t))
}

func (p *propertySchema) types() []string {
	all := slices.Clone([]string(p.Type))
	for _, alt := range slices.Concat(p.AnyOf, p.OneOf) {
		all = append(all, alt.types()...)
	}
	if len(all) > 0 {
		return all
	}
	for _, v := range p.Enum {
		switch v.Kind() {
		case '"':
			all = append(all, "string")
		case 'n':
			all = append(all, "null")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// signature is a tool as a function: its name and arguments, the required
// ones first, each group in the order of the schema.
type signature struct {
	tool       string
	properties []property
	open       bool // takes arguments that are not listed
}

func newSignature(tool string, input jsontext.Value) signature {
	sig := signature{tool: tool}
	var s schema
	if json.Unmarshal(input, &s, jsontext.AllowDuplicateNames(true)) != nil {
		return signature{tool: tool, open: true}
	}
	d := jsontext.NewDecoder(bytes.NewReader(s.Properties), jsontext.AllowDuplicateNames(true))
	if tok, err := d.ReadToken(); err == nil && tok.Kind() == '{' {
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				break
			}
			p := property{Name: name.String(), Required: slices.Contains(s.Required, name.String())}
			v, err := d.ReadValue()
			if err != nil {
				break
			}
			var ps propertySchema
			if json.Unmarshal(v, &ps, jsontext.AllowDuplicateNames(true)) == nil {
				p.Types = ps.types()
				if ps.Items != nil {
					p.Items = ps.Items.Type
				}
			}
			sig.properties = append(sig.properties, p)
		}
	}
	slices.SortStableFunc(sig.properties, func(a, b property) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	sig.open = len(sig.properties) == 0 && string(s.Additional) != "false" || s.Additional.Kind() == '{' || string(s.Additional) == "true"
	return sig
}

// String writes echo(message: str, [times: int]).
func (s signature) String() string {
	var required, optional []string
	for _, p := range s.properties {
		arg := p.Name + ": " + p.typeName()
		if p.Required {
			required = append(required, arg)
			continue
		}
		optional = append(optional, arg)
	}
	if len(optional) > 0 {
		required = append(required, "["+strings.Join(optional, ", ")+"]")
	}
	return escapeLine(s.tool + "(" + strings.Join(required, ", ") + ")")
}

var shortTypes = map[string]string{
	"string": "str", "integer": "int", "number": "num", "boolean": "bool", "object": "obj", "array": "any[]", "null": "null",
}

func (p property) typeName() string {
	if len(p.Types) == 0 {
		return "any"
	}
	var names []string
	for _, t := range p.Types {
		name := shortTypes[t]
		if name == "" {
			name = t
		}
		if t == "array" && len(p.Items) == 1 && shortTypes[p.Items[0]] != "" {
			name = shortTypes[p.Items[0]] + "[]"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// arguments turns the words of the command line into the arguments of a call:
// key=value is typed by the schema, the value of key:=json is taken as it is,
// a value @file is what the file has, and one word that is a JSON object is all of them, unchecked.
func (s signature) arguments(words []string) (jsontext.Value, error) {
	if len(words) == 1 && strings.HasPrefix(strings.TrimSpace(words[0]), "{") {
		v := jsontext.Value(words[0])
		if err := v.Compact(); err != nil {
			return nil, usagef("the arguments look like a JSON object but are none: %v", err)
		}
		return v, nil
	}
	var buf bytes.Buffer
	e := jsontext.NewEncoder(&buf)
	_ = e.WriteToken(jsontext.BeginObject) // into memory
	seen := map[string]bool{}
	for _, w := range words {
		key, value, err := s.argument(w)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, usagef("argument %q is given twice", key)
		}
		seen[key] = true
		if value == nil { // an optional one that is not given
			continue
		}
		if err := e.WriteToken(jsontext.String(key)); err != nil {
			return nil, usagef("argument %q: %v", key, err)
		}
		if err := e.WriteValue(value); err != nil {
			return nil, usagef("argument %q: %v", key, err)
		}
	}
	_ = e.WriteToken(jsontext.EndObject)
	for _, p := range s.properties {
		if p.Required && !seen[p.Name] {
			return nil, usagef("argument %q is missing\n  %s", p.Name, s)
		}
	}
	return jsontext.Value(bytes.TrimSpace(buf.Bytes())), nil
}

func (s signature) argument(word string) (key string, value jsontext.Value, err error) {
	key, text, ok := strings.Cut(word, "=")
	key, isJSON := strings.CutSuffix(key, ":")
	if !ok || key == "" {
		return "", nil, usagef("argument %q is not key=value or key:=json\n  %s", word, s)
	}
	var p property
	i := slices.IndexFunc(s.properties, func(p property) bool { return p.Name == key })
	switch {
	case i >= 0:
		p = s.properties[i]
	case !s.open:
		names := make([]string, len(s.properties))
		for i, p := range s.properties {
			names[i] = p.Name
		}
		return "", nil, usagef("tool %q has no argument %q%s\n  %s", s.tool, key, didYouMean(key, names), s)
	}
	if text, err = argumentText(key, text); err != nil {
		return "", nil, err
	}
	if isJSON {
		v := jsontext.Value(text)
		if !v.IsValid() {
			return "", nil, usagef("argument %q: the value after := is not JSON", key)
		}
		return key, v, nil
	}
	v, err := p.value(text)
	if err != nil {
		return "", nil, usagef("argument %q: %v\n  %s", key, err, s)
	}
	return key, v, nil
}

// value types text. What can be a string and nothing else is one, so that
// zip=01234 keeps its zero. An optional argument that is null and can be
// neither that nor a string is nil: it is left out.
func (p property) value(text string) (jsontext.Value, error) {
	raw := jsontext.Value(text)
	valid := raw.IsValid()
	for _, t := range p.Types {
		if t != "string" && valid && kindIs(raw.Kind(), t) {
			return raw, nil
		}
	}
	if len(p.Types) == 0 && valid {
		return raw, nil
	}
	if len(p.Types) == 0 || slices.Contains(p.Types, "string") {
		return json.Marshal(text)
	}
	if raw.Kind() == 'n' && valid && !p.Required {
		return nil, nil
	}
	return nil, fmt.Errorf("%q is not %s%s", text, strings.Join(p.Types, " or "), p.jsonHint())
}

// jsonHint says how a value is written that a shell takes apart easily.
func (p property) jsonHint() string {
	switch {
	case slices.Contains(p.Types, "array") && slices.Equal(p.Items, []string{"string"}):
		return fmt.Sprintf(`; write JSON: %s:='["a", "b"]'`, p.Name)
	case slices.Contains(p.Types, "array"):
		return fmt.Sprintf(`; write JSON: %s:='[1, 2]'`, p.Name)
	case slices.Contains(p.Types, "object"):
		return fmt.Sprintf(`; write JSON: %s:='{"key": "value"}'`, p.Name)
	}
	return ""
}

func kindIs(k jsontext.Kind, t string) bool {
	switch t {
	case "integer", "number":
		return k == '0'
	case "boolean":
		return k == 't' || k == 'f'
	case "object":
		return k == '{'
	case "array":
		return k == '['
	case "null":
		return k == 'n'
	}
	return false
}

// didYouMean asks for the nearest of names, if one is near.
func didYouMean(word string, names []string) string {
	i := nearest(word, names)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(" — did you mean %q?", names[i])
}

// nearest returns the index of the name that was probably meant, or -1.
func nearest(word string, names []string) int {
	best, bestDistance := -1, 3 // more than two edits are another word
	for i, n := range names {
		if d := distance(word, n); d < bestDistance {
			best, bestDistance = i, d
		}
	}
	return best
}

// distance counts the edits between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
