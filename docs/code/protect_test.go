package code_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/auth"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// protect {
func protected(srv *server.Server, verifier auth.Verifier) (http.Handler, error) {
	resource, err := auth.NewResource(auth.ResourceOptions{
		URL:                  "https://mcp.example.com/mcp", // what tokens must be for
		AuthorizationServers: []string{"https://login.example.com"},
		Verifier:             verifier,
		Scopes:               []string{"files:read"},
	})
	if err != nil {
		return nil, err
	}
	h := streamhttp.NewHandler(srv, &streamhttp.Options{
		Principal:    auth.PrincipalID, // a session belongs to who opened it
		AllowedHosts: []string{"mcp.example.com"},
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", resource.Protect(h))
	mux.Handle(auth.WellKnownResource, resource.Protect(h)) // the metadata
	mux.Handle(auth.WellKnownResource+"/", resource.Protect(h))
	return mux, nil
}

// }

// who {
func whoAmI(ctx context.Context, _ struct{}) (string, error) {
	return auth.PrincipalFrom(ctx).Subject, nil
}

func newProtectedServer() *server.Server {
	srv := server.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, &server.Options{
		Principal: func(ctx context.Context, _ *rpc.Request) string { return auth.PrincipalFrom(ctx).ID() }, // of request state
	})
	server.AddTool(srv, mcp.Tool{Name: "whoami"}, whoAmI)
	return srv
}

// }

// verify {
func verify(ctx context.Context, token string) (*auth.Principal, error) {
	user, ok := map[string]string{"token-of-ann": "ann", "token-of-bob": "bob"}[token] // ask your authorization server here
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.Principal{
		Issuer: "https://login.example.com", Subject: user,
		Audience: []string{"https://mcp.example.com/mcp"}, Scopes: []string{"files:read"},
		Expires: time.Now().Add(time.Hour),
	}, nil
}

// }

// bearer sends its token with each request; session, if not nil, is told the
// session that the answer names.
type bearer struct {
	base    http.RoundTripper
	token   string
	session func(string)
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = "mcp.example.com"
	r.Header.Set("Authorization", "Bearer "+b.token)
	res, err := b.base.RoundTrip(r)
	if err == nil && b.session != nil {
		b.session(res.Header.Get("Mcp-Session-Id"))
	}
	return res, err
}

func TestProtectedInEachRevision(t *testing.T) {
	t.Parallel()
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev.Version), func(t *testing.T) {
			t.Parallel()
			h, err := protected(newProtectedServer(), auth.VerifierFunc(verify))
			if err != nil {
				t.Fatal(err)
			}
			hc, base := mcptest.HTTP(t, h)
			for token, want := range map[string]string{"token-of-ann": "ann", "token-of-bob": "bob", "stolen": ""} {
				c, err := tenon.Connect(t.Context(), base+"/mcp",
					tenon.WithHTTPClient(&http.Client{Transport: bearer{base: hc.Transport, token: token}}),
					tenon.WithClient(&client.Options{Version: rev.Version}))
				if (err != nil) != (want == "") {
					t.Fatalf("%s: connect: %v", token, err)
				}
				if err != nil {
					continue
				}
				got, err := client.CallTool[string](t.Context(), c, "whoami", struct{}{})
				if err != nil || got != want {
					t.Errorf("%s is %q, want %q: %v", token, got, want, err)
				}
				if err := c.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
}

func TestForeignSessionDoesNotExist(t *testing.T) {
	t.Parallel()
	h, err := protected(newProtectedServer(), auth.VerifierFunc(verify))
	if err != nil {
		t.Fatal(err)
	}
	hc, base := mcptest.HTTP(t, h)
	sessions := make(chan string, 1)
	c, err := tenon.Connect(t.Context(), base+"/mcp",
		tenon.WithHTTPClient(&http.Client{Transport: bearer{hc.Transport, "token-of-ann", func(id string) {
			select {
			case sessions <- id:
			default: // the first is enough
			}
		}}}),
		tenon.WithClient(&client.Options{Version: mcp.V20251125}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id := <-sessions
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, base+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", id)
	r.Header.Set("Mcp-Protocol-Version", string(mcp.V20251125))
	res, err := (&http.Client{Transport: bearer{base: hc.Transport, token: "token-of-bob"}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("bob ends ann's session: %d, want 404", res.StatusCode)
	}
	if got, err := client.CallTool[string](t.Context(), c, "whoami", struct{}{}); err != nil || got != "ann" {
		t.Errorf("ann's session afterwards: %q, %v", got, err)
	}
}
