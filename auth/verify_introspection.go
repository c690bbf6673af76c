package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Introspection is a [Verifier] that asks the authorization server what each
// token means (RFC 7662). Answers are not kept, so that a revoked token is
// refused at once. A token that is bound to a key is refused. It is safe for
// use by many requests at a time, and must not be changed meanwhile.
type Introspection struct {
	// URL is the introspection endpoint: https, or http on a loopback address.
	URL string
	// Issuer is the authorization server that answers there. An answer that
	// names another one is refused.
	Issuer string
	// ClientID and ClientSecret are sent by HTTP Basic.
	ClientID, ClientSecret string
	// Client sends the requests; it is used without redirects, and a request
	// takes 10 s at most. Nil means [http.DefaultClient].
	Client *http.Client
}

// Verify asks what the token means.
func (i *Introspection) Verify(ctx context.Context, token string) (*Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, introspectionTime)
	defer cancel()
	body, err := i.ask(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("auth: introspection at %q: %w", i.URL, err)
	}
	var a introspected
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("auth: introspection at %q: answer is not of RFC 7662", i.URL)
	}
	switch {
	case !a.Active:
		return nil, fmt.Errorf("%w: it is not active", ErrInvalidToken)
	case a.Confirmation != nil:
		return nil, fmt.Errorf("%w: it is bound to a key", ErrInvalidToken)
	case a.Issuer != "" && a.Issuer != i.Issuer:
		return nil, fmt.Errorf("%w: it is of another issuer", ErrInvalidToken)
	case a.NotBefore > float64(time.Now().Unix()):
		return nil, fmt.Errorf("%w: it is not valid yet", ErrInvalidToken)
	case a.Expires <= 0 || a.Expires >= 1<<40:
		return nil, fmt.Errorf("%w: it has no end", ErrInvalidToken)
	}
	return &Principal{
		Issuer: i.Issuer, Subject: a.Subject, ClientID: a.ClientID, Audience: a.Audience,
		Scopes: strings.Fields(a.Scope), Expires: time.Unix(int64(a.Expires), 0),
	}, nil
}

func (i *Introspection) ask(ctx context.Context, token string) ([]byte, error) {
	if _, err := checkURL(i.URL); err != nil {
		return nil, err
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, i.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.SetBasicAuth(url.QueryEscape(i.ClientID), url.QueryEscape(i.ClientSecret)) // RFC 6749, section 2.3.1
	hc := http.Client{}
	if i.Client != nil {
		hc = *i.Client
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := hc.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d; check the endpoint, client id and secret", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxIntrospection+1))
	if err == nil && len(body) > maxIntrospection {
		err = errors.New("the answer is too long")
	}
	return body, err
}

// introspected is the answer of RFC 7662, section 2.2.
type introspected struct {
	Active       bool           `json:"active"`
	Issuer       string         `json:"iss"`
	Subject      string         `json:"sub"`
	ClientID     string         `json:"client_id"`
	Scope        string         `json:"scope"`
	Audience     audience       `json:"aud"`
	Expires      float64        `json:"exp"`
	NotBefore    float64        `json:"nbf"`
	Confirmation jsontext.Value `json:"cnf"`
}

// audience is one string or many.
type audience []string

// UnmarshalJSON reads a string or an array of strings.
func (a *audience) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '"' {
		*a = make(audience, 1)
		return json.Unmarshal(data, &(*a)[0])
	}
	return json.Unmarshal(data, (*[]string)(a))
}
