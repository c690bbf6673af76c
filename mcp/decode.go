package mcp

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// DecodeParams decodes the params of a received request into v, a pointer. Absent
// params are an empty object; v may keep parts of others. Its error is one for
// the other side: invalid params, with the place and without words of Go.
//
// The Meta of params of a client's request has what the caller put there: what the
// modern era puts there is read by [RequestMeta.Read].
//
// meta is what was read of the request, if anything was: it saves looking for what
// is not there.
func DecodeParams(req *rpc.Request, v any, meta *RequestMeta) error {
	params := req.Params
	if len(params) == 0 {
		params = jsontext.Value("{}")
	}
	if f, ok := v.(fastReader); ok {
		if params.Kind() == '{' && f.readFast(req, meta) {
			return nil
		}
		reflect.ValueOf(v).Elem().SetZero()
	}
	if err := json.Unmarshal(params, v); err != nil {
		return InvalidParams("params: %w", decodeError(err))
	}
	if p, ok := v.(AnyParams); ok {
		p.CommonParams().Meta.strip()
	}
	return nil
}

// strip removes what [RequestMeta] has.
func (m *Meta) strip() {
	for _, key := range [...]string{MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, MetaLogLevel} {
		delete(*m, key)
	}
	if len(*m) == 0 {
		*m = nil
	}
}

// decodeError says in words of JSON what json says in words of Go.
func decodeError(err error) error {
	sem, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	what := fmt.Sprintf("must be %s, not %s", expected(sem.GoType), kindName(sem.JSONKind))
	switch {
	case errors.Is(sem.Err, json.ErrUnknownName):
		what = "unknown member"
	case isBytes(sem.GoType) && sem.Err != nil:
		what = "is not valid base64 (RFC 4648, section 4, with padding)"
	case sem.Err != nil:
		what = decodeError(sem.Err).Error()
	}
	if sem.JSONPointer == "" {
		return errors.New(what)
	}
	return fmt.Errorf("%s: %s", sem.JSONPointer, what)
}

func isBytes(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func expected(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Pointer:
		return expected(t.Elem())
	}
	return "an object"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "this"
}
