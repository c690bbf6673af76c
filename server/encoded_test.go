package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
)

// Lists are encoded once and served as text; a change of the features, another
// revision, another page and middleware are seen all the same.
func TestEncodedLists(t *testing.T) {
	t.Parallel()
	s := withEcho(&server.Options{PageSize: 2})
	old, now := dial(t, s), dial(t, s)
	old.initialize(mcp.V20241105, "{}")
	list := func(w *wire, params string) string { return w.must("tools/list", params) }
	params := `{` + meta("{}", "") + `}`
	first := list(now, params)
	if again := list(now, params); again != first || !strings.Contains(first, `"resultType":"complete"`) {
		t.Errorf("the second time:\n%s\nthe first:\n%s", again, first)
	}
	if legacy := list(old, ""); strings.Contains(legacy, "resultType") || !strings.Contains(legacy, `"echo"`) {
		t.Errorf("legacy: %s", legacy)
	}
	for i := range 4 {
		server.AddTool(s, mcp.Tool{Name: fmt.Sprint("t", i)}, echo)
	}
	page := decode[mcp.ListToolsResult](t, now.must("tools/list", params))
	if len(page.Tools) != 2 || page.NextCursor == nil {
		t.Fatalf("after a change: %+v", page)
	}
	next := decode[mcp.ListToolsResult](t, now.must("tools/list", `{"cursor":"`+*page.NextCursor+`",`+meta("{}", "")+`}`))
	if len(next.Tools) != 2 || next.Tools[0].Name == page.Tools[0].Name {
		t.Errorf("the next page: %+v", next)
	}
	s.Use(func(next server.Handler) server.Handler {
		return func(ctx context.Context, c *server.Call) (any, error) {
			res, err := next(ctx, c)
			if list, ok := res.(*mcp.ListToolsResult); ok {
				list.Tools = list.Tools[:1]
			}
			return res, err
		}
	})
	if page := decode[mcp.ListToolsResult](t, now.must("tools/list", params)); len(page.Tools) != 1 {
		t.Errorf("with middleware: %+v", page)
	}
}

func BenchmarkListTools(b *testing.B) {
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	for i := range 200 {
		server.AddTool(s, mcp.Tool{Name: fmt.Sprint("t", i)}, echo)
	}
	req := &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodToolsList, Params: jsontext.Value(`{` + meta("{}", "") + `}`)}
	h := s.Bind(b.Context(), nil)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		res, err := h.Handle(b.Context(), req, nil)
		if err != nil {
			b.Fatal(err)
		}
		if buf, err = rpc.AppendMessage(buf[:0], &rpc.Response{ID: req.ID, Result: res}); err != nil {
			b.Fatal(err)
		}
	}
}
