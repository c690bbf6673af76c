package server

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// maxProblems is how many problems one error names: a model corrects several
// at once, and nobody reads more.
const maxProblems = 5

// explainer finds out where a value that the validator refused is wrong. It
// knows the keywords that people use; what it cannot explain it reports at the
// place where the schema offers alternatives.
type explainer struct {
	root     *jsonschema.Schema
	problems []string
	unclear  string // the deepest place with a keyword that is not explained
	steps    int
}

func (v *validator) explain(name string, value any) error {
	e := &explainer{root: v.schema, unclear: name}
	e.schema(v.schema, value, name)
	if len(e.problems) == 0 {
		return fmt.Errorf("%s: does not match the schema", e.unclear)
	}
	return errors.New(strings.Join(e.problems, "; "))
}

func (e *explainer) add(path, format string, args ...any) {
	if p := path + ": " + fmt.Sprintf(format, args...); !slices.Contains(e.problems, p) {
		e.problems = append(e.problems, p)
	}
}

func (e *explainer) schema(s *jsonschema.Schema, v any, path string) {
	if s == nil || e.enough() {
		return
	}
	if !e.typ(s, v, path) {
		return
	}
	e.values(s, v, path)
	switch v := v.(type) {
	case float64:
		e.number(s, v, path)
	case string:
		e.text(s, v, path)
	case []any:
		e.array(s, v, path)
	case map[string]any:
		e.object(s, v, path)
	}
	if s.AnyOf != nil || s.OneOf != nil || s.Not != nil || s.If != nil || s.DynamicRef != "" {
		e.unclear = path
	}
	for _, sub := range s.AllOf {
		e.schema(sub, v, path)
	}
	if s.Ref != "" {
		e.schema(e.lookup(s.Ref), v, path)
	}
}

// enough counts the steps: the value may be big.
func (e *explainer) enough() bool {
	const maxSteps = 10_000
	e.steps++
	return len(e.problems) >= maxProblems || e.steps > maxSteps
}

// lookup follows the references that generators write.
func (e *explainer) lookup(ref string) *jsonschema.Schema {
	if ref == "#" {
		return e.root
	}
	kind, name, ok := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	if !ok || strings.Contains(name, "/") {
		return nil
	}
	name = unescapePointer(name)
	if kind == "$defs" {
		return e.root.Defs[name]
	}
	return e.root.Definitions[name]
}

func (e *explainer) typ(s *jsonschema.Schema, v any, path string) bool {
	want := s.Types
	if s.Type != "" {
		want = []string{s.Type}
	}
	got := typeOf(v)
	if len(want) == 0 || slices.Contains(want, got) || got == "integer" && slices.Contains(want, "number") {
		return true
	}
	e.add(path, "must be %s, not %s", strings.Join(want, " or "), got)
	return false
}

// typeOf is what JSON Schema calls the type of a decoded value.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
	}
	return "number"
}

func (e *explainer) values(s *jsonschema.Schema, v any, path string) {
	same := func(x any) bool { return reflect.DeepEqual(x, v) }
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, same) {
		e.add(path, "must be one of %s", valueList(s.Enum))
	}
	if s.Const != nil && !same(*s.Const) {
		e.add(path, "must be %s", valueList([]any{*s.Const}))
	}
}

// valueList writes what the schema allows; the schema is public.
func valueList(list []any) string {
	const most = 20
	var b strings.Builder
	for i, v := range list[:min(len(list), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		text, _ := json.Marshal(v)
		b.WriteString(capped(string(text)))
	}
	if len(list) > most {
		b.WriteString(", …")
	}
	return b.String()
}

func (e *explainer) number(s *jsonschema.Schema, v float64, path string) {
	switch {
	case s.Minimum != nil && v < *s.Minimum:
		e.add(path, "must be at least %v", *s.Minimum)
	case s.Maximum != nil && v > *s.Maximum:
		e.add(path, "must be at most %v", *s.Maximum)
	case s.ExclusiveMinimum != nil && v <= *s.ExclusiveMinimum:
		e.add(path, "must be more than %v", *s.ExclusiveMinimum)
	case s.ExclusiveMaximum != nil && v >= *s.ExclusiveMaximum:
		e.add(path, "must be less than %v", *s.ExclusiveMaximum)
	case s.MultipleOf != nil && math.Mod(v, *s.MultipleOf) != 0:
		e.add(path, "must be a multiple of %v", *s.MultipleOf)
	}
}

func (e *explainer) text(s *jsonschema.Schema, v, path string) {
	n := utf8.RuneCountInString(v)
	switch {
	case s.MinLength != nil && n < *s.MinLength:
		e.add(path, "must have at least %d characters", *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		e.add(path, "must have at most %d characters", *s.MaxLength)
	case s.Pattern != "":
		if !matches(s.Pattern, v) {
			e.add(path, "must match the pattern %q", capped(s.Pattern))
		}
	}
}

func (e *explainer) array(s *jsonschema.Schema, v []any, path string) {
	switch {
	case s.MinItems != nil && len(v) < *s.MinItems:
		e.add(path, "must have at least %d items", *s.MinItems)
	case s.MaxItems != nil && len(v) > *s.MaxItems:
		e.add(path, "must have at most %d items", *s.MaxItems)
	}
	first := s.PrefixItems
	if s.ItemsArray != nil {
		first = s.ItemsArray
	}
	for i, item := range v {
		sub := s.Items
		if i < len(first) {
			sub = first[i]
		}
		e.schema(sub, item, path+"["+strconv.Itoa(i)+"]")
	}
	if s.UniqueItems || s.Contains != nil || s.UnevaluatedItems != nil || s.AdditionalItems != nil {
		e.unclear = path
	}
}

func (e *explainer) object(s *jsonschema.Schema, v map[string]any, path string) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			e.add(path, "%q is required", capped(name))
		}
	}
	switch {
	case s.MinProperties != nil && len(v) < *s.MinProperties:
		e.add(path, "must have at least %d members", *s.MinProperties)
	case s.MaxProperties != nil && len(v) > *s.MaxProperties:
		e.add(path, "must have at most %d members", *s.MaxProperties)
	}
	for _, name := range sortedKeys(v) {
		if e.enough() {
			break
		}
		e.member(s, v, name, path)
	}
	if s.PropertyNames != nil || s.DependentRequired != nil || s.DependentSchemas != nil ||
		s.DependencyStrings != nil || s.DependencySchemas != nil || s.UnevaluatedProperties != nil {
		e.unclear = path
	}
}

func (e *explainer) member(s *jsonschema.Schema, v map[string]any, name, path string) {
	at := path + "." + capped(name)
	known := false
	if sub, ok := s.Properties[name]; ok {
		known = true
		e.schema(sub, v[name], at)
	}
	for pattern, sub := range s.PatternProperties {
		if matches(pattern, name) {
			known = true
			e.schema(sub, v[name], at)
		}
	}
	if known || s.AdditionalProperties == nil {
		return
	}
	if isFalse(s.AdditionalProperties) {
		e.add(path, "%q is not known here; known are: %s", capped(name), knownNames(s))
		return
	}
	e.schema(s.AdditionalProperties, v[name], at)
}

func knownNames(s *jsonschema.Schema) string {
	names := sortedKeys(s.Properties)
	if len(names) == 0 {
		return "none"
	}
	return capped(strings.Join(names, ", "))
}

// isFalse reports whether s is the schema false, in the form it is decoded to.
func isFalse(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.DeepEqual(s, &jsonschema.Schema{Not: &jsonschema.Schema{}})
}

// decodeError says where a value does not fit the Go type it is decoded into.
// The decoder's own text may repeat the value.
func decodeError(name string, err error) error {
	se, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return fmt.Errorf("%s: is not valid JSON", name)
	}
	path := name
	for token := range se.JSONPointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			path += "[" + token + "]"
			continue
		}
		path += "." + capped(token)
	}
	if se.GoType == nil {
		return fmt.Errorf("%s: cannot be read", path)
	}
	return fmt.Errorf("%s: cannot be read as %s", path, goTypeName(se.GoType))
}

// goTypeName is what a caller that does not see the Go code can use.
func goTypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer of " + strconv.Itoa(t.Bits()) + " bits"
	case reflect.Interface, reflect.Pointer:
		return "the value that is expected"
	}
	return t.String()
}

func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}

func unescapePointer(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		s = u
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// matches reports whether s matches a pattern that compiled before.
func matches(pattern, s string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(s)
}
