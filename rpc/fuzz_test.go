package rpc_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// FuzzDecode holds Decode against package jsontext, and what it accepts against
// package json and against its own encoding.
func FuzzDecode(f *testing.F) {
	for _, test := range decodeTests {
		if len(test.in) < 300 {
			f.Add([]byte(test.in))
		}
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":["\ud83d\ude00",-1.5e+7,true,false,null,{"a":{}}]}`))
	f.Add([]byte(`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"1":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := rpc.Decode(bytes.Clone(b), rpc.Limits{Depth: -1, BatchMessages: -1})
		valid := jsontext.Value(b).IsValid()
		if isSyntax := errors.Is(err, &rpc.Error{Code: rpc.CodeParseError}); isSyntax == valid {
			t.Fatalf("%q: Decode says %v, jsontext %v", b, err, valid)
		}
		if err != nil {
			if _, ok := errors.AsType[*rpc.DecodeError](err); !ok {
				t.Fatalf("%q: error is a %T", b, err)
			}
			return
		}
		if _, ok := m.(rpc.Batch); !ok {
			checkMessage(t, b, m)
		}
	})
}

func checkMessage(t *testing.T, b []byte, m rpc.Message) {
	t.Helper()
	var want struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params jsontext.Value `json:"params"`
		Result jsontext.Value `json:"result"`
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	if string(want.ID) == "null" {
		want.ID = nil
	}
	if string(want.Params) == "null" {
		want.Params = nil
	}
	switch m := m.(type) {
	case *rpc.Request:
		if m.ID.String() != string(want.ID) || m.Method != want.Method || !bytes.Equal(m.Params, want.Params) {
			t.Fatalf("%q: decoded as %+v", b, m)
		}
		for name, v := range membersOf(t, m.Params) {
			if got := m.Param(name); !bytes.Equal(got, v) {
				t.Fatalf("%q: param %q is %s, want %s", b, name, got, v)
			}
		}
	case *rpc.Response:
		if m.ID.String() != string(want.ID) {
			t.Fatalf("%q: decoded as %+v", b, m)
		}
		if m.Error == nil && !bytes.Equal(m.Result.(jsontext.Value), want.Result) {
			t.Fatalf("%q: decoded as %+v", b, m)
		}
	}
	text, err := rpc.AppendMessage(nil, m)
	if err != nil {
		t.Fatalf("%q: encode again: %v", b, err)
	}
	if bytes.ContainsAny(text, "\r\n") {
		t.Fatalf("%q: encoded with a line break: %q", b, text)
	}
	again, err := rpc.Decode(text, rpc.Limits{Depth: -1})
	if err != nil || (!bytes.ContainsAny(b, "\r\n") && show(again, nil) != show(m, nil)) {
		t.Fatalf("%q: encoded as %q, which is %s, %v", b, text, show(again, nil), err)
	}
}

func membersOf(t *testing.T, params jsontext.Value) map[string]jsontext.Value {
	t.Helper()
	if params == nil {
		return nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(params, &members); err != nil {
		t.Fatal(err)
	}
	return members
}
