package rpc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
)

// show writes what Decode returned as a line of text.
func show(m rpc.Message, err error) string {
	if bad := (*rpc.DecodeError)(nil); errors.As(err, &bad) {
		return showBad(bad)
	}
	switch m := m.(type) {
	case *rpc.Request:
		return "request id=" + m.ID.String() + " method=" + m.Method + " params=" + string(m.Params)
	case *rpc.Response:
		if m.Error != nil {
			return "response id=" + m.ID.String() + " error=" + m.Error.Error() + " data=" + string(m.Error.Data)
		}
		return "response id=" + m.ID.String() + " result=" + string(m.Result.(jsontext.Value))
	case *rpc.DecodeError:
		return showBad(m)
	case rpc.Batch:
		var parts []string
		for _, m := range m {
			parts = append(parts, show(m, nil))
		}
		return "[" + strings.Join(parts, "; ") + "]"
	}
	return "nothing"
}

func showBad(bad *rpc.DecodeError) string {
	to := " unanswered"
	if res := bad.Reply(); res != nil {
		to = " answer to " + res.ID.String()
	}
	if bad.Response {
		to = " response to " + bad.ID.String()
	}
	return "bad" + to + ": " + bad.Error()
}

const invalid = " (-32600)"

var decodeTests = []struct{ name, in, want string }{
	{"request", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1]}}`, `request id=1 method=a params={"x":[1]}`},
	{"space around", " \r\n\t{ \"id\" : 1 , \"method\":\"a\" , \"jsonrpc\":\"2.0\" } \n", `request id=1 method=a params=`},
	{"notification", `{"jsonrpc":"2.0","method":"a"}`, `request id= method=a params=`},
	{"result", `{"jsonrpc":"2.0","id":"x","result":{"a":null}}`, `response id="x" result={"a":null}`},
	{"result of any type", `{"jsonrpc":"2.0","id":"x","result":null}`, `response id="x" result=null`},
	{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a\nb","data":{"k":1}}}`, "response id=1 error=a\nb (-1) data={\"k\":1}"},
	{"error with null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}`, "response id= error=m (-1) data="},
	{"error without id", `{"jsonrpc":"2.0","error":{"code":-1,"message":"m","data":null}}`, "response id= error=m (-1) data=null"},
	{"unknown members", `{"jsonrpc":"2.0","id":1,"method":"a","x":{"method":"b"},"Method":"c","ID":null}`, `request id=1 method=a params=`},
	{"escaped names", `{"jsonrp\u0063":"2.0","\u0069d":1,"method":"a"}`, `request id=1 method=a params=`},
	{"escaped method", `{"jsonrpc":"2.0","id":1,"method":"a\u0062\n"}`, "request id=1 method=ab\n params="},
	{"null params", `{"jsonrpc":"2.0","id":1,"method":"a","params":null}`, `request id=1 method=a params=`},
	{"far apart", `{"jsonrpc":"2.0","id":1,"params":{"x":"` + strings.Repeat("y", 200) + `"},"method":"a"}`, `request id=1 method=a params={"x":"` + strings.Repeat("y", 200) + `"}`},
	{"method first", `{"method":"m","jsonrpc":"2.0","id":"i"}`, `request id="i" method=m params=`},

	{"id string", `{"jsonrpc":"2.0","id":"1","method":"a"}`, `request id="1" method=a params=`},
	{"id zero", `{"jsonrpc":"2.0","id":0,"method":"a"}`, `request id=0 method=a params=`},
	{"id negative", `{"jsonrpc":"2.0","id":-7,"method":"a"}`, `request id=-7 method=a params=`},
	{"id empty", `{"jsonrpc":"2.0","id":"","method":"a"}`, `request id="" method=a params=`},
	{"id with escape", `{"jsonrpc":"2.0","id":"a\u0000b","method":"a"}`, `request id="a\u0000b" method=a params=`},
	{"id large", `{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`, `request id=9007199254740993 method=a params=`},
	{"id huge", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"a"}`, `request id=123456789012345678901234567890 method=a params=`},
	{"id null", `{"jsonrpc":"2.0","id":null,"method":"a"}`, `bad answer to : id must be a string or an integer` + invalid},
	{"id fraction", `{"jsonrpc":"2.0","id":1.0,"method":"a"}`, `bad answer to : id must be a string or an integer` + invalid},
	{"id exponent", `{"jsonrpc":"2.0","id":1e3,"method":"a"}`, `bad answer to : id must be a string or an integer` + invalid},
	{"id bool", `{"jsonrpc":"2.0","id":true,"method":"a"}`, `bad answer to : id must be a string or an integer` + invalid},
	{"id object", `{"jsonrpc":"2.0","id":{},"method":"a"}`, `bad answer to : id must be a string or an integer` + invalid},
	{"id array", `{"jsonrpc":"2.0","id":[1],"method":"a"}`, `bad answer to : id must be a string or an integer` + invalid},

	{"no version", `{"id":1,"method":"a"}`, `bad answer to 1: jsonrpc must be "2.0"` + invalid},
	{"version number", `{"jsonrpc":2.0,"id":1,"method":"a"}`, `bad answer to 1: jsonrpc must be "2.0"` + invalid},
	{"version 1", `{"jsonrpc":"1.0","id":1,"method":"a"}`, `bad answer to 1: jsonrpc must be "2.0"` + invalid},
	{"no method", `{"jsonrpc":"2.0","id":1}`, `bad answer to 1: method must be a string` + invalid},
	{"method number", `{"jsonrpc":"2.0","id":1,"method":1}`, `bad answer to 1: method must be a string` + invalid},
	{"params array", `{"jsonrpc":"2.0","id":1,"method":"a","params":[]}`, `bad answer to 1: params must be an object` + invalid},
	{"params string", `{"jsonrpc":"2.0","id":1,"method":"a","params":"x"}`, `bad answer to 1: params must be an object` + invalid},
	{"notification with bad params", `{"jsonrpc":"2.0","method":"a","params":[]}`, `bad unanswered: params must be an object` + invalid},
	{"method and result", `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, `bad answer to 1: a message with a method must have neither result nor error` + invalid},
	{"wrong case", `{"JSONRPC":"2.0","ID":1,"METHOD":"ping"}`, `bad answer to : jsonrpc must be "2.0"` + invalid},
	{"empty object", `{}`, `bad answer to : jsonrpc must be "2.0"` + invalid},
	{"string", `"str"`, `bad answer to : a message must be an object` + invalid},
	{"number", `17`, `bad answer to : a message must be an object` + invalid},
	{"null", `null`, `bad answer to : a message must be an object` + invalid},

	{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, `bad response to 1: a response must not have both result and error` + invalid},
	{"result without version", `{"id":1,"result":{}}`, `bad response to 1: jsonrpc must be "2.0"` + invalid},
	{"result with null id", `{"jsonrpc":"2.0","id":null,"result":{}}`, `bad response to : a result must have an id` + invalid},
	{"result with bad id", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, `bad response to : id must be a string or an integer` + invalid},
	{"error null", `{"jsonrpc":"2.0","id":1,"error":null}`, `bad response to 1: error must be an object` + invalid},
	{"error code string", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}`, `bad response to 1: the code of an error must be an integer` + invalid},
	{"error code fraction", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}`, `bad response to 1: the code of an error must be an integer` + invalid},
	{"error code missing", `{"jsonrpc":"2.0","id":1,"error":{"message":""}}`, `bad response to 1: the code of an error must be an integer` + invalid},
	{"error message missing", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, `bad response to 1: the message of an error must be a string` + invalid},
	{"error message number", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":2}}`, `bad response to 1: the message of an error must be a string` + invalid},

	{"empty", ``, `bad answer to : not valid JSON: unexpected end at byte 0 (-32700)`},
	{"garbage", `garbage`, `bad answer to : not valid JSON: unexpected character at byte 0 (-32700)`},
	{"text behind", `{"jsonrpc":"2.0","id":1,"method":"a"} x`, `bad answer to : not valid JSON: text after the message at byte 38 (-32700)`},
	{"not UTF-8", "\xff\xfe", `bad answer to : not valid JSON: unexpected character at byte 0 (-32700)`},
	{"not UTF-8 inside", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\xff\"}", `bad answer to : not valid JSON: text that is not UTF-8 at byte 35 (-32700)`},
	{"same name twice", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, `bad answer to : not valid JSON: name that occurs twice at byte 37 (-32700)`},
	{"same name twice, escaped", `{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}`, `bad answer to : not valid JSON: name that occurs twice at byte 37 (-32700)`},
	{"same name twice, deep", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[{"y":1,"y":2}]}}`, `bad answer to : not valid JSON: name that occurs twice at byte 59 (-32700)`},
	{"response that is not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}", `bad response to 1: not valid JSON: text that is not UTF-8 at byte 34 (-32700)`},

	{"batch", `[{"jsonrpc":"2.0","id":1,"method":"a"}, {"jsonrpc":"2.0","method":"b"} ]`, `[request id=1 method=a params=; request id= method=b params=]`},
	{
		"bad in batch", `[1,{"id":2},{"jsonrpc":"2.0","id":3,"method":"a"},[]]`,
		`[bad answer to : a message must be an object (-32600); bad answer to 2: jsonrpc must be "2.0" (-32600); request id=3 method=a params=; bad answer to : a message must be an object (-32600)]`,
	},
	{"empty batch", `[ ]`, `bad answer to : a batch must not be empty` + invalid},
	{"broken batch", `[1,2`, `bad answer to : not valid JSON: unexpected end at byte 4 (-32700)`},
	{"large batch", `[` + strings.Repeat(`1,`, 256) + `1]`, `bad answer to : a batch must not have more than 256 messages` + invalid},
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range decodeTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, show(rpc.Decode([]byte(test.in), rpc.Limits{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Wherever a message is cut, it is an error and never another message.
func TestDecodeCut(t *testing.T) {
	t.Parallel()
	for _, test := range decodeTests {
		whole := strings.TrimRight(test.in, " \n")
		if test.name == "text behind" {
			continue
		}
		for k := range len(whole) {
			_, err := rpc.Decode([]byte(whole[:k]), rpc.Limits{})
			var bad *rpc.DecodeError
			if !errors.As(err, &bad) {
				if whole[0] == '{' || whole[0] == '[' || whole[0] == '"' {
					t.Errorf("%s cut at %d: error %v", test.in, k, err)
				}
				continue
			}
			if strings.HasPrefix(test.want, "request") && bad.Response {
				t.Errorf("%s cut at %d looks like a response", test.in, k)
			}
		}
	}
}

func TestDecodeStrings(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		`"\ud83d\ude00"`: true, `"\uD83D\uDE00 \/\b\f\n\r\t\"\\"`: true, `"é漢🎉"`: true, `"\u0000"`: true,
		`"\ud83d"`: false, `"\ud83dx"`: false, `"\ud83d\n"`: false, `"\ud83d\u0041"`: false, `"\ude00\ud83d"`: false,
		`"\uzzzz"`: false, `"\u12"`: false, `"\x"`: false, `"\'"`: false, "\"a\nb\"": false, "\"\x00\"": false, "\"\x7f\"": true,
		"\"\xed\xa0\x80\"": false, "\"\xc0\x80\"": false, "\"\xf4\x90\x80\x80\"": false, "\"12345678\xc3\"": false, "\"1234567\x1f\"": false,
		`"12345678\"`: false,
	} {
		text := `{"jsonrpc":"2.0","id":1,"result":` + in + `}`
		if _, err := rpc.Decode([]byte(text), rpc.Limits{}); (err == nil) != ok {
			t.Errorf("%q: error %v, want ok %v", in, err, ok)
		}
	}
}

func TestDecodeNumbers(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		`0`: true, `-0`: true, `10`: true, `0.5`: true, `-1.25e+10`: true, `1E-2`: true, `1e0`: true,
		`01`: false, `-`: false, `+1`: false, `.5`: false, `1.`: false, `1e`: false, `1e+`: false, `0x1`: false, `NaN`: false, `--1`: false, `1.e1`: false,
	} {
		text := `{"jsonrpc":"2.0","id":1,"result":` + in + `}`
		if _, err := rpc.Decode([]byte(text), rpc.Limits{}); (err == nil) != ok {
			t.Errorf("%q: error %v, want ok %v", in, err, ok)
		}
	}
}

func TestDecodeManyNames(t *testing.T) {
	t.Parallel()
	names := func(n int, last string) string {
		var b strings.Builder
		b.WriteString(`{"jsonrpc":"2.0","method":"a","params":{`)
		for k := range n {
			b.WriteString(`"name` + rpc.IntID(int64(k)).String() + `":{"name1":1},`)
		}
		return b.String() + `"` + last + `":1}}`
	}
	for _, n := range []int{3, 7, 8, 9, 20, 5000} {
		if _, err := rpc.Decode([]byte(names(n, "other")), rpc.Limits{}); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		for _, last := range []string{"name0", `n\u0061me1`, "name2"} {
			if _, err := rpc.Decode([]byte(names(n, last)), rpc.Limits{}); err == nil {
				t.Errorf("%d names and %s again: no error", n, last)
			}
		}
	}
}

func TestDecodeDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte {
		return []byte(`{"jsonrpc":"2.0","method":"a","params":{"x":` + strings.Repeat("[", n-2) + strings.Repeat("]", n-2) + `}}`)
	}
	for _, test := range []struct {
		limit, depth int
		ok           bool
	}{{0, 128, true}, {0, 129, false}, {3, 3, true}, {3, 4, false}, {-1, 10_000, true}, {-1, 10_001, false}, {-1, 1_000_000, false}} {
		if _, err := rpc.Decode(nested(test.depth), rpc.Limits{Depth: test.limit}); (err == nil) != test.ok {
			t.Errorf("depth %d with limit %d: error %v", test.depth, test.limit, err)
		}
	}
}

func TestDecodeTooLarge(t *testing.T) {
	t.Parallel()
	fill := strings.Repeat("x", 100)
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":3,"result":"` + fill:              "bad response to 3",
		`{"jsonrpc":"2.0","id":3,"error":{"message":"` + fill:    "bad response to 3",
		`{"result":"` + fill:                                     "bad response to ",
		`{"jsonrpc":"2.0","id":4,"method":"a","params":"` + fill: "bad answer to 4",
		`{"jsonrpc":"2.0","method":"a","params":"` + fill:        "bad answer to ",
		fill: "bad answer to ",
	} {
		_, err := rpc.Decode([]byte(in), rpc.Limits{MessageBytes: 60})
		if !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("%s: error %v is not ErrTooLarge", in, err)
		}
		if got := show(nil, err); got != want+": message is larger than the limit of 60 bytes (-32600)" {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestParam(t *testing.T) {
	t.Parallel()
	text := ` { "a":1, "b" : {"c":"}"} ,"\u0063":[ "]\"" ,[]],"d":"\\","e":-1.5e3 , "f":{}}`
	req := &rpc.Request{Params: jsontext.Value(text)}
	for name, want := range map[string]string{
		"a": `1`, "b": `{"c":"}"}`, "c": `[ "]\"" ,[]]`, "d": `"\\"`, "e": `-1.5e3`, "f": `{}`, "g": ``, "A": ``,
	} {
		if got := string(req.Param(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for k := range len(text) { // not valid, but no panic either
		(&rpc.Request{Params: jsontext.Value(text[:k])}).Param("zz")
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`1`: `1`, ` "a" `: `"a"`, `-0`: `-0`, ``: ``, `null`: ``, `1.0`: ``, `1e2`: ``, `true`: ``, `{}`: ``, `1 2`: ``, `"a`: ``, `"\ud800"`: ``,
	} {
		id, err := rpc.ParseID(jsontext.Value(in))
		if id.String() != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", in, id, err)
		}
	}
}

type unencodable struct{ C chan int }

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("secret") }

func TestAppendMessage(t *testing.T) {
	t.Parallel()
	id := rpc.IntID(7)
	long := jsontext.Value(`"` + strings.Repeat("x", 100_000) + `"`)
	for _, test := range []struct {
		name string
		m    rpc.Message
		want string
		err  bool
	}{
		{"request", &rpc.Request{ID: id, Method: "a", Params: jsontext.Value(`{"x":1}`)}, `{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":1}}`, false},
		{"notification", &rpc.Request{Method: "é\n"}, `{"jsonrpc":"2.0","method":"é\n"}`, false},
		{"null params", &rpc.Request{Method: "a", Params: jsontext.Value(`null`)}, `{"jsonrpc":"2.0","method":"a"}`, false},
		{"array params", &rpc.Request{Method: "a", Params: jsontext.Value(`[]`)}, ``, true},
		{"broken params", &rpc.Request{Method: "a", Params: jsontext.Value(`{"a"}`)}, ``, true},
		{"two params", &rpc.Request{Method: "a", Params: jsontext.Value(`{}{}`)}, ``, true},
		{"params with breaks", &rpc.Request{Method: "a", Params: jsontext.Value("{\r\n\"a\":\t\"\\u0061\",\n\"n\":1.0}\n")}, `{"jsonrpc":"2.0","method":"a","params":{"a":"\u0061","n":1.0}}`, false},
		{"method not UTF-8", &rpc.Request{Method: "\xff"}, ``, true},
		{"no result", &rpc.Response{ID: id}, `{"jsonrpc":"2.0","id":7,"result":{}}`, false},
		{"empty value", &rpc.Response{ID: id, Result: jsontext.Value(nil)}, `{"jsonrpc":"2.0","id":7,"result":{}}`, false},
		{"result", &rpc.Response{ID: rpc.StringID("a"), Result: map[string]any{"b": 1, "a": []int{}}}, `{"jsonrpc":"2.0","id":"a","result":{"a":[],"b":1}}`, false},
		{"long result", &rpc.Response{ID: id, Result: long}, `{"jsonrpc":"2.0","id":7,"result":` + string(long) + `}`, false},
		{"long values", &rpc.Response{ID: id, Result: []any{long, "\xff"}}, `{"jsonrpc":"2.0","id":7,"result":[` + string(long) + `,"` + "\ufffd" + `"]}`, false},
		{"numbers as they are", &rpc.Response{ID: id, Result: jsontext.Value(`[123456789012345678901234567890,0.1000000000000000055511151231257827]`)}, `{"jsonrpc":"2.0","id":7,"result":[123456789012345678901234567890,0.1000000000000000055511151231257827]}`, false},
		{"result that cannot be encoded", &rpc.Response{ID: id, Result: []any{"begun", unencodable{make(chan int)}}}, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}`, true},
		{"result that panics", &rpc.Response{ID: id, Result: []any{"begun", panics{}}}, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}`, true},
		{"result that is not JSON", &rpc.Response{ID: id, Result: jsontext.Value(`{`)}, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}`, true},
		{"error", &rpc.Response{Error: rpc.Errorf(-1, "a\xff").WithData([]int{1})}, `{"jsonrpc":"2.0","error":{"code":-1,"message":"a` + "\ufffd" + `","data":[1]}}`, false},
		{"error with bad data", &rpc.Response{Error: &rpc.Error{Code: 1, Data: jsontext.Value("x")}}, `{"jsonrpc":"2.0","error":{"code":1,"message":""}}`, false},
		{"batch", rpc.Batch{&rpc.Response{ID: id}, &rpc.Request{Method: "a"}}, `[{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","method":"a"}]`, false},
		{"batch with one that cannot be encoded", rpc.Batch{&rpc.Response{ID: id, Result: make(chan int)}, &rpc.Response{ID: id}}, `[{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}},{"jsonrpc":"2.0","id":7,"result":{}}]`, true},
		{"batch with bad request", rpc.Batch{&rpc.Response{ID: id}, &rpc.Request{Method: "a", Params: jsontext.Value(`[]`)}}, ``, true},
		{"empty batch", rpc.Batch{}, ``, true},
		{"batch in batch", rpc.Batch{rpc.Batch{&rpc.Response{ID: id}}}, ``, true},
		{"nothing", nil, ``, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := rpc.AppendMessage([]byte("before "), test.m)
			if (err != nil) != test.err {
				t.Errorf("error %v", err)
			}
			if errors.Is(err, rpc.ErrResult) != (test.err && test.want != "") {
				t.Errorf("error %v and text %q", err, test.want)
			}
			if diff := cmp.Diff("before "+test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeResult(t *testing.T) {
	t.Parallel()
	type point struct {
		X int `json:"x"`
	}
	res := &rpc.Response{Result: jsontext.Value(`{"x":1,"X":2}`)}
	var p point
	var raw jsontext.Value
	if err := rpc.DecodeResult(res, &p); err != nil || p.X != 1 {
		t.Errorf("%v, %v", p, err)
	}
	if err := rpc.DecodeResult(res, &raw); err != nil || string(raw) != `{"x":1,"X":2}` {
		t.Errorf("%s, %v", raw, err)
	}
	if err := rpc.DecodeResult(res, nil); err != nil {
		t.Error(err)
	}
	var list []int
	if err := rpc.DecodeResult(res, &list); err == nil {
		t.Error("an object was decoded into a list")
	}
	if err := rpc.DecodeResult(&rpc.Response{Error: rpc.Errorf(5, "x")}, &p); !errors.Is(err, &rpc.Error{Code: 5}) {
		t.Error(err)
	}
}

// A typical request costs the request, and one string for ID and method; the race
// detector adds to it.
//
//nolint:paralleltest // it counts the allocations of the process
func TestDecodeAllocs(t *testing.T) {
	text := []byte(typicalRequest)
	if n := testing.AllocsPerRun(100, func() { _, _ = rpc.Decode(text, rpc.Limits{}) }); n > 3 {
		t.Errorf("%v allocations", n)
	}
}

const typicalRequest = `{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"echo","arguments":{"message":"a message of ordinary length, with é in it","count":3},"_meta":{"progressToken":"abc"}}}`

func BenchmarkDecodeLargeResult(b *testing.B) {
	item := `{"name":"tool","description":"` + strings.Repeat("words and words ", 20) + `","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}}`
	text := []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Repeat(item+",", 999) + item + `]}}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rpc.Decode(text, rpc.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
