package streamhttp

import (
	"log/slog"
	"net/http"
)

// Options configures a [Handler]. The zero value and nil are safe on the open
// internet and on a developer's machine.
type Options struct {
	// Logger gets what an operator should know. No payload is logged. Nil
	// discards. A server.Server without a Logger of its own uses it, too.
	Logger *slog.Logger

	// AllowedHosts are values of the Host header that are served beside those
	// that are always served: "mcp.example.com" with any port, or
	// "mcp.example.com:8443". When it is empty, a listener on a loopback
	// address serves only loopback names, and any other listener every name.
	AllowedHosts []string
	// AllowedOrigins are the web origins, as "https://app.example.com", whose
	// pages may talk to the server beside its own. "*" stands for every origin:
	// only for servers that ask for a token. A request without Origin comes
	// from no web page and is served.
	AllowedOrigins []string
	// InsecureSkipHostAndOriginChecks switches the checks above off. Any web
	// page that the user opens can then reach a server on the user's machine.
	InsecureSkipHostAndOriginChecks bool
	// CORS, if not nil, answers browsers' preflight requests and lets pages of
	// allowed origins read the answers.
	CORS *CORS

	// Principal says who sends a request, for instance the subject of its
	// token. A session belongs to the principal that opened it: for another
	// one it does not exist. Nil means that all requests are alike.
	Principal func(r *http.Request) string

	// Events keeps events for clients that resume a broken stream of a legacy
	// session. Nil means in memory, bounded by Limits.
	Events EventStore

	// NoSSE2024 switches HTTP+SSE of 2024-11-05 off on the same URL. A GET that
	// belongs to no session is then answered 405.
	NoSSE2024 bool

	Limits Limits

	given *slog.Logger // Logger, as it was given
}

func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.given = c.Logger
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Limits = c.Limits.withDefaults()
	if c.Events == nil {
		c.Events = newMemoryEvents(c.Limits)
	}
	return c
}

func (o *Options) principal(r *http.Request) string {
	if o.Principal == nil {
		return ""
	}
	return o.Principal(r)
}
