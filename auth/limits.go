package auth

import "time"

const (
	// maxToken is the size in bytes of the longest access token that is looked
	// at: net/http takes 1 MiB of headers, and a verifier works for each byte.
	maxToken = 16 << 10
	// maxIntrospection is the size in bytes of the longest answer about a token.
	maxIntrospection = 64 << 10
	// introspectionTime is how long asking about a token may take: the request
	// that brought it waits.
	introspectionTime = 10 * time.Second
)
