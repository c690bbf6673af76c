package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ResourceOptions configure a [Resource].
type ResourceOptions struct {
	// URL is the address of the MCP server as clients know it, such as
	// "https://mcp.example.com/mcp": the audience that tokens must have.
	// Required; https, or http on a loopback address; no query or fragment.
	URL string
	// AuthorizationServers are the issuers whose tokens are taken. Required.
	AuthorizationServers []string
	// Verifier says what a token means. Required.
	Verifier Verifier
	// Scopes are what every request needs; a challenge names all of them.
	// Never "offline_access", which is no scope of a resource.
	Scopes []string
	// ScopesSupported are listed in the metadata. Nil means Scopes.
	ScopesSupported []string
	// Covers says whether one granted scope includes a needed one. Nil means
	// that they must be equal.
	Covers func(granted, needed string) bool
	// KeepToken leaves the header Authorization in the request. Otherwise the
	// handler cannot see it, and so cannot send it to another server, which
	// the specification forbids.
	KeepToken bool
	// Logger is told why tokens were refused, never the tokens. Nil discards.
	Logger *slog.Logger
}

// A Resource is a server that asks for tokens: a resource server of OAuth 2.1.
// It is safe for use by many requests at a time.
type Resource struct {
	opt         ResourceOptions
	metadata    []byte
	path        string // of the metadata
	metadataURL string
}

// NewResource returns a Resource, or an error that says which option is wrong.
func NewResource(opt ResourceOptions) (*Resource, error) {
	u, err := checkURL(opt.URL)
	if err != nil {
		return nil, fmt.Errorf("auth: URL %q: %w", opt.URL, err)
	}
	if opt.Verifier == nil {
		return nil, errors.New("auth: no Verifier; set one that checks the tokens of your authorization server")
	}
	if len(opt.AuthorizationServers) == 0 {
		return nil, errors.New("auth: no AuthorizationServers; name the issuer of your tokens")
	}
	for _, as := range opt.AuthorizationServers {
		if _, err := checkURL(as); err != nil {
			return nil, fmt.Errorf("auth: authorization server %q: %w", as, err)
		}
	}
	if opt.ScopesSupported == nil {
		opt.ScopesSupported = opt.Scopes
	}
	for _, s := range slices.Concat(opt.Scopes, opt.ScopesSupported) {
		if s == "offline_access" || !isScope(s) {
			return nil, fmt.Errorf("auth: %q is no scope of a resource; leave it out", s)
		}
	}
	if opt.Covers == nil {
		opt.Covers = func(granted, needed string) bool { return granted == needed }
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	opt.AuthorizationServers = slices.Clone(opt.AuthorizationServers)
	opt.Scopes, opt.ScopesSupported = slices.Clone(opt.Scopes), slices.Clone(opt.ScopesSupported)
	r := &Resource{opt: opt, path: WellKnownResource + strings.TrimSuffix(u.EscapedPath(), "/")}
	r.metadataURL = u.Scheme + "://" + u.Host + r.path
	r.metadata, err = r.marshalMetadata()
	return r, err
}

func checkURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case u.Host == "" || u.User != nil || strings.ContainsAny(s, "?#\"\\"):
		return nil, errors.New("want scheme, host and path, and nothing else")
	case u.Scheme != "https" && (u.Scheme != "http" || !local):
		return nil, errors.New("want https, or http on a loopback address")
	}
	return u, nil
}

// isScope reports whether s is a scope-token of RFC 6749, section 3.3.
func isScope(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) < 0
}

// Protect returns a handler that serves the metadata of the resource (RFC 9728)
// below [WellKnownResource], and passes to next what comes with a good token.
// A preflight request of a browser, which cannot have one, is passed too.
//
// The context of a request ends with [context.DeadlineExceeded] when its token
// expires, and so streams do.
func (r *Resource) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if p := req.URL.EscapedPath(); p == r.path || p == WellKnownResource {
			r.serveMetadata(w, req)
			return
		}
		if isPreflight(req) {
			next.ServeHTTP(w, r.pass(req.Context(), req))
			return
		}
		p, refused := r.authenticate(req)
		if refused != nil {
			r.challenge(w, refused)
			return
		}
		ctx, cancel := context.WithDeadline(context.WithValue(req.Context(), principalKey{}, p), p.Expires)
		defer cancel()
		next.ServeHTTP(w, r.pass(ctx, req))
	})
}

// pass is the request as the handler sees it.
func (r *Resource) pass(ctx context.Context, req *http.Request) *http.Request {
	req = req.WithContext(ctx)
	if !r.opt.KeepToken {
		req.Header = req.Header.Clone()
		req.Header.Del("Authorization")
	}
	return req
}

func isPreflight(req *http.Request) bool {
	return req.Method == http.MethodOptions && req.Header.Get("Origin") != "" && req.Header.Get("Access-Control-Request-Method") != ""
}

func (r *Resource) authenticate(req *http.Request) (*Principal, *refusal) {
	token, refused := bearer(req)
	if refused != nil {
		return nil, refused
	}
	p, err := r.opt.Verifier.Verify(req.Context(), token)
	if err != nil && !errors.Is(err, ErrInvalidToken) {
		r.opt.Logger.ErrorContext(req.Context(), "auth: token could not be verified", "error", err)
		return nil, &refusal{status: http.StatusServiceUnavailable}
	}
	if err == nil {
		err = r.check(p)
	}
	if err != nil {
		r.opt.Logger.InfoContext(req.Context(), "auth: token refused", "error", err)
		return nil, &refusal{http.StatusUnauthorized, "invalid_token", "the access token is invalid or expired; get a new one"}
	}
	for _, need := range r.opt.Scopes {
		if !slices.ContainsFunc(p.Scopes, func(s string) bool { return r.opt.Covers(s, need) }) {
			return nil, &refusal{http.StatusForbidden, "insufficient_scope", "the access token lacks a scope; ask for all that are named"}
		}
	}
	return p, nil
}

// check holds a genuine token to this resource.
func (r *Resource) check(p *Principal) error {
	switch {
	case p == nil || p.Subject == "":
		return errors.New("it has no subject")
	case !slices.Contains(r.opt.AuthorizationServers, p.Issuer):
		return errors.New("it is of another issuer")
	case !slices.Contains(p.Audience, r.opt.URL):
		return errors.New("it is for another audience")
	case !time.Now().Before(p.Expires):
		return errors.New("it has expired, or has no end")
	}
	return nil
}

// bearer returns the token of a request (RFC 6750, section 2.1).
func bearer(req *http.Request) (string, *refusal) {
	malformed := func(why string) (string, *refusal) {
		return "", &refusal{http.StatusBadRequest, "invalid_request", why}
	}
	if req.URL.Query().Has("access_token") {
		return malformed("an access token is not taken from the query; send it in the header Authorization")
	}
	headers := req.Header.Values("Authorization")
	if len(headers) > 1 {
		return malformed("more than one header Authorization; send one")
	}
	if len(headers) == 0 {
		return "", &refusal{status: http.StatusUnauthorized}
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &refusal{status: http.StatusUnauthorized}
	}
	token = strings.TrimLeft(token, " ")
	if len(token) > maxToken || !isToken(token) {
		return malformed("the access token is malformed or too long")
	}
	return token, nil
}

// isToken reports whether s is a b64token of RFC 6750, section 2.1.
func isToken(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-._~+/", c)
	}) < 0
}
