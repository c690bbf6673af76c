package auth

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// A Principal is what a valid access token says. It is not changed after a
// [Verifier] has returned it.
type Principal struct {
	// Issuer is the authorization server of the token, as in its claim iss.
	Issuer string
	// Subject is who the token speaks for, unique for its issuer.
	Subject string
	// ClientID is the OAuth client that got the token. It may be empty.
	ClientID string
	// Audience is what the token is for.
	Audience []string
	// Scopes are what the token allows.
	Scopes []string
	// Expires is when the token ends. A token without an end is refused.
	Expires time.Time
	// Extra is whatever else the verifier wants handlers to know.
	Extra any
}

type principalKey struct{}

// PrincipalFrom returns who sent the request that ctx belongs to, or nil where
// no [Resource] stands before the handler.
func PrincipalFrom(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// PrincipalID names who sends a request, by issuer and subject; it is empty
// where no [Resource] stands before the handler. As Principal of
// streamhttp.Options it binds sessions to those who opened them.
func PrincipalID(r *http.Request) string { return PrincipalFrom(r.Context()).ID() }

// ID names the principal: different issuers and subjects have different names.
// The name of nil is empty.
func (p *Principal) ID() string {
	if p == nil {
		return ""
	}
	return strconv.Quote(p.Issuer) + " " + strconv.Quote(p.Subject)
}
