package rpc_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want []string
	}{
		{``, nil},
		{`[1]`, nil},
		{`{}`, nil},
		{` { "a" : 1 , "b\n" : {"c":[]} , "" : "\"}" } `, []string{"a=1", "b\n={\"c\":[]}", "=\"\\\"}\""}},
		{`{"\u0061":null,"é":-1.5e3}`, []string{"a=null", "é=-1.5e3"}},
	}
	for _, tt := range tests {
		var got []string
		for name, v := range rpc.Members(jsontext.Value(tt.in)) {
			got = append(got, string(name)+"="+string(v))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.in, diff)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`[]`: nil, ` [ ] `: nil, `{}`: nil, `1`: nil, ``: nil, `[`: nil, `[1`: {"1"},
		`[1]`: {"1"}, `[ 1 , "a,]" ,[2,[3]],{"a":[4]} , null]`: {"1", `"a,]"`, "[2,[3]]", `{"a":[4]}`, "null"},
	} {
		var got []string
		for v := range rpc.Elements(jsontext.Value(in)) {
			got = append(got, string(v))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

func TestMembersEndsWhenTold(t *testing.T) {
	t.Parallel()
	n := 0
	for range rpc.Members(jsontext.Value(`{"a":1,"b":2}`)) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d members", n)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", `"`, `\`, "\x1f", "\x7f", "é", "\xff", strings.Repeat("x", 17) + "\n", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, _ := jsontext.AppendQuote(nil, s)
		if got := rpc.AppendString(nil, s); string(got) != string(want) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	})
}
