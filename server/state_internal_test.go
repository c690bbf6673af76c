package server

import (
	"encoding/base64"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func FuzzCursor(f *testing.F) {
	f.Add("tools", "")
	f.Add("tools", encodeCursor("tools", "echo"))
	f.Add("tools", encodeCursor("prompts", "echo"))
	f.Add("tools", "dG9vbHM6_w")
	f.Add("tools", "dG9vbHM6A\n00")
	f.Fuzz(func(t *testing.T, kind, cursor string) {
		last, ok := decodeCursor(kind, cursor)
		if ok && (encodeCursor(kind, last) != cursor || !utf8.ValidString(last)) {
			t.Errorf("%q was read as %q", cursor, last)
		}
	})
}

func FuzzState(f *testing.F) {
	s, err := newSealer([][]byte{make([]byte, 32)}, time.Hour, 1<<16)
	if err != nil {
		f.Fatal(err)
	}
	binding := stateBinding("p", "tools/call", "t", jsontext.Value(`{"a":1}`))
	good, err := s.seal(requestState{Value: jsontext.Value(`1`)}, binding)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("v1.")
	f.Add(good + "\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		st, err := s.open(text, binding)
		if err != nil {
			return
		}
		sealed, _ := base64.RawURLEncoding.DecodeString(text[len(statePrefix):])
		if string(st.Value) != "1" || text != statePrefix+base64.RawURLEncoding.EncodeToString(sealed) {
			t.Errorf("%q was opened: %s", text, st.Value) // only what was sealed, in its one spelling
		}
	})
}

func TestStateBinding(t *testing.T) {
	t.Parallel()
	base := string(stateBinding("p", "m", "t", jsontext.Value(`{"a":1,"b":2}`)))
	if same := string(stateBinding("p", "m", "t", jsontext.Value(` {"b":2, "a":1}`))); same != base {
		t.Error("the order of members matters")
	}
	for _, other := range [][]byte{
		stateBinding("", "pm", "t", jsontext.Value(`{"a":1,"b":2}`)),
		stateBinding("p", "mt", "", jsontext.Value(`{"a":1,"b":2}`)),
		stateBinding("p", "m", "t", jsontext.Value(`{"a":1,"b":3}`)),
		stateBinding("p", "m", "t", nil),
		stateBinding("p", "m", "t", jsontext.Value(`{"a":9007199254740993,"b":2}`)),
	} {
		if string(other) == base {
			t.Error("another request has the same binding")
		}
	}
	big := stateBinding("p", "m", "t", jsontext.Value(`{"a":9007199254740993}`))
	if string(big) == string(stateBinding("p", "m", "t", jsontext.Value(`{"a":9007199254740992}`))) {
		t.Error("big integers are rounded")
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":["null","integer"]}}}`, `{"a":1}`)
	f.Add(`{"type":"object","$ref":"#"}`, `{}`)
	f.Add(`{"allOf":[{"$dynamicRef":"#a"}],"$dynamicAnchor":"a"}`, `{}`)
	f.Add(`{"dependencies":{"a":["b"]},"items":[true]}`, `{"a":1}`)
	limits := Limits{}.withDefaults()
	f.Fuzz(func(_ *testing.T, schema, value string) {
		v, err := compile(jsontext.Value(schema), limits)
		if err != nil {
			return
		}
		_ = v.check("value", jsontext.Value(value)) // neither panics nor hangs
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("x://{a}/{+b}{?c,d*}", "x://1/2/3?c=4")
	f.Add("x://%41{;p:3}", "x://A;p=1")
	f.Fuzz(func(_ *testing.T, tmpl, uri string) {
		m, err := newMatcher(tmpl)
		if err != nil {
			return
		}
		if normal, err := normalURI(uri); err == nil {
			m.match(normal)
		}
	})
}
