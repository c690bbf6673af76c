package server

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/infer"
	"github.com/tenon-mcp/tenon/rpc"
)

// An argumentReader reads the arguments of a tool into the fields of a struct.
// Strings, numbers and booleans, which is what most arguments are, it reads
// itself: that takes a fifth of the time that the JSON package needs. A field of
// another type is left to the package, and so is a struct that is not a plain
// list of fields. A test proves that both agree.
type argumentReader struct {
	fields   []argumentField
	plain    bool            // the struct is a plain list of fields
	proves   bool            // reading all fields proves that the schema is met
	required uint64          // the fields, by bit, that must be there
	defaults *infer.Defaults // of what is left out
	codec    []json.Options  // for the JSON package
}

type argumentField struct {
	name  string
	index int
	kind  reflect.Kind // Invalid: the JSON package reads it
}

func newArgumentReader(t reflect.Type) *argumentReader {
	r := &argumentReader{}
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return r
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" && options == "":
			continue
		case f.Anonymous || !f.IsExported() || !plainTag(name, options):
			return r
		case name == "":
			name = f.Name
		}
		r.fields = append(r.fields, argumentField{name: name, index: i, kind: plainKind(f.Type)})
	}
	r.plain = true
	return r
}

// follow has what is read prove that the arguments fit the schema that was
// inferred from the type, if that says no more than the fields do.
func (r *argumentReader) follow(schema *infer.Schema) {
	var root struct {
		Required []string `json:"required"`
	}
	known := func(f argumentField) bool { return f.kind != reflect.Invalid }
	if !r.plain || schema.Promises || schema.Defaults != nil || len(r.fields) > 64 || json.Unmarshal(schema.Text, &root) != nil {
		return
	}
	r.proves = true
	for i, f := range r.fields {
		r.proves = r.proves && known(f)
		if slices.Contains(root.Required, f.name) {
			r.required |= 1 << i
		}
	}
}

// plainTag reports whether a tag says nothing about how the field is read but
// its name.
func plainTag(name, options string) bool {
	return !strings.ContainsAny(name, `'"\`) && (options == "" || options == "omitzero" || options == "omitempty")
}

// plainKind returns the kind of a type that has one and no methods of its own
// for JSON.
func plainKind(t reflect.Type) reflect.Kind {
	switch k := t.Kind(); k {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if !decodesItself(t) {
			return k
		}
	}
	return reflect.Invalid
}

// read reads args, valid JSON, into the zero struct v. It reports false for
// what it leaves to the JSON package: v may have changed then. fits reports
// whether args are proved to meet the schema.
func (r *argumentReader) read(args jsontext.Value, v reflect.Value) (read, fits bool) {
	if !r.plain || args.Kind() != '{' {
		return false, false
	}
	read, fits, missing := true, r.proves, r.required
	rpc.ReadMembers(args, func(name []byte, rest jsontext.Value) (size int, more bool) {
		i := r.field(name)
		if i < 0 { // ignored, as the package does
			fits = false
			return rpc.ValueSize(rest), true
		}
		missing &^= 1 << i
		size, read = r.readField(&r.fields[i], rest, v)
		return size, read
	})
	return read, read && fits && missing == 0
}

// readField reads the value that rest begins with into its field, and returns its
// length. It reports false for what it leaves to the JSON package.
func (r *argumentReader) readField(f *argumentField, rest jsontext.Value, v reflect.Value) (size int, ok bool) {
	to := v.Field(f.index)
	if f.kind == reflect.String {
		text, size := rpc.ReadString(rest)
		to.SetString(text)
		return size, size > 0
	}
	size = rpc.ValueSize(rest)
	if value := rest[:size:size]; f.kind != reflect.Invalid {
		return size, readPlain(value, to, f.kind)
	} else if json.Unmarshal(value, to.Addr().Interface(), r.codec...) != nil {
		return size, false // its error names the place, where the whole is decoded
	}
	return size, true
}

// field returns the place of a field, or -1.
func (r *argumentReader) field(name []byte) int {
	for i := range r.fields {
		if r.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

func readPlain(value jsontext.Value, to reflect.Value, k reflect.Kind) bool {
	switch {
	case k == reflect.Bool:
		to.SetBool(string(value) == "true")
		return value.Kind() == 't' || value.Kind() == 'f'
	case value.Kind() != '0':
		return false
	case to.CanInt():
		n, err := strconv.ParseInt(string(value), 10, to.Type().Bits())
		to.SetInt(n)
		return err == nil
	case to.CanUint():
		n, err := strconv.ParseUint(string(value), 10, to.Type().Bits())
		to.SetUint(n)
		return err == nil
	}
	x, err := strconv.ParseFloat(string(value), to.Type().Bits())
	to.SetFloat(x)
	return err == nil
}
