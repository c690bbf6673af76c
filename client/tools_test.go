package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

const headed = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
	"n":{"type":"integer","x-mcp-header":"Count"},"o":{"type":"object","properties":{"b":{"type":"boolean","x-mcp-header":"Dry"}}}}}`

func toolList(tools ...string) string {
	return `{"resultType":"complete","ttlMs":100000,"cacheScope":"private","tools":[` + strings.Join(tools, ",") + `]}`
}

func tool(name, input, output string) string {
	t := fmt.Sprintf(`{"name":%q,"inputSchema":%s`, name, input)
	if output != "" {
		t += `,"outputSchema":` + output
	}
	return t + `}`
}

func TestMirroredParams(t *testing.T) {
	t.Parallel()
	s := &fakeServer{script: answers(mcp.V20260728, map[string]string{
		"tools/list": toolList(tool("a", headed, ""), tool("b", `{"type":"object"}`, "")),
		"tools/call": hi,
	})}
	c := connect(t, s, nil)
	call := func(name, args string) map[string]string {
		t.Helper()
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: jsontext.Value(args)}); err != nil {
			t.Fatal(err)
		}
		all := s.sent("tools/call")
		got := make(map[string]string)
		for k, v := range all[len(all)-1].Header {
			if rest, ok := strings.CutPrefix(k, mcp.HeaderParam); ok {
				got[rest] = v[0]
			}
		}
		if all[len(all)-1].Header.Get("Mcp-Protocol-Version") != "2026-07-28" {
			t.Error("no version")
		}
		return got
	}
	if got := call("a", `{"region":"x"}`); len(got) != 0 {
		t.Errorf("a tool never listed: %v", got)
	}
	if _, err := c.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]map[string]string{
		`{"region":"us-west1","n":42.0,"o":{"b":false}}`: {"Region": "us-west1", "Count": "42", "Dry": "false"},
		`{"region":"日本","n":null}`:                       {"Region": "=?base64?5pel5pys?="},
		`{"region":""}`:                                  {"Region": ""},
		`{"region":7,"o":true}`:                          {},
		`{}`:                                             {},
	} {
		if got := call("a", args); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
	if got := call("b", `{"region":"x"}`); len(got) != 0 {
		t.Errorf("a tool without annotations: %v", got)
	}
	if got := call("a", `null`); len(got) != 0 {
		t.Errorf("no arguments: %v", got)
	}
}

func TestInvalidAnnotations(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, v mcp.Version) {
		t.Helper()
		var log bytes.Buffer
		bad := `{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}`
		s := &fakeServer{script: answers(v, map[string]string{
			"tools/list": toolList(tool("good", headed, ""), tool("bad\ntool", bad, ""), tool("plain", `{"type":"object"}`, "")),
		})}
		c := connect(t, s, &client.Options{Version: v, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		want := 3
		if v.Modern() {
			want = 2
		}
		for range 2 { // from the cache too
			res, err := c.ListTools(t.Context(), nil)
			if err != nil || len(res.Tools) != want {
				t.Fatalf("%d tools, error %v", len(res.Tools), err)
			}
		}
		if v.Modern() != strings.Contains(log.String(), "bad tool") {
			t.Errorf("log: %s", log.String())
		}
	})
}

func TestHeaderMismatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		listed  bool // before the call
		schema  string
		calls   int
		lists   int
		succeed bool
	}{
		"never listed":         {false, headed, 2, 1, true},
		"nothing to mend":      {true, headed, 1, 2, false},
		"no such annotation":   {false, `{"type":"object"}`, 1, 1, false},
		"invalid by now":       {false, `{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`, 1, 1, false},
		"of no use, two times": {false, strings.ReplaceAll(headed, "Region", "Other"), 2, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accept := tt.succeed
			s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
				switch req.Method {
				case mcp.MethodToolsList:
					return toolList(tool("a", tt.schema, "")), nil
				case mcp.MethodToolsCall:
					if accept && req.Header.Get("Mcp-Param-Region") == "x" {
						return hi, nil
					}
					return nil, &statusError{400, mcp.HeaderMismatch("Mcp-Param-Region")}
				}
				return greeting(mcp.V20260728, req)
			}}
			c := connect(t, s, nil)
			if tt.listed {
				if _, err := c.ListTools(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a", Arguments: jsontext.Value(`{"region":"x"}`)})
			if (err == nil) != tt.succeed || err != nil && !errors.Is(err, mcp.ErrHeaderMismatch) {
				t.Errorf("error %v", err)
			}
			if calls, lists := len(s.sent("tools/call")), len(s.sent("tools/list")); calls != tt.calls || lists != tt.lists {
				t.Errorf("%d calls and %d lists, want %d and %d", calls, lists, tt.calls, tt.lists)
			}
		})
	}
}

func TestOutputCheck(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	deep := strings.Repeat(`{"allOf":[`, 70) + `{}` + strings.Repeat(`]}`, 70)
	bomb := `{"$defs":{` + func() string {
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		return b.String()
	}() + `"d30":{}},"$ref":"#/$defs/d0"}`
	const costly = `{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["x"]},{"properties":{"a":{"$ref":"#"}},"required":["y"]}]}`
	for name, tt := range map[string]struct {
		schema, result string
		bad            bool
		silent         bool // at the default level of the log
	}{
		"fits":             {schema, `"structuredContent":{"n":1}`, false, true},
		"breaks it":        {schema, `"structuredContent":{"n":"topsecret"}`, true, false},
		"missing":          {schema, `"content":[]`, true, false},
		"an error":         {schema, `"structuredContent":{"n":"x"},"isError":true`, false, true},
		"any value":        {`{"type":"array"}`, `"structuredContent":[1]`, false, true},
		"null is a value":  {`{"type":"null"}`, `"structuredContent":null`, false, true},
		"null breaks it":   {schema, `"structuredContent":null`, true, false},
		"elsewhere":        {`{"$ref":"https://example.com/"}`, `"structuredContent":{}`, false, true},
		"a circle":         {`{"$ref":"#"}`, `"structuredContent":{}`, false, true},
		"a circle of two":  {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `"structuredContent":{}`, false, true},
		"a bomb":           {bomb, `"structuredContent":{}`, false, true},
		"deep":             {deep, `"structuredContent":{}`, false, true},
		"dynamic":          {`{"$dynamicRef":"#x"}`, `"structuredContent":{}`, false, true},
		"nowhere":          {`{"$ref":"#/$defs/none"}`, `"structuredContent":{}`, false, true},
		"no schema at all": {`{"type":7}`, `"structuredContent":{}`, false, true},
		"a tree":           {`{"type":"object","properties":{"kids":{"items":{"$ref":"#"}}}}`, `"structuredContent":{"kids":[{"kids":[]}]}`, false, true},
		"a bad tree":       {`{"type":"object","properties":{"kids":{"items":{"$ref":"#"}}}}`, `"structuredContent":{"kids":[{"kids":[7]}]}`, true, false},
		"a costly tree":    {costly, `"structuredContent":` + strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64), false, true},
		"a reference":      {`{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"array"}}}`, `"structuredContent":{}`, true, false},
	} {
		for _, mode := range []client.OutputCheck{client.WarnOutput, client.StrictOutput, client.SkipOutput} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				s := &fakeServer{script: answers(mcp.V20260728, map[string]string{
					"tools/list": toolList(tool("a", `{"type":"object"}`, tt.schema)),
					"tools/call": `{"resultType":"complete",` + tt.result + `}`,
				})}
				c := connect(t, s, &client.Options{Output: mode, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if _, err := c.ListTools(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"})
				oe, isOutput := errors.AsType[*client.OutputError](err)
				if isOutput != (tt.bad && mode == client.StrictOutput) || !isOutput && err != nil || res == nil {
					t.Errorf("error %v", err)
				}
				if isOutput && (oe.Tool != "a" || oe.Result == nil) {
					t.Errorf("%+v", oe)
				}
				if warned := log.Len() > 0; warned != (mode == client.WarnOutput && !tt.silent) || strings.Contains(log.String(), "topsecret") {
					t.Errorf("log: %s", log.String())
				}
			})
		}
	}
}

func TestToolsForgotten(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["n"]}`
	list := toolList(tool("a", `{"type":"object"}`, schema), tool("b", `{"type":"object"}`, schema))
	s := &fakeServer{script: func(_ context.Context, _ *fakeServer, req *rpc.Request) (any, error) {
		switch req.Method {
		case mcp.MethodToolsList:
			return list, nil
		case mcp.MethodToolsCall:
			return `{"content":[],"structuredContent":{}}`, nil
		}
		return greeting(mcp.V20251125, req)
	}}
	c := connect(t, s, &client.Options{Output: client.StrictOutput, Limits: client.Limits{Tools: 1}})
	check := func(name string, want bool) {
		t.Helper()
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		if (err != nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check("a", true)
	check("b", false) // over Limits.Tools
	list = toolList(tool("a", `{"type":"object"}`, ""))
	if _, err := c.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check("a", false) // has no schema any more
}

func FuzzCallParams(f *testing.F) {
	for _, seed := range []string{`{}`, `{"_meta":{"a":1}}`, `{"requestState":"x","inputResponses":{},"n":[1]}`, ` { "a" : { "_meta" : 1 } } `, `{"\u005fmeta":{"progressToken":3}}`, `null`, `[]`} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, params []byte, modern bool) {
		v := mcp.V20251125
		if modern {
			v = mcp.V20260728
		}
		s := &fakeServer{script: answers(v, map[string]string{"x/y": `{"resultType":"complete"}`})}
		c, err := client.Connect(context.Background(), s, &client.Options{Version: v})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		err = c.Request(t.Context(), "x/y", jsontext.Value(params), nil, client.WithMeta(mcp.Meta{"m": jsontext.Value(`2`)}), client.OnProgress(func(mcp.ProgressParams) {}))
		if err != nil {
			return
		}
		got := s.sent("x/y")[0].Params
		var in, out map[string]jsontext.Value
		if err := json.Unmarshal(got, &out); err != nil {
			t.Fatalf("%q became %q: %v", params, got, err)
		}
		if err := json.Unmarshal(params, &in); err != nil {
			t.Fatalf("%q was sent as %q", params, got)
		}
		for name, raw := range in {
			switch name {
			case "_meta", "inputResponses", "requestState":
				continue
			}
			want, got := raw.Clone(), out[name].Clone()
			if want.Compact() != nil || got.Compact() != nil || string(want) != string(got) {
				t.Errorf("%s: %q became %q", name, raw, out[name])
			}
		}
		var meta map[string]jsontext.Value
		if err := json.Unmarshal(out["_meta"], &meta); err != nil || string(meta["m"]) != "2" {
			t.Errorf("_meta %q: %v", out["_meta"], err)
		}
	})
}
