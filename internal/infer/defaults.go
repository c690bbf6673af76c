package infer

import (
	"bytes"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// Defaults is what stands for members that are left out of objects. It never
// changes.
type Defaults struct {
	members []defaulted
	inner   *Defaults // of items, or of the members that are not in the list
}

type defaulted struct {
	name  string
	value jsontext.Value // nil = it is missed by nobody
	inner *Defaults
}

func (d *Defaults) add(name string, value jsontext.Value, inner *Defaults) {
	d.members = append(d.members, defaulted{name, value, inner})
}

func (in *inference) defaultsOf(t reflect.Type) (*Defaults, error) {
	f, err := in.visit(indirect(t))
	if err != nil {
		return nil, err
	}
	return f.defaults, nil
}

// orNil returns d, or nil where no default is in it.
func (d *Defaults) orNil() *Defaults {
	if d.reaches(map[*Defaults]bool{}) {
		return d
	}
	return nil
}

func (d *Defaults) reaches(seen map[*Defaults]bool) bool {
	if d == nil || seen[d] {
		return false
	}
	seen[d] = true
	for _, m := range d.members {
		if m.value != nil || m.inner.reaches(seen) {
			return true
		}
	}
	return d.inner.reaches(seen)
}

// Fill returns a value, valid JSON that fits the schema, with what is left out
// of it. An object that is not there is not made.
func (d *Defaults) Fill(v jsontext.Value) jsontext.Value {
	if d == nil {
		return v
	}
	var filled bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(v)), jsontext.NewEncoder(&filled)
	if d.copy(dec, enc) != nil { // not for valid JSON
		return v
	}
	return bytes.TrimSuffix(filled.Bytes(), []byte("\n"))
}

func (d *Defaults) copy(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	kind := dec.PeekKind()
	if d == nil || kind != '{' && kind != '[' {
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		return enc.WriteValue(v)
	}
	if err := copyToken(dec, enc); err != nil {
		return err
	}
	var err error
	if kind == '{' {
		err = d.copyMembers(dec, enc)
	} else {
		for err == nil && dec.PeekKind() != ']' {
			err = d.inner.copy(dec, enc)
		}
	}
	if err != nil {
		return err
	}
	return copyToken(dec, enc)
}

func (d *Defaults) copyMembers(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	there := make([]bool, len(d.members))
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		inner := d.inner
		for i, m := range d.members {
			if m.name == name.String() {
				there[i], inner = true, m.inner
			}
		}
		if err := enc.WriteToken(name); err != nil {
			return err
		}
		if err := inner.copy(dec, enc); err != nil {
			return err
		}
	}
	for i, m := range d.members {
		if there[i] || m.value == nil {
			continue
		}
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := enc.WriteValue(m.value); err != nil {
			return err
		}
	}
	return nil
}

func copyToken(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	return enc.WriteToken(t)
}
