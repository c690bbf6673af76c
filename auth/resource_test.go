package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	issuer   = "https://as.example.com"
	self     = "https://mcp.example.com/mcp"
	metadata = `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
	invalid  = `Bearer error="invalid_token", error_description="the access token is invalid or expired; get a new one", scope="files:read files:write", ` + metadata
)

// tokens is a verifier of opaque tokens.
func tokens(_ context.Context, token string) (*auth.Principal, error) {
	p := &auth.Principal{
		Issuer: issuer, Subject: "ann", Audience: []string{"https://other.example.com", self},
		Scopes: []string{"files:read", "files:write"}, Expires: time.Now().Add(time.Minute),
	}
	switch token {
	case "good":
	case "admin":
		p.Scopes = []string{"files"}
	case "reader":
		p.Scopes = []string{"files:read"}
	case "foreign":
		p.Issuer = "https://evil.example.com"
	case "elsewhere":
		p.Audience = []string{self + "/"}
	case "nowhere":
		p.Audience = nil
	case "expired":
		p.Expires = time.Now()
	case "endless":
		p.Expires = time.Time{}
	case "nobody":
		p.Subject = ""
	case "nothing":
		return nil, nil
	case "outage":
		return nil, errors.New("connection refused")
	default:
		return nil, auth.ErrInvalidToken
	}
	return p, nil
}

func options() auth.ResourceOptions {
	return auth.ResourceOptions{
		URL: self, AuthorizationServers: []string{issuer}, Verifier: auth.VerifierFunc(tokens),
		Scopes: []string{"files:read", "files:write"},
		Covers: func(granted, needed string) bool {
			return granted == needed || strings.HasPrefix(needed, granted+":")
		},
	}
}

func protect(t *testing.T, opt auth.ResourceOptions, next http.HandlerFunc) http.Handler {
	t.Helper()
	r, err := auth.NewResource(opt)
	if err != nil {
		t.Fatal(err)
	}
	return r.Protect(next)
}

func do(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestHostileTokens(t *testing.T) {
	t.Parallel()
	bare := `Bearer scope="files:read files:write", ` + metadata
	for _, c := range []struct {
		name, header string
		status       int
		challenge    string
	}{
		{"none", "", 401, bare},
		{"another scheme", "Basic YTpi", 401, bare},
		{"DPoP is not spoken", "DPoP good", 401, bare},
		{"unknown", "Bearer unknown", 401, invalid},
		{"another issuer", "Bearer foreign", 401, invalid},
		{"another audience", "Bearer elsewhere", 401, invalid},
		{"no audience", "Bearer nowhere", 401, invalid},
		{"expired", "Bearer expired", 401, invalid},
		{"no end", "Bearer endless", 401, invalid},
		{"no subject", "Bearer nobody", 401, invalid},
		{"no principal", "Bearer nothing", 401, invalid},
		{"too few scopes", "Bearer reader", 403, `Bearer error="insufficient_scope", error_description="the access token lacks a scope; ask for all that are named", scope="files:read files:write", ` + metadata},
		{"verifier is down", "Bearer outage", 503, ""},
		{"good", "bearer good", 200, ""},
		{"a scope above", "Bearer admin", 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := protect(t, options(), func(http.ResponseWriter, *http.Request) {
				if c.status != 200 {
					t.Error("the handler ran")
				}
			})
			for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS"} {
				var header []string
				if c.header != "" {
					header = []string{"Authorization", c.header}
				}
				res := do(h, method, self, header...)
				if got := res.Header.Get("WWW-Authenticate"); res.StatusCode != c.status || got != c.challenge {
					t.Errorf("%s: %d, challenge\n%s\nwant %d\n%s", method, res.StatusCode, got, c.status, c.challenge)
				}
			}
		})
	}
}

func TestMalformedTokens(t *testing.T) {
	t.Parallel()
	h := protect(t, options(), func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
	for name, res := range map[string]*http.Response{
		"query":          do(h, "POST", self+"?access_token=good"),
		"query and good": do(h, "POST", self+"?a=b&access_token=x", "Authorization", "Bearer good"),
		"twice":          do(h, "POST", self, "Authorization", "Bearer good", "Authorization", "Bearer good"),
		"empty":          do(h, "POST", self, "Authorization", "Bearer "),
		"no token":       do(h, "POST", self, "Authorization", "Bearer"),
		"two tokens":     do(h, "POST", self, "Authorization", "Bearer good good"),
		"list":           do(h, "POST", self, "Authorization", "Bearer good,Bearer good"),
		"control":        do(h, "POST", self, "Authorization", "Bearer go\x00od"),
		"long":           do(h, "POST", self, "Authorization", "Bearer "+strings.Repeat("a", 16<<10+1)),
	} {
		if got := res.Header.Get("WWW-Authenticate"); res.StatusCode != 400 || !strings.HasPrefix(got, `Bearer error="invalid_request", `) {
			t.Errorf("%s: %d, %q", name, res.StatusCode, got)
		}
	}
	if res := do(h, "POST", self, "Authorization", "Bearer "+strings.Repeat("a", 16<<10)); res.StatusCode != 401 {
		t.Errorf("a token of the longest size: %d", res.StatusCode)
	}
}

func TestHandlerSeesThePrincipalNotTheToken(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		ran := false
		opt := options()
		opt.KeepToken = keep
		h := protect(t, opt, func(_ http.ResponseWriter, r *http.Request) {
			ran = true
			if got := r.Header.Get("Authorization") != ""; got != keep {
				t.Errorf("keep %v: the handler sees the token: %v", keep, got)
			}
			if got, want := auth.PrincipalID(r), `"https://as.example.com" "ann"`; got != want {
				t.Errorf("principal %s, want %s", got, want)
			}
		})
		if do(h, "POST", self, "Authorization", "Bearer good"); !ran {
			t.Error("the handler did not run")
		}
	}
}

func TestPreflightNeedsNoToken(t *testing.T) {
	t.Parallel()
	h := protect(t, options(), func(w http.ResponseWriter, r *http.Request) {
		if auth.PrincipalFrom(r.Context()) != nil || auth.PrincipalID(r) != "" || r.Header.Get("Authorization") != "" {
			t.Error("a preflight request has a principal or a token")
		}
		w.WriteHeader(http.StatusNoContent)
	})
	res := do(h, "OPTIONS", self, "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST", "Authorization", "Bearer good")
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("preflight: %d", res.StatusCode)
	}
	res = do(h, "POST", self, "Origin", "https://app.example.com")
	if res.Header.Get("Access-Control-Allow-Origin") != "*" || res.Header.Get("Access-Control-Expose-Headers") != "WWW-Authenticate" {
		t.Errorf("a page cannot read the challenge: %v", res.Header)
	}
}

func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		h := protect(t, options(), func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			if err := r.Context().Err(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended by %v", err)
			}
		})
		do(h, "GET", self, "Authorization", "Bearer good")
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the stream took %v", took)
		}
	})
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	h := protect(t, options(), func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
	want := `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://as.example.com"],` +
		`"scopes_supported":["files:read","files:write"],"bearer_methods_supported":["header"]}`
	for _, path := range []string{"", "/mcp"} {
		target := "https://mcp.example.com" + auth.WellKnownResource + path
		res := do(h, "GET", target)
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v, %v", path, res.StatusCode, res.Header, err)
		}
		if diff := cmp.Diff(want, string(body)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
		if res := do(h, "OPTIONS", target, "Origin", "https://app.example.com"); res.StatusCode != http.StatusNoContent {
			t.Errorf("OPTIONS %s: %d", path, res.StatusCode)
		}
		if res := do(h, "POST", target); res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, res.StatusCode)
		}
	}
	if res := do(h, "GET", "https://mcp.example.com"+auth.WellKnownResource+"/other"); res.StatusCode != 401 {
		t.Errorf("metadata of another resource: %d", res.StatusCode)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*auth.ResourceOptions){
		"no URL":          func(o *auth.ResourceOptions) { o.URL = "" },
		"http":            func(o *auth.ResourceOptions) { o.URL = "http://mcp.example.com/mcp" },
		"fragment":        func(o *auth.ResourceOptions) { o.URL = self + "#a" },
		"query":           func(o *auth.ResourceOptions) { o.URL = self + "?a" },
		"user":            func(o *auth.ResourceOptions) { o.URL = "https://u:p@mcp.example.com" },
		"quote":           func(o *auth.ResourceOptions) { o.URL = self + `"` },
		"no verifier":     func(o *auth.ResourceOptions) { o.Verifier = nil },
		"no issuer":       func(o *auth.ResourceOptions) { o.AuthorizationServers = nil },
		"http issuer":     func(o *auth.ResourceOptions) { o.AuthorizationServers = []string{"http://as.example.com"} },
		"offline_access":  func(o *auth.ResourceOptions) { o.Scopes = []string{"offline_access"} },
		"offline, listed": func(o *auth.ResourceOptions) { o.ScopesSupported = []string{"offline_access"} },
		"two in one":      func(o *auth.ResourceOptions) { o.Scopes = []string{"a b"} },
		"quoted scope":    func(o *auth.ResourceOptions) { o.Scopes = []string{`a"`} },
	} {
		opt := options()
		change(&opt)
		if _, err := auth.NewResource(opt); err == nil || !strings.HasPrefix(err.Error(), "auth: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	opt := options()
	opt.URL = "http://127.0.0.1:8080"
	if _, err := auth.NewResource(opt); err != nil {
		t.Errorf("loopback: %v", err)
	}
}

func TestPrincipalsHaveDifferentIDs(t *testing.T) {
	t.Parallel()
	a, b := auth.Principal{Issuer: `x" "y`, Subject: "z"}, auth.Principal{Issuer: "x", Subject: `y" "z`}
	if a.ID() == b.ID() {
		t.Errorf("both are %s", a.ID())
	}
}
