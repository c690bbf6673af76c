package mcp_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// envelope is a message as the examples write it.
type envelope struct {
	JSONRPC string         `json:"jsonrpc,omitzero"`
	ID      rpc.ID         `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *rpc.Error     `json:"error,omitzero"`
}

// saysFalse removes what is the same when it is left out.
var saysFalse = strings.NewReplacer(`,"isError":false`, "", `"hasMore":false,`, "")

func TestExamples(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t)
	root := filepath.Join(dir, string(mcp.V20260728), "examples")
	validate := newValidator(t, dir, string(mcp.V20260728), asItIs)
	files, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d examples in %s: %v", len(files), root, err)
	}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			def := filepath.Dir(name)
			got := reencode(t, def, text)
			want := saysFalse.Replace(canonical(t, string(text)))
			if got := canonical(t, got); got != want {
				t.Errorf("want %s\ngot  %s", want, got)
			}
			if err := validate("", def, []byte(got)); err != nil {
				t.Error(err)
			}
		})
	}
}

// reencode decodes the text of an example into the Go type of its definition,
// and encodes it again.
func reencode(t *testing.T, def string, text []byte) string {
	t.Helper()
	switch def {
	case "InputRequests":
		return recode(t, text, new(mcp.InputRequests))
	case "InputResponses":
		return recode(t, text, new(mcp.InputResponses))
	}
	if v := goTypes()[def]; v != nil {
		return recode(t, text, reflect.New(reflect.TypeOf(v)).Interface())
	}
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	if e.Params != nil {
		params := paramsTypes()[e.Method]
		if params == nil {
			t.Fatalf("no params of %q", e.Method)
		}
		e.Params = jsontext.Value(recode(t, e.Params, reflect.New(reflect.TypeOf(params)).Interface()))
	}
	if e.Result != nil {
		result := goTypes()[strings.TrimSuffix(def, "Response")]
		if result == nil {
			t.Fatalf("no result for %s", def)
		}
		e.Result = jsontext.Value(recode(t, e.Result, reflect.New(reflect.TypeOf(result)).Interface()))
	}
	b, err := json.Marshal(&e)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func recode(t *testing.T, text []byte, v any) string {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("decode into %T: %v", v, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return string(b)
}
