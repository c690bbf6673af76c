package recording

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestRedactJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{"a":1,"b":[true,null,1.50,12345678901234567890]}`, `{"a":1,"b":[true,null,1.50,12345678901234567890]}`},
		{
			`{"password":"p","apiKey":"k","accessToken":"t","nested":{"client_secret":"s"}}`,
			`{"password":"[redacted]","apiKey":"[redacted]","accessToken":"[redacted]","nested":{"client_secret":"[redacted]"}}`,
		},
		{`{"tokens":["a"],"token":["a","b"],"secret":""}`, `{"tokens":["a"],"token":["[redacted]","[redacted]"],"secret":""}`},
		{`{"_meta":{"progressToken":"p"},"nextCursor":"c","max_tokens":5,"tokenizer":"x"}`, `{"_meta":{"progressToken":"p"},"nextCursor":"c","max_tokens":5,"tokenizer":"x"}`},
		// A schema describes a secret and has none.
		{`{"properties":{"password":{"type":"string"}},"required":["password"]}`, `{"properties":{"password":{"type":"string"}},"required":["password"]}`},
		{`{"text":"use Bearer abcdefgh12345 now"}`, `{"text":"use [redacted] now"}`},
		{`{"text":"ghp_abcdefghijklmnopqrstuvwxyz"}`, `{"text":"[redacted]"}`},
		{`{"url":"https://u:p@example.com/x?access_token=abc&q=1"}`, `{"url":"https://[redacted]@example.com/x?access_token=[redacted]&q=1"}`},
		{`{"Authorization":"x","Cookie":"y","Mcp-Session-Id":"z"}`, `{"Authorization":"[redacted]","Cookie":"[redacted]","Mcp-Session-Id":"[redacted]"}`},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`"alone"`, `"alone"`},
		{`{"broken`, `"{\"broken"`},
	}
	for _, tt := range tests {
		if got := RedactJSON(jsontext.Value(tt.in)); string(got) != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestWriterRedacts(t *testing.T) {
	t.Parallel()
	frame := Frame{Dir: FromClient, Kind: HTTP, HTTP: &Trip{
		Method: "POST", Path: "/mcp?token=abc", Sent: map[string]string{"Authorization": "Bearer x", "Accept": "*/*"},
	}}
	for _, raw := range []bool{false, true} {
		var out bytes.Buffer
		w, err := NewWriter(&out, Header{Target: "t"}, raw)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(frame)
		w.Write(Frame{Dir: FromServer, Kind: Stderr, Text: "key AKIAABCDEFGHIJKLMNOP"})
		rec, err := Read(&out)
		if err != nil || w.Err() != nil || len(rec.Frames) != 2 {
			t.Fatal(err, w.Err(), rec)
		}
		sent := rec.Frames[0].HTTP
		want := map[bool][]string{false: {Gone, "*/*", "/mcp?token=" + Gone, "key " + Gone}, true: {"Bearer x", "*/*", "/mcp?token=abc", "key AKIAABCDEFGHIJKLMNOP"}}[raw]
		if diff := cmp.Diff(want, []string{sent.Sent["Authorization"], sent.Sent["Accept"], sent.Path, rec.Frames[1].Text}); diff != "" {
			t.Errorf("raw %t: %s", raw, diff)
		}
	}
	if frame.HTTP.Sent["Authorization"] != "Bearer x" {
		t.Error("the caller's frame was changed")
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const head = `{"mcprec":1,"start":"2026-01-02T03:04:05Z"}` + "\n"
	const frame = `{"t":1,"dir":"c2s","kind":"message","msg":{"jsonrpc":"2.0","method":"x"}}` + "\n"
	rec, err := Read(strings.NewReader(head + frame + "\n" + frame + `{"t":2,"dir`))
	if err != nil || len(rec.Frames) != 2 {
		t.Errorf("%v, %v: want two frames, and the line that is cut off left out", rec, err)
	}
	for _, text := range []string{"", "{}\n", "hello\n", `{"mcprec":2}` + "\n", head + "nonsense\n" + frame} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: error %v, want ErrFormat", text, err)
		}
	}
}

func TestCopyLines(t *testing.T) {
	t.Parallel()
	const text = "one\r\ntwo\n\nlast"
	for name, src := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "data and error": iotest.DataErrReader(strings.NewReader(text)),
	} {
		var out bytes.Buffer
		var lines []string
		if err := CopyLines(&out, src, func(l []byte) { lines = append(lines, string(l)) }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string{"one", "two", "", "last"}, lines); diff != "" || out.String() != text {
			t.Errorf("%s: copied %q %s", name, out.String(), diff)
		}
	}
	broken := errors.New("broken")
	if err := CopyLines(io.Discard, iotest.ErrReader(broken), func([]byte) {}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the source", err)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []string{`{ "jsonrpc" : "2.0" }`, "Server started", "", `{"half`, `[{"a":1}]`} {
		w.Line(FromServer, []byte(l))
	}
	rec, err := Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range rec.Frames {
		got = append(got, string(f.Kind)+" "+f.Text+string(f.Msg))
	}
	want := []string{`message {"jsonrpc":"2.0"}`, "noise Server started", `noise {"half`, `message [{"a":1}]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func frames(t *testing.T, lines ...string) *Recording {
	t.Helper()
	rec, err := Read(strings.NewReader(`{"mcprec":1}` + "\n" + strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestCalls(t *testing.T) {
	t.Parallel()
	rec := frames(t,
		`{"t":1,"dir":"c2s","kind":"message","msg":{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7}}}}`,
		`{"t":2,"dir":"c2s","kind":"message","msg":{"id":"1","method":"ping"}}`,
		`{"t":3,"dir":"s2c","kind":"message","msg":{"method":"notifications/progress","params":{"progressToken":7,"progress":1}}}`,
		`{"t":4,"dir":"s2c","kind":"message","msg":{"id":1,"method":"elicitation/create","params":{}}}`,
		`{"t":5,"dir":"s2c","kind":"message","msg":{"id":"1","result":{}}}`,
		`{"t":6,"dir":"s2c","kind":"message","msg":{"method":"notifications/message","params":{"data":"log"}}}`,
		`{"t":7,"dir":"c2s","kind":"message","msg":{"id":1,"result":{"action":"accept"}}}`,
		`{"t":8,"dir":"s2c","kind":"message","msg":{"id":1,"error":{"code":-32603,"message":"no"}}}`,
		`{"t":9,"dir":"s2c","kind":"message","msg":{"id":99,"result":{}}}`,
		`{"t":10,"dir":"c2s","kind":"message","x":5,"msg":{"id":1,"method":"prompts/list"}}`,
		`{"t":11,"dir":"c2s","kind":"message","x":6,"msg":{"id":1,"method":"tools/list"}}`,
		`{"t":12,"dir":"s2c","kind":"message","x":6,"msg":{"id":1,"result":{"tools":[]}}}`,
	)
	calls := rec.Calls()
	if len(calls) != 5 {
		t.Fatalf("%d calls, want 5", len(calls))
	}
	call, ping, question, prompts, tools := calls[0], calls[1], calls[2], calls[3], calls[4]
	if call.Error == nil || call.Error.Code != -32603 || len(call.Meanwhile) != 2 || call.End != 8 || call.Key() != `tools/call {"name":"a"}` {
		t.Errorf("tools/call: %+v", call)
	}
	if string(ping.Result) != "{}" || len(ping.Meanwhile) != 0 {
		t.Errorf("ping: %+v", ping)
	}
	if question.Dir != FromServer || string(question.Result) != `{"action":"accept"}` {
		t.Errorf("elicitation/create: %+v", question)
	}
	if prompts.Answered() || !tools.Answered() {
		t.Error("the answer of one HTTP request was taken for that of another")
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		was, is string
		ignore  []string
		want    []string
	}{
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, nil, nil},
		{`{"total":12}`, `{"total":11}`, nil, []string{"total 12 → 11"}},
		{`{"a":{"b":[1,{"c":"x"}]}}`, `{"a":{"b":[1,{"c":"y"},3]}}`, nil, []string{`a.b[1].c "x" → "y"`, "a.b[2] (nothing) → 3"}},
		{`{"a":{"b":[1,{"c":"x"}]}}`, `{"a":{"b":[1,{"c":"y"},3]}}`, []string{"a.b[*].c", "a.b[2]"}, nil},
		{`{"gone":1}`, `{"new":null}`, nil, []string{"gone 1 → (nothing)", "new (nothing) → null"}},
		{`1`, `"1"`, nil, []string{`1 → "1"`}},
		{`{"_meta":{"x":1}}`, `{}`, Volatile, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, c := range Compare(jsontext.Value(tt.was), jsontext.Value(tt.is), tt.ignore) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s and %s: %s", tt.was, tt.is, diff)
		}
	}
}

// Events are found however the stream is cut into pieces.
func TestEvents(t *testing.T) {
	t.Parallel()
	const stream = ": comment\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"method\":\"a\"}\r\n\r\n" +
		"event: endpoint\ndata: /messages\n\n" + "data: {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\r\r" + "data: {\"jsonrpc\":\"2.0\",\"method\":\"cut off"
	want := []string{`{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b"}`}
	for size := 1; size <= len(stream); size++ {
		var out bytes.Buffer
		w, err := NewWriter(&out, Header{}, false)
		if err != nil {
			t.Fatal(err)
		}
		e := &events{x: &trip{p: &Proxy{rec: w}}}
		for rest := []byte(stream); len(rest) > 0; {
			n := min(size, len(rest))
			e.write(rest[:n])
			rest = rest[n:]
		}
		rec, err := Read(&out)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range rec.Frames {
			got = append(got, string(f.Msg))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pieces of %d: %s", size, diff)
		}
	}
}
