package server

import (
	"math"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
)

type (
	namedText string
	textual   int
	plainOut  struct {
		Text  string    `json:"text é"`
		Named namedText // by its Go name
		Yes   bool      `json:"yes"`
		Small int8      `json:"small"`
		Big   int64     `json:"big"`
		U     uint64    `json:"u"`
		F     float64   `json:"f"`
		F32   float32   `json:"f32"`
		Not   string    `json:"-"`
	}
)

func (textual) MarshalText() ([]byte, error) { return []byte("textual"), nil }

func FuzzStructWriter(f *testing.F) {
	w := newStructWriter(reflect.TypeFor[plainOut]())
	f.Add("text", "é\n\"", true, int64(-7), uint64(math.MaxUint64), 5.5)
	f.Add("\u2028<&>\x00", "\xff", false, int64(math.MinInt64), uint64(0), 1e21)
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-6, 1.1e-6, 1e20, 123456789.125, math.NaN(), math.Inf(1), math.MaxFloat64, 0.1, 1 << 53, 99999999999999999999} {
		f.Add("", "", true, int64(1), uint64(1), x)
	}
	f.Fuzz(func(t *testing.T, text, named string, yes bool, n int64, u uint64, x float64) {
		out := plainOut{text, namedText(named), yes, int8(n), n, u, x, float32(x), "not"}
		got, ok := w.append(nil, reflect.ValueOf(out))
		if !ok {
			return
		}
		want, err := json.Marshal(out, json.Deterministic(true))
		if err != nil || string(got) != string(want) {
			t.Errorf("got %s\nwant %s, %v", got, want, err)
		}
	})
}

func TestStructWriterTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of    reflect.Type
		plain bool
	}{
		{reflect.TypeFor[plainOut](), true},
		{reflect.TypeFor[struct{ A int }](), true},
		{reflect.TypeFor[struct{}](), false},
		{reflect.TypeFor[*struct{ A int }](), false},
		{reflect.TypeFor[map[string]int](), false},
		{reflect.TypeFor[struct{ A textual }](), false},
		{reflect.TypeFor[struct{ A []int }](), false},
		{reflect.TypeFor[struct {
			A int `json:",omitzero"`
		}](), false},
		{reflect.TypeFor[struct {
			A int `json:"x,string"`
		}](), false},
	} {
		if got := newStructWriter(tt.of) != nil; got != tt.plain {
			t.Errorf("%s: %v", tt.of, got)
		}
	}
}
