package cli

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const orderSchema = `{"type":"object","properties":{
	"note":{"type":"string"},
	"zip":{"type":"string"},
	"count":{"type":"integer"},
	"price":{"type":"number"},
	"gift":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},
	"to":{"type":"object"},
	"size":{"enum":["s","m"]},
	"limit":{"anyOf":[{"type":"integer"},{"type":"null"}]},
	"key":{"type":["string","integer"]},
	"any":{}
},"required":["zip"]}`

func TestArguments(t *testing.T) {
	t.Parallel()
	sig := newSignature("order", jsontext.Value(orderSchema))
	if got, want := sig.String(), "order(zip: str, [note: str, count: int, price: num, gift: bool, tags: str[], to: obj, "+
		"size: str, limit: int|null, key: str|int, any: any])"; got != want {
		t.Errorf("signature\n got %s\nwant %s", got, want)
	}
	tests := []struct{ words, want, wantErr string }{
		{words: "zip=01234", want: `{"zip":"01234"}`},
		{words: "zip=", want: `{"zip":""}`},
		{words: "zip=a=b", want: `{"zip":"a=b"}`},
		{words: "zip=1 count=2 price=1.50 gift=true", want: `{"zip":"1","count":2,"price":1.50,"gift":true}`},
		{words: `zip=1 tags=["a"] to={"a":1}`, want: `{"zip":"1","tags":["a"],"to":{"a":1}}`},
		{words: "zip=1 size=m limit=null any=7", want: `{"zip":"1","size":"m","limit":null,"any":7}`},
		{words: "zip=1 limit=5 any=seven", want: `{"zip":"1","limit":5,"any":"seven"}`},
		{words: "zip=1 key=5", want: `{"zip":"1","key":5}`},
		{words: "zip=1 key=five", want: `{"zip":"1","key":"five"}`},
		{words: "zip=1 count=12345678901234567890", want: `{"zip":"1","count":12345678901234567890}`},
		{words: `zip:="x" any:=[1]`, want: `{"zip":"x","any":[1]}`},
		{words: `{"zip":"1","new":null}`, want: `{"zip":"1","new":null}`},

		{words: "", wantErr: `argument "zip" is missing`},
		{words: "zip", wantErr: "is not key=value"},
		{words: "=1", wantErr: "is not key=value"},
		{words: "zip=1 zip=2", wantErr: "given twice"},
		{words: "zip=1 cuont=2", wantErr: `did you mean "count"?`},
		{words: "zip=1 cuont:=2", wantErr: `did you mean "count"?`},
		{words: "zip=1 else:=2", wantErr: `has no argument "else"`},
		{words: ":=1", wantErr: "is not key=value"},
		{words: "zip=1 count=two", wantErr: `"two" is not integer`},
		{words: "zip=1 gift=1", wantErr: `"1" is not boolean`},
		{words: "zip=1 tags=a", wantErr: `"a" is not array; write JSON: tags:='["a", "b"]'`},
		{words: "zip=1 to=x", wantErr: `"x" is not object; write JSON: to:='{"key": "value"}'`},
		{words: "zip:=x", wantErr: "is not JSON"},
		{words: `{"zip"`, wantErr: "JSON object"},
	}
	for _, tt := range tests {
		got, err := sig.arguments(strings.Fields(tt.words))
		if tt.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) || exitCode(err) != exitUsage {
				t.Errorf("%s: got error %v, want a usage error with %q", tt.words, err, tt.wantErr)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.words, got, err, tt.want)
		}
	}
}

func TestNullArguments(t *testing.T) {
	t.Parallel()
	sig := newSignature("x", jsontext.Value(`{"type":"object","properties":{"must":{"type":"integer"},"may":{"type":"integer"},
		"name":{"type":"string"},"pick":{"enum":["a","b",null]},"rows":{"type":"array","items":{"type":"integer"}},
		"maybe":{"type":["string","null"]}},"required":["must"]}`))
	for words, want := range map[string]string{
		"must=1 may=null":     `{"must":1}`,
		"must=1 may:=null":    `{"must":1,"may":null}`,
		"must=1 rows=null":    `{"must":1}`,
		"must=1 name=null":    `{"must":1,"name":"null"}`,
		"must=1 pick=null":    `{"must":1,"pick":null}`,
		"must=1 pick=b":       `{"must":1,"pick":"b"}`,
		"must=1 maybe=null":   `{"must":1,"maybe":null}`,
		"must=null":           `"null" is not integer`,
		"must=1 rows=1,2":     `"1,2" is not array; write JSON: rows:='[1, 2]'`,
		"may=null must=1 a=1": "has no argument",
	} {
		got, err := sig.arguments(strings.Fields(words))
		if strings.HasPrefix(want, "{") {
			if err != nil || string(got) != want {
				t.Errorf("%s: got %s, %v, want %s", words, got, err, want)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", words, err, want)
		}
	}
}

// Whatever a server says its schema is, arguments can be given somehow.
func TestArgumentsOfOddSchemas(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, `null`, `7`, `{}`, `{"properties":[]}`, `{"properties":{"a":7}}`, `{"properties":{"a":{"type":7}}}`,
		`{"type":"object","additionalProperties":true,"properties":{"b":{"type":"string"}}}`,
	} {
		sig := newSignature("x", jsontext.Value(in))
		if got, err := sig.arguments([]string{"a=1"}); err != nil || string(got) != `{"a":1}` {
			t.Errorf("schema %s: got %s, %v", in, got, err)
		}
	}
	sig := newSignature("x", jsontext.Value(`{"type":"object","additionalProperties":false}`))
	if _, err := sig.arguments([]string{"a=1"}); exitCode(err) != exitUsage {
		t.Errorf("closed schema: got %v, want a usage error", err)
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é 日本\n\tx":       "plain é 日本\n\tx",
		"\x1b[2J\a\r":           `\x1b[2J\x07\x0d`,
		"a\u202egnp.exe":        `a\u{202e}gnp.exe`,
		"\u009b31m":             `\x9b31m`,
		"bad \xff utf8 \uFFFD":  `bad \xff utf8 ` + "\uFFFD",
		"tag \U000E0041":        `tag \u{e0041}`,
		"👩\u200d💻 stays joined": "👩\u200d💻 stays joined",
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
	if got := escapeLine(" two\n lines\x1b"); got != `two lines\x1b` {
		t.Errorf("escapeLine: %q", got)
	}
}
