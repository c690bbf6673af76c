package recording

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Change is one difference between two values.
type Change struct {
	// Path leads to it: content[0].text. "" is the value itself.
	Path string `json:"path"`
	// Old and New; nothing where there was no such thing.
	Old jsontext.Value `json:"old,omitzero"`
	New jsontext.Value `json:"new,omitzero"`
}

// String writes total 12 → 11.
func (c Change) String() string {
	side := func(v jsontext.Value) string {
		if len(v) == 0 {
			return "(nothing)"
		}
		if len(v) > 120 {
			return strings.ToValidUTF8(string(v[:120]), "") + "…"
		}
		return string(v)
	}
	return strings.TrimSpace(c.Path + " " + side(c.Old) + " → " + side(c.New))
}

// MaxChanges is how many differences of one pair of values are told.
const MaxChanges = 100

// Compare returns the differences between two JSON values. The order of
// members is none. What is under a path of ignore is left out; a path may have
// * for a name or an index.
func Compare(was, is jsontext.Value, ignore []string) []Change {
	d := &differ{ignore: ignore}
	d.compare(nil, was, is)
	return d.changes
}

type differ struct {
	ignore  []string
	changes []Change
}

func (d *differ) compare(path []string, was, is jsontext.Value) {
	if len(d.changes) >= MaxChanges || d.ignored(path) {
		return
	}
	switch {
	case was.Kind() == '{' && is.Kind() == '{':
		a, b := members(was), members(is)
		names := slices.Sorted(maps.Keys(a))
		for name := range b {
			if _, both := a[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			d.compare(append(slices.Clone(path), name), a[name], b[name])
		}
	case was.Kind() == '[' && is.Kind() == '[':
		a, b := elements(was), elements(is)
		for i := range max(len(a), len(b)) {
			var old, now jsontext.Value
			if i < len(a) {
				old = a[i]
			}
			if i < len(b) {
				now = b[i]
			}
			d.compare(append(slices.Clone(path), "["+strconv.Itoa(i)+"]"), old, now)
		}
	case !same(was, is):
		d.changes = append(d.changes, Change{Path: join(path), Old: was, New: is})
	}
}

func (d *differ) ignored(path []string) bool {
	return slices.ContainsFunc(d.ignore, func(pattern string) bool {
		parts := strings.FieldsFunc(strings.ReplaceAll(pattern, "[", ".["), func(r rune) bool { return r == '.' })
		if len(parts) != len(path) {
			return false
		}
		for i, p := range parts {
			if p != "*" && p != "[*]" && p != path[i] {
				return false
			}
		}
		return true
	})
}

func join(path []string) string {
	var b strings.Builder
	for i, p := range path {
		if i > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

func members(v jsontext.Value) map[string]jsontext.Value {
	var m map[string]jsontext.Value
	_ = json.Unmarshal(v, &m, jsontext.AllowDuplicateNames(true)) // it was read before
	return m
}

func elements(v jsontext.Value) []jsontext.Value {
	var s []jsontext.Value
	_ = json.Unmarshal(v, &s, jsontext.AllowDuplicateNames(true)) // it was read before
	return s
}

func same(a, b jsontext.Value) bool {
	if string(a) == string(b) {
		return true
	}
	x, y := a.Clone(), b.Clone()
	return len(x) > 0 && len(y) > 0 && x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y)
}

// A Difference is a call whose outcome differs between two recordings.
type Difference struct {
	// N is the number of the call in the first recording, 0 where it has none.
	N      int      `json:"call,omitzero"`
	Method string   `json:"method"`
	Name   string   `json:"name,omitzero"` // of the tool, prompt or resource
	What   string   `json:"what"`          // changed, missing, added
	Of     []Change `json:"changes,omitzero"`
}

// String tells it on one line and the changes on lines of their own.
func (d *Difference) String() string {
	head := strings.TrimSpace(d.Method + " " + d.Name)
	if d.N > 0 {
		head = fmt.Sprintf("call %d %s", d.N, head)
	}
	switch {
	case d.What != "changed":
		return head + ": " + d.What
	case len(d.Of) == 1:
		return head + ": " + d.Of[0].String()
	}
	for _, c := range d.Of {
		head += "\n    " + c.String()
	}
	return head
}

// Volatile is what is never compared: what differs from call to call.
var Volatile = []string{"_meta", "requestState", "ttlMs"}

// Diff compares what came of the same calls of clients in two recordings.
func Diff(a, b *Recording, ignore []string) []Difference {
	later := map[string][]*Call{}
	now := b.Calls()
	for _, c := range now {
		if c.Dir == FromClient {
			later[c.Key()] = append(later[c.Key()], c)
		}
	}
	var out []Difference
	for _, c := range a.Calls() {
		if c.Dir != FromClient {
			continue
		}
		of := later[c.Key()]
		if len(of) == 0 {
			out = append(out, Difference{N: c.N, Method: c.Method, Name: c.Name(), What: "missing"})
			continue
		}
		if d := c.Differs(of[0], ignore); d != nil {
			out = append(out, *d)
		}
		later[c.Key()] = of[1:]
	}
	for _, c := range now {
		if of := later[c.Key()]; len(of) > 0 && of[0] == c {
			out = append(out, Difference{Method: c.Method, Name: c.Name(), What: "added"})
			later[c.Key()] = of[1:]
		}
	}
	return out
}

// Differs compares the outcome of a call with that of the same one elsewhere.
// It returns nil where they agree.
func (c *Call) Differs(now *Call, ignore []string) *Difference {
	changes := Compare(c.outcome(), now.outcome(), slices.Concat(Volatile, ignore))
	if (c.Error == nil) != (now.Error == nil) {
		changes = []Change{{Old: c.outcome(), New: now.outcome()}}
	}
	if len(changes) == 0 {
		return nil
	}
	return &Difference{N: c.N, Method: c.Method, Name: c.Name(), What: "changed", Of: changes}
}

// outcome is the result, or an object with the error.
func (c *Call) outcome() jsontext.Value {
	if c.Error == nil {
		return c.Result
	}
	b, _ := json.Marshal(map[string]any{"error": c.Error}) // it was read before
	return b
}

// Name is what the call is about: of a tool or prompt, or a URI.
func (c *Call) Name() string {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	_ = json.Unmarshal(c.Params, &p, jsontext.AllowDuplicateNames(true)) // it has no name then
	if p.Name != "" {
		return p.Name
	}
	return p.URI
}
