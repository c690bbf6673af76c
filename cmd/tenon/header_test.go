package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A header is sent: the server asks for it, and has nothing behind it.
func TestHeader(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "a: b" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer srv.Close()
	for want, args := range map[int][]string{3: {"info", srv.URL}, 4: {"info", srv.URL, "-H", "X-Key: a: b"}} {
		out, err := program(t, "tenon", args...).CombinedOutput()
		if got := exitCode(t, err); got != want {
			t.Errorf("%q: exit code %d, want %d: %s", args, got, want, out)
		}
	}
}
