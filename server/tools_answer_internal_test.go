package server

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// An answer is sent as the result that it stands for is, in every revision.
func TestToolAnswer(t *testing.T) {
	t.Parallel()
	s := New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	for _, r := range mcp.Revisions() {
		c := &Call{Version: r.Version, session: &session{server: s}, req: &rpc.Request{Method: mcp.MethodToolsCall}, meta: &noMeta}
		row, _ := mcp.MethodByName(mcp.MethodToolsCall)
		c.Method = &row
		finish := era(legacy{}).finish
		if r.Version.Modern() {
			finish = modern{}.finish
		}
		text := func(res any) string {
			out, err := finish(t.Context(), c, res, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := rpc.AppendMessage(nil, &rpc.Response{ID: rpc.IntID(1), Result: out})
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		for _, a := range []toolAnswer{
			{text: "plain"},
			{text: "with \"quotes\", \n and \xff"},
			{structured: jsontext.Value(`{"sum":5.5,"text":"a\nb"}`)},
			{structured: jsontext.Value(`[1,2]`)},
			{structured: jsontext.Value(`null`)},
		} {
			if got, want := text(&a), text(a.result()); got != want {
				t.Errorf("%s: got %s\nwant %s", r.Version, got, want)
			}
		}
	}
}

func TestToolAnswerInvalid(t *testing.T) {
	t.Parallel()
	a := &toolAnswer{structured: jsontext.Value(`{"sum":`)}
	if b, err := a.AppendJSON([]byte("x")); err == nil || string(b) != "x" {
		t.Errorf("got %s, %v", b, err)
	}
}
