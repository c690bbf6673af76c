package streamhttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the caller has set in a session is so in the next one, too.
func TestForgottenSettings(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	var gone atomic.Bool // a resource, when the server is there again
	s.then = func(w http.ResponseWriter, _ *http.Request, p post) {
		if gone.Load() && strings.Contains(p.Body, "a://gone") {
			w.Header().Set("Content-Type", jsonType)
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"no"}}`, p.req.ID)
			return
		}
		reply(w, jsonType, result(p.req.ID, `{}`))
	}
	f := serve(t, s.script)
	c := f.dial(t, nil)
	if err := handshake(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, set := range [][2]string{
		{"resources/subscribe", `{"uri":"a://two"}`},
		{"resources/subscribe", `{"uri":"a://left"}`},
		{"logging/setLevel", `{"level":"info"}`},
		{"resources/subscribe", `{"uri":"a://one"}`},
		{"resources/subscribe", `{"uri":"a://gone"}`},
		{"resources/unsubscribe", `{"uri":"a://left"}`},
		{"logging/setLevel", `{"level":"error"}`},
		{"tools/call", `{"name":"t"}`},
	} {
		if _, err := call(t.Context(), c, legacy, set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	gone.Store(true)
	for _, session := range []string{"s2", "s3"} {
		s.forget()
		if _, err := call(t.Context(), c, legacy, "tools/list", ""); err != nil {
			t.Fatal(err)
		}
		var got []string
		ids := map[string]bool{}
		for _, p := range f.all() {
			if p.Header.Get("Mcp-Session-Id") != session || p.HTTP != "POST" {
				continue
			}
			got = append(got, p.Method+" "+string(p.req.Params))
			if id := p.req.ID; !id.IsZero() && ids[id.String()] {
				t.Errorf("ID %s twice in one session", id)
			} else {
				ids[id.String()] = true
			}
			if p.Header.Get("Mcp-Protocol-Version") != legacy {
				t.Errorf("%s without the header of the revision", p.Method)
			}
		}
		want := []string{
			"notifications/initialized ", `logging/setLevel {"level":"error"}`, `resources/subscribe {"uri":"a://gone"}`,
			`resources/subscribe {"uri":"a://one"}`, `resources/subscribe {"uri":"a://two"}`, "tools/list ",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", session, d)
		}
	}
	if n := len(f.seen("tools/call")); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
}
