package auth

// maxToken is the size in bytes of the longest access token that is looked
// at: net/http takes 1 MiB of headers, and a verifier works for each byte.
const maxToken = 16 << 10
