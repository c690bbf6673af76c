package rpc_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", `"\/`, "a\x00b\x1f\x7f", "é🙂\u2028", "cut \xc3", "\xff\xfe", strings.Repeat("long enough for words of eight\n", 9)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := rpc.AppendString([]byte("x"), s)
		want, _ := jsontext.AppendQuote([]byte("x"), s)
		if string(quoted) != string(want) {
			t.Fatalf("%q is written as %s, and by the library as %s", s, quoted, want)
		}
		if got, ok := rpc.Unquote(quoted[1:]); !ok || utf8.ValidString(s) && got != s {
			t.Fatalf("%s is read as %q, %v", quoted, got, ok)
		}
	})
}

// What comes behind a string does not matter, nor how long either is.
func TestReadString(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "\\", "\"é\n", "\U0001f642 b"} {
		for _, n := range []int{0, 1, 100, 70_000} {
			want := strings.Repeat(unit, n)
			v := jsontext.Value(rpc.AppendString(nil, want))
			for _, rest := range []string{"", ` ,"more":"\u0041"}`, strings.Repeat(`"`, 70_000)} {
				if got, size := rpc.ReadString(append(slices.Clip(v), rest...)); got != want || size != len(v) {
					t.Errorf("%d times %q before %.10q: %d of %d bytes are read as %d", n, unit, rest, size, len(v), len(got))
				}
			}
		}
	}
	for _, v := range []string{"", `"`, `"a`, `"\`, `"\"`, `"\u12`, `7`, `"` + strings.Repeat(`\`, 70_000)} {
		if got, size := rpc.ReadString(jsontext.Value(v)); size != 0 {
			t.Errorf("%.20s is read as %q", v, got)
		}
	}
}

func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`""`, `"a"`, `"\u00e9\ud83d\ude42\n\/\\\""`, `"\b\f\n\r\t"`, `"\ud83d"`, `"é\u0000"`, `7`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := jsontext.Value(s)
		if !v.IsValid() || len(v) == 0 || v[0] != '"' || v[len(v)-1] != '"' {
			_, _ = rpc.Unquote(v) // must not panic
			return
		}
		want, err := jsontext.AppendUnquote(nil, v)
		if got, ok := rpc.Unquote(v); err == nil && (!ok || got != string(want)) {
			t.Fatalf("%s is read as %q, %v, and by the library as %q", v, got, ok, want)
		}
	})
}
