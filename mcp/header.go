package mcp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// HeaderParam is the prefix of the HTTP headers that mirror annotated tool
// arguments: Mcp-Param-{name}.
const HeaderParam = "Mcp-Param-"

// Text between these marks is standard Base64 of UTF-8. The marks are exact:
// another case, or one of them alone, makes the value literal text.
const (
	headerOpen  = "=?base64?"
	headerClose = "?="
)

// EncodeHeaderValue returns s in a form that an HTTP header can carry: s
// itself when it is visible ASCII with inner spaces only, else Base64 between
// marks. [DecodeHeaderValue] is the inverse.
func EncodeHeaderValue(s string) string {
	if plainHeaderValue(s) {
		return s
	}
	return headerOpen + base64.StdEncoding.EncodeToString([]byte(s)) + headerClose
}

func plainHeaderValue(s string) bool {
	if s == "" {
		return true
	}
	if s[0] == ' ' || s[len(s)-1] == ' ' || isMarked(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func isMarked(s string) bool {
	return len(s) >= len(headerOpen)+len(headerClose) &&
		strings.HasPrefix(s, headerOpen) && strings.HasSuffix(s, headerClose)
}

// errHeaderChars is for bytes that EncodeHeaderValue never leaves plain.
var errHeaderChars = errors.New("header value has characters that must be sent as Base64")

// DecodeHeaderValue returns the text that a header value stands for. Optional
// whitespace around the value is no part of it (RFC 9110, section 5.5).
// Characters that need encoding, Base64 that is not strict, and encoded text
// that is not UTF-8 are errors.
func DecodeHeaderValue(v string) (string, error) {
	v = strings.Trim(v, " \t")
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return "", errHeaderChars
		}
	}
	if !isMarked(v) {
		return v, nil
	}
	inner := v[len(headerOpen) : len(v)-len(headerClose)]
	b, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil {
		return "", fmt.Errorf("header value is not valid Base64: %w", err)
	}
	if !utf8.Valid(b) {
		return "", errors.New("header value is Base64 of something that is not UTF-8")
	}
	return string(b), nil
}

// A ParamHeader is one "x-mcp-header" annotation in a tool's input schema: the
// argument at Path is mirrored in the header Mcp-Param-{Name}.
type ParamHeader struct {
	Path []string // names of properties, from the root of the arguments
	Name string   // as annotated, without the prefix
	Type string   // "string", "integer" or "boolean"
}

const (
	paramHeaderKey = "x-mcp-header"
	// maxSchemaDepth is far over what a person writes and keeps the walk of a
	// hostile schema off the end of the stack.
	maxSchemaDepth = 128
	// maxSafeInteger is the biggest integer that every JSON library keeps.
	maxSafeInteger = 1<<53 - 1
)

// ParamHeaders returns the annotations of an input schema, in the order of
// their names. An annotation that breaks the rules makes the tool invalid and
// is the error: the name must be an HTTP token, unique whatever the case, on a
// property of type string, integer or boolean that is reached from the root
// through "properties" alone.
func ParamHeaders(schema jsontext.Value) ([]ParamHeader, error) {
	// Nearly no schema has one. An escape might spell the name differently.
	if !bytes.Contains(schema, []byte(paramHeaderKey)) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil, nil
	}
	var w paramWalk
	if err := w.schema(schema, nil, true, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(w.found, func(a, b ParamHeader) int { return strings.Compare(a.Name, b.Name) })
	return w.found, nil
}

type paramWalk struct{ found []ParamHeader }

// schema walks one schema. open says that only "properties" led here.
func (w *paramWalk) schema(v jsontext.Value, path []string, open bool, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("input schema is nested deeper than %d", maxSchemaDepth)
	}
	if v.Kind() != '{' {
		return nil // true, false, or not a schema
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(v, &members); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if a, ok := members[paramHeaderKey]; ok {
		if err := w.annotation(a, members["type"], path, open); err != nil {
			return err
		}
	}
	for key, m := range members {
		if err := w.member(key, m, path, open, depth); err != nil {
			return err
		}
	}
	return nil
}

// member follows the keywords that hold schemas. The others hold data, in
// which the annotation means nothing.
func (w *paramWalk) member(key string, v jsontext.Value, path []string, open bool, depth int) error {
	switch key {
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies":
		var named map[string]jsontext.Value
		if v.Kind() != '{' {
			return nil
		}
		if err := json.Unmarshal(v, &named); err != nil {
			return fmt.Errorf("input schema: %s: %w", key, err)
		}
		for name, s := range named {
			at := append(slices.Clip(path), name)
			if err := w.schema(s, at, open && key == "properties", depth+1); err != nil {
				return err
			}
		}
	case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "oneOf", "anyOf", "allOf", "not",
		"if", "then", "else", "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema":
		if v.Kind() != '[' {
			return w.schema(v, path, false, depth+1)
		}
		var list []jsontext.Value
		if err := json.Unmarshal(v, &list); err != nil {
			return fmt.Errorf("input schema: %s: %w", key, err)
		}
		for _, s := range list {
			if err := w.schema(s, path, false, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *paramWalk) annotation(a, typ jsontext.Value, path []string, open bool) error {
	at := strings.Join(path, ".")
	var h ParamHeader
	if a.Kind() != '"' || json.Unmarshal(a, &h.Name) != nil {
		return fmt.Errorf("%s at %q is not a string", paramHeaderKey, at)
	}
	if !isToken(h.Name) {
		return fmt.Errorf("%s %q at %q is not an HTTP token", paramHeaderKey, h.Name, at)
	}
	if !open || len(path) == 0 {
		return fmt.Errorf(`%s %q at %q is not reached through "properties" alone`, paramHeaderKey, h.Name, at)
	}
	if typ.Kind() != '"' || json.Unmarshal(typ, &h.Type) != nil ||
		h.Type != "string" && h.Type != "integer" && h.Type != "boolean" {
		return fmt.Errorf("%s %q at %q needs type string, integer or boolean", paramHeaderKey, h.Name, at)
	}
	for _, f := range w.found {
		if strings.EqualFold(f.Name, h.Name) {
			return fmt.Errorf("%s %q is used twice", paramHeaderKey, h.Name)
		}
	}
	h.Path = slices.Clone(path)
	w.found = append(w.found, h)
	return nil
}

// isToken reports whether s is 1*tchar (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// Value returns the argument that h mirrors as text, before it is encoded for
// a header. ok is false where there is nothing to mirror: the argument is
// absent, null, of another type than the schema says, or an integer that is
// not safe.
func (h ParamHeader) Value(args jsontext.Value) (text string, ok bool) {
	v := args
	for _, name := range h.Path {
		if v = memberOf(v, name); v == nil {
			return "", false
		}
	}
	switch k := v.Kind(); {
	case k == '"' && h.Type == "string":
		return text, json.Unmarshal(v, &text) == nil
	case (k == 't' || k == 'f') && h.Type == "boolean":
		return string(v), true
	case k == '0' && h.Type == "integer":
		return integerText(string(v))
	}
	return "", false
}

// memberOf returns the member of an object, or nil.
func memberOf(v jsontext.Value, name string) jsontext.Value {
	for n, value := range rpc.Members(v) {
		if string(n) == name {
			return value
		}
	}
	return nil
}

// integerText writes a JSON number that is a safe integer in decimal.
func integerText(s string) (string, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > maxSafeInteger {
			return "", false
		}
		n = int64(f)
	}
	if n > maxSafeInteger || n < -maxSafeInteger {
		return "", false
	}
	return strconv.FormatInt(n, 10), true
}
