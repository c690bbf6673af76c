package server

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

const (
	// minStateKeyBytes is what AES-128 needs; shorter keys can be guessed.
	minStateKeyBytes = 16
	// defaultStateTTL leaves a person the time to go and look something up.
	defaultStateTTL = time.Hour
	// statePrefix is the version of the sealed form.
	statePrefix = "v1."
	// statePurpose separates these keys from all others made of the same secret.
	statePurpose = "tenon requestState v1"
)

// requestState is what a request needs to know of its earlier rounds. It
// travels sealed in the requestState of the protocol, as no replica keeps it.
type requestState struct {
	Expires int64                     `json:"e"` // Unix seconds
	Answers map[string]jsontext.Value `json:"a,omitzero"`
	Value   jsontext.Value            `json:"v,omitzero"` // the handler's own
}

// sealer seals states: they are secret and whole, and good for one principal,
// one method and one set of params, until they expire. It is safe for
// concurrent use.
type sealer struct {
	aeads    []cipher.AEAD // the first seals, all open
	ttl      time.Duration
	maxBytes int
}

// newSealer makes a key of each secret. Without secrets it uses a random one.
func newSealer(secrets [][]byte, ttl time.Duration, maxBytes int) (*sealer, error) {
	if len(secrets) == 0 {
		secret := make([]byte, 32)
		rand.Read(secret) // never fails
		secrets = [][]byte{secret}
	}
	s := &sealer{ttl: ttl, maxBytes: maxBytes}
	for i, secret := range secrets {
		if len(secret) < minStateKeyBytes {
			return nil, fmt.Errorf("server: state key %d has %d bytes: use at least %d random ones", i, len(secret), minStateKeyBytes)
		}
		key, err := hkdf.Key(sha256.New, secret, nil, statePurpose, 32)
		if err != nil {
			return nil, fmt.Errorf("server: state key %d: %w", i, err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("server: state key %d: %w", i, err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("server: state key %d: %w", i, err)
		}
		s.aeads = append(s.aeads, aead)
	}
	return s, nil
}

// seal returns the text of st for binding.
func (s *sealer) seal(st requestState, binding []byte) (string, error) {
	st.Expires = time.Now().Add(s.ttl).Unix()
	plain, err := json.Marshal(&st, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("server: encode request state: %w", err)
	}
	sealed := s.aeads[0].Seal(nil, nil, plain, binding)
	text := statePrefix + base64.RawURLEncoding.EncodeToString(sealed)
	if over(len(text), s.maxBytes) {
		return "", fmt.Errorf("server: request state has %d bytes, more than Limits.StateBytes (%d): keep a handle in it instead of the data", len(text), s.maxBytes)
	}
	return text, nil
}

var (
	errBadState     = errors.New("server: request state is not of this server, principal and request")
	errStateExpired = errors.New("server: request state has expired")
)

// open is the inverse of seal. Its errors are for the client.
func (s *sealer) open(text string, binding []byte) (requestState, error) {
	st, err := s.unseal(text, binding)
	switch {
	case errors.Is(err, errStateExpired):
		return st, rpc.Errorf(rpc.CodeInvalidParams, "requestState has expired: send the request again without requestState and inputResponses")
	case err != nil:
		return st, rpc.Errorf(rpc.CodeInvalidParams, "requestState was not issued for this request, or was changed: send the request again without it")
	}
	return st, nil
}

func (s *sealer) unseal(text string, binding []byte) (requestState, error) {
	var st requestState
	if over(len(text), s.maxBytes) || len(text) < len(statePrefix) || text[:len(statePrefix)] != statePrefix {
		return st, errBadState
	}
	sealed, ok := decodeBase64(text[len(statePrefix):])
	if !ok {
		return st, errBadState
	}
	for _, aead := range s.aeads {
		plain, err := aead.Open(nil, nil, sealed, binding)
		if err != nil {
			continue
		}
		if err := json.Unmarshal(plain, &st); err != nil {
			return requestState{}, errBadState
		}
		if time.Now().Unix() >= st.Expires {
			return requestState{}, errStateExpired
		}
		return st, nil
	}
	return st, errBadState
}

// stateBinding is what a state is good for. Lengths keep the parts apart. The
// params are digested in canonical form, as the retry may order its members in
// another way.
func stateBinding(principal, method, target string, params jsontext.Value) []byte {
	h := sha256.New()
	for _, part := range []string{principal, method, target} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	h.Write(canonical(params))
	return h.Sum(nil)
}

// canonical returns v with its members ordered and its strings and fractions in
// one form (RFC 8785). Integers keep their text: a float64 does not hold them
// all.
func canonical(v jsontext.Value) jsontext.Value {
	if len(v) == 0 || v.Kind() == 'n' {
		return jsontext.Value("{}")
	}
	c := v.Clone()
	if c.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return v
	}
	return c
}
