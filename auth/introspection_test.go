package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/auth"
	"github.com/tenon-mcp/tenon/mcptest"
)

func ExampleIntrospection() {
	_, err := auth.NewResource(auth.ResourceOptions{
		URL:                  "https://mcp.example.com/mcp",
		AuthorizationServers: []string{"https://as.example.com"},
		Verifier: &auth.Introspection{
			URL: "https://as.example.com/introspect", Issuer: "https://as.example.com", ClientID: "mcp", ClientSecret: "from the environment",
		},
	})
	fmt.Println(err)
	// Output: <nil>
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	const claims = `"active":true,"sub":"ann","client_id":"app","scope":"a b","exp":4000000000`
	for _, c := range []struct {
		name, answer string
		status       int
		invalid, ok  bool
	}{
		{"one audience", `{` + claims + `,"aud":"` + self + `"}`, 200, false, true},
		{"array", `{` + claims + `,"aud":["` + self + `"],"iss":"` + issuer + `"}`, 200, false, true},
		{"inactive", `{"active":false}`, 200, true, false},
		{"no active", `{"sub":"ann"}`, 200, true, false},
		{"bound to a key", `{` + claims + `,"cnf":{"jkt":"x"}}`, 200, true, false},
		{"another issuer", `{` + claims + `,"iss":"https://evil.example.com"}`, 200, true, false},
		{"not yet", `{` + claims + `,"nbf":3999999999}`, 200, true, false},
		{"no end", `{"active":true,"sub":"ann"}`, 200, true, false},
		{"twice", `{"active":false,"active":true,"exp":4000000000}`, 200, false, false},
		{"not JSON", `<html>`, 200, false, false},
		{"too long", `{` + claims + `,"x":"` + strings.Repeat("x", 64<<10) + `"}`, 200, false, false},
		{"refused", `{` + claims + `}`, 401, false, false},
		{"redirect", `{` + claims + `}`, 307, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hc, base := mcptest.HTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				id, secret, _ := r.BasicAuth()
				if r.URL.Path != "/introspect" || r.PostFormValue("token") != "tok+/=" || id != "m%3Acp" || secret != "s+e" {
					t.Errorf("asked %s %q as %q %q", r.URL, r.PostFormValue("token"), id, secret)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			}))
			v := &auth.Introspection{URL: base + "/introspect", Issuer: issuer, ClientID: "m:cp", ClientSecret: "s e", Client: hc}
			got, err := v.Verify(t.Context(), "tok+/=")
			if (err == nil) != c.ok || errors.Is(err, auth.ErrInvalidToken) != c.invalid {
				t.Fatalf("error %v", err)
			}
			if !c.ok {
				return
			}
			want := &auth.Principal{Issuer: issuer, Subject: "ann", ClientID: "app", Audience: []string{self}, Scopes: []string{"a", "b"}, Expires: time.Unix(4000000000, 0)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	v := &auth.Introspection{URL: "http://as.example.com/introspect"}
	if _, err := v.Verify(t.Context(), "t"); err == nil || errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("without TLS: %v", err)
	}
}

func TestIntrospectionTakesTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := (&auth.Introspection{URL: issuer, Client: &http.Client{Transport: silent{}}}).Verify(t.Context(), "t")
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
			t.Errorf("took %v: %v", took, err)
		}
	})
}

// silent is a server that does not answer.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
