package rpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
)

func TestID(t *testing.T) {
	t.Parallel()
	for id, want := range map[rpc.ID]string{
		rpc.IntID(-7): `-7`, rpc.StringID("1"): `"1"`, rpc.StringID("a\"\n"): `"a\"\n"`, rpc.StringID("\xff"): "\"\ufffd\"", {}: ``,
	} {
		if id.String() != want || id.IsZero() != (want == "") {
			t.Errorf("id %s, want %s", id, want)
		}
	}
	type holder struct {
		ID   rpc.ID `json:"id"`
		Omit rpc.ID `json:"omit,omitzero"`
	}
	for in, want := range map[string]string{
		`{"id":1}`:                     `{"id":1}`,
		`{"id":123456789012345678901}`: `{"id":123456789012345678901}`,
		`{"id":"\u0061","omit":"x"}`:   `{"id":"a","omit":"x"}`,
		`{}`:                           `{"id":null}`,
	} {
		var h holder
		if err := json.Unmarshal([]byte(in), &h); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		got, err := json.Marshal(h)
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", in, got, err)
		}
	}
	for _, in := range []string{`{"id":null}`, `{"id":1.5}`, `{"id":true}`, `{"id":[]}`, `{"id":1e3}`} {
		if err := json.Unmarshal([]byte(in), new(holder)); err == nil {
			t.Errorf("%s is no id", in)
		}
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	err := rpc.Errorf(5, "read %s: %w", "x", io.ErrUnexpectedEOF)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, &rpc.Error{Code: 5}) || errors.Is(err, &rpc.Error{Code: 6}) {
		t.Error("Errorf has lost what it wraps")
	}
	if got := err.Error(); got != "read x: unexpected EOF (5)" {
		t.Error(got)
	}
	with := err.WithData(map[string]int{"a": 1})
	if string(with.Data) != `{"a":1}` || err.Data != nil || with.WithData(make(chan int)).Code != 5 {
		t.Errorf("data %s and %s", with.Data, err.Data)
	}
	secret := errors.New("secret")
	if e := rpc.AsError(secret); e.Code != rpc.CodeInternalError || e.Message != "internal error" || !errors.Is(e, secret) {
		t.Errorf("%v", e)
	}
}

func TestNewRequest(t *testing.T) {
	t.Parallel()
	req, err := rpc.NewRequest("m", struct{ A []int }{})
	if err != nil || string(req.Params) != `{"A":[]}` {
		t.Errorf("%s, %v", req.Params, err)
	}
	if req, err = rpc.NewRequest("m", nil); err != nil || req.Params != nil {
		t.Errorf("%s, %v", req.Params, err)
	}
	if _, err = rpc.NewRequest("m", make(chan int)); err == nil {
		t.Error("a channel was encoded")
	}
}

func TestTapStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		a, b := rpc.Pipe()
		s := rpc.TapStream(a, func(_ context.Context, dir rpc.Direction, m rpc.Message) {
			seen = append(seen, show(m, nil))
		})
		// A write that waits does not hold up a reader, nor a writer whose ctx ends.
		for s.Write(t.Context(), note("out")) == nil && len(seen) < 16 {
		}
		go s.Write(t.Context(), note("stuck"))
		synctest.Wait()
		if err := b.Write(t.Context(), note("in")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if err := s.Write(ctx, note("never")); !errors.Is(err, context.Canceled) {
			t.Errorf("write: %v", err)
		}
		if diff := cmp.Diff("request id= method=in params=", seen[len(seen)-1]); diff != "" {
			t.Error(diff)
		}
		s.Close()
	})
}

func TestSequence(t *testing.T) {
	t.Parallel()
	var s rpc.Sequence
	for n := range int64(1200) {
		if id := s.Next(); id != rpc.IntID(n+1) {
			t.Fatalf("%s, want %d", id, n+1)
		}
	}
}
