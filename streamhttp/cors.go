package streamhttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// CORS lets browser pages of allowed origins talk to the server. Which origins
// are allowed is said by [Options.AllowedOrigins].
type CORS struct {
	// MaxAge is how long a browser remembers the answer to a preflight. Zero
	// means ten minutes.
	MaxAge time.Duration
	// Headers are request headers to allow beside those of MCP, Authorization
	// and Content-Type.
	Headers []string
	// Expose are response headers that pages may read beside those of MCP.
	Expose []string
}

const (
	corsMethods = "GET, POST, DELETE"
	corsHeaders = "Accept, Authorization, Content-Type, Last-Event-Id, " +
		headerMethod + ", " + headerName + ", " + headerVersion + ", " + headerSession
	corsExpose = headerSession + ", " + headerVersion + ", Www-Authenticate"
	corsMaxAge = 10 * time.Minute
)

// answer writes the CORS headers of any response. It is called for allowed
// origins only.
func (c *CORS) answer(h http.Header, origin string) {
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", joinHeaders(corsExpose, c.Expose))
}

// preflight answers an OPTIONS request of an allowed origin.
func (c *CORS) preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", joinHeaders(corsHeaders, append(paramHeaders(r), c.Headers...)))
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	age := c.MaxAge
	if age == 0 {
		age = corsMaxAge
	}
	h.Set("Access-Control-Max-Age", strconv.Itoa(int(age.Seconds())))
	w.WriteHeader(http.StatusNoContent)
}

// paramHeaders returns those of the headers asked for that mirror arguments:
// their names depend on the tool.
func paramHeaders(r *http.Request) []string {
	var found []string
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.TrimSpace(name)
		if hasPrefixFold(name, headerParam) && isToken(name) {
			found = append(found, name)
		}
	}
	return found
}

func joinHeaders(fixed string, more []string) string {
	if len(more) == 0 {
		return fixed
	}
	return fixed + ", " + strings.Join(more, ", ")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isToken reports whether s is 1*tchar (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
