package server

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
)

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
