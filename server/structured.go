package server

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// A structWriter writes a struct that has strings, numbers and booleans only, which
// is what most tools return, in a third of the time that the JSON package needs. What
// is rare in these it leaves to the package. A test proves that both agree.
type structWriter []structField

// smallStruct is room for most of them.
const smallStruct = 64

type structField struct {
	head  string // the comma or bracket before it, its name and the colon
	index int
	kind  reflect.Kind
}

// newStructWriter returns nil where a type is left to the JSON package.
func newStructWriter(t reflect.Type) structWriter {
	r := newArgumentReader(t)
	if !r.plain || len(r.fields) == 0 || hasMethods(t) {
		return nil
	}
	w := make(structWriter, 0, len(r.fields))
	before := byte('{')
	for i := range r.fields {
		f := &r.fields[i]
		field := t.Field(f.index)
		if f.kind == reflect.Invalid || hasMethods(field.Type) || strings.Contains(field.Tag.Get("json"), ",") || r.field([]byte(f.name)) != i {
			return nil
		}
		head := append(rpc.AppendString([]byte{before}, f.name), ':')
		w = append(w, structField{string(head), f.index, f.kind})
		before = ','
	}
	return w
}

// hasMethods reports whether values of a type may encode themselves.
func hasMethods(t reflect.Type) bool { return reflect.PointerTo(t).NumMethod() > 0 }

// append appends v, a struct. It reports false for what it leaves to the JSON
// package.
func (w structWriter) append(b []byte, v reflect.Value) (_ jsontext.Value, ok bool) {
	for _, f := range w {
		b = append(b, f.head...)
		switch x := v.Field(f.index); {
		case f.kind == reflect.String:
			if !utf8.ValidString(x.String()) {
				return nil, false
			}
			b = rpc.AppendString(b, x.String())
		case f.kind == reflect.Bool:
			b = strconv.AppendBool(b, x.Bool())
		case x.CanInt():
			b = strconv.AppendInt(b, x.Int(), 10)
		case x.CanUint():
			b = strconv.AppendUint(b, x.Uint(), 10)
		default:
			if n := math.Abs(x.Float()); n != 0 && !(1e-6 < n && n < 1e20) { // it has an exponent, or is no number
				return nil, false
			}
			b = strconv.AppendFloat(b, x.Float(), 'f', -1, x.Type().Bits())
		}
	}
	return append(b, '}'), true
}
