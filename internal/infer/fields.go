package infer

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// field is a field of a struct, or of a struct embedded in it, that is a member
// of the JSON object.
type field struct {
	reflect.StructField
	owner    reflect.Type
	index    []int
	member   string
	named    bool // by the tag json
	optional bool // left out where it is zero or empty
	quoted   bool // a number in a string
	behind   bool // a pointer that is embedded, and left out where it is nil
}

// fieldsOf returns the fields that the JSON package reads and writes, in its
// order, and the type of the members that no field is for: nil = there are
// none. The package has accepted the struct, so tags are in order.
func fieldsOf(root reflect.Type) (fields []*field, rest reflect.Type) {
	type level struct {
		reflect.Type
		index    []int
		behind   bool
		embedded bool // look into what is embedded: once for each type
	}
	seen := map[reflect.Type]bool{root: true}
	rests := map[int][]reflect.Type{}
	for queue := []level{{root, nil, false, true}}; len(queue) > 0; queue = queue[1:] {
		l := queue[0]
		for sf := range l.Fields() {
			f, embedded, ok := fieldOf(sf)
			if !ok {
				continue
			}
			f.owner, f.index = l.Type, append(slices.Clone(l.index), sf.Index...)
			f.behind = l.behind
			t := indirect(sf.Type)
			switch {
			case !embedded:
				fields = append(fields, f)
			case t.Kind() != reflect.Struct:
				rests[len(f.index)] = append(rests[len(f.index)], t)
			case l.embedded:
				queue = append(queue, level{t, f.index, l.behind || sf.Type.Kind() == reflect.Pointer, !seen[t]})
				seen[t] = true
			}
		}
	}
	return dominant(fields), dominantRest(rests)
}

func fieldOf(sf reflect.StructField) (f *field, embedded, ok bool) {
	tag := sf.Tag.Get("json")
	if tag == "-" || !sf.IsExported() && !sf.Anonymous {
		return nil, false, false
	}
	name, options, _ := strings.Cut(tag, ",")
	f = &field{StructField: sf, member: cmp.Or(name, sf.Name), named: name != ""}
	embedded = sf.Anonymous && !f.named
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitzero", "omitempty":
			f.optional = true
		case "string":
			f.quoted = true
		case "embed":
			embedded = true
		}
	}
	return f, embedded, true
}

// dominant returns the fields that are not hidden by others of the same name:
// the shallowest one wins, and among those the one that is named by its tag.
func dominant(fields []*field) []*field {
	byName := map[string][]*field{}
	for _, f := range fields {
		byName[f.member] = append(byName[f.member], f)
	}
	var visible []*field
	for _, same := range byName {
		slices.SortFunc(same, compareDominance)
		if len(same) == 1 || compareDominance(same[0], same[1]) != 0 {
			visible = append(visible, same[0])
		}
	}
	slices.SortFunc(visible, func(a, b *field) int { return slices.Compare(a.index, b.index) })
	return visible
}

func compareDominance(a, b *field) int {
	if c := cmp.Compare(len(a.index), len(b.index)); c != 0 || a.named == b.named {
		return c
	}
	if a.named {
		return -1
	}
	return 1
}

// dominantRest returns the type of the members that no field is for.
func dominantRest(rests map[int][]reflect.Type) reflect.Type {
	if len(rests) == 0 {
		return nil
	}
	shallowest := rests[slices.Min(slices.Collect(maps.Keys(rests)))]
	if len(shallowest) > 1 {
		return nil
	}
	if shallowest[0].Kind() == reflect.Map {
		return shallowest[0].Elem()
	}
	return reflect.TypeFor[jsontext.Value]()
}
