package auth

import (
	"context"
	"errors"
)

// A Verifier says what an access token means. It is asked once per request, and
// by many requests at a time.
//
// It checks that the token is genuine: its signature with algorithms chosen
// beforehand, or by introspection (RFC 7662). It must refuse a token that is
// bound to a key (claim cnf), as nothing here proves possession of one. The
// [Resource] then checks issuer, audience, expiry and scopes.
//
// The error for a token that is not good wraps [ErrInvalidToken]. Any other
// error means that the verifier cannot tell now, and is answered 503.
type Verifier interface {
	Verify(ctx context.Context, token string) (*Principal, error)
}

// VerifierFunc is a function as a [Verifier].
type VerifierFunc func(ctx context.Context, token string) (*Principal, error)

// Verify calls f.
func (f VerifierFunc) Verify(ctx context.Context, token string) (*Principal, error) {
	return f(ctx, token)
}

// ErrInvalidToken is what a [Verifier] says of a token that is not good.
var ErrInvalidToken = errors.New("auth: access token is not valid; get a new one")
