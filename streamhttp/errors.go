package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/rpc"
)

// ErrOutcomeUnknown is matched by the errors of calls whose answer was lost
// after the request may have reached the server. Whether the server acted on
// it is not known, so nothing here sends it again; a caller who knows that this
// is safe may.
var ErrOutcomeUnknown = errors.New("streamhttp: the answer was lost, and whether the server acted on the request is not known")

// ErrNotSSE is matched by the error of [SSEDialer.Dial] where the URL does not
// speak the HTTP+SSE transport of 2024-11-05.
var ErrNotSSE = errors.New("streamhttp: the server does not speak HTTP+SSE")

// StatusError is an HTTP status that is no answer to what was sent. Where the
// body held a JSON-RPC error, [errors.As] finds it as an *rpc.Error.
type StatusError struct {
	Method string      // of HTTP: POST, GET or DELETE
	Code   int         // the HTTP status
	Header http.Header // of the response
	// Body is the beginning of the response's body, at most
	// DialLimits.ErrorBodyBytes. It is the server's text: escape it before it
	// is shown.
	Body []byte

	wire *rpc.Error
}

// HTTPStatus returns the status code.
func (e *StatusError) HTTPStatus() int { return e.Code }

func (e *StatusError) Error() string {
	text := fmt.Sprintf("streamhttp: %s answered with status %d", e.Method, e.Code)
	if name := http.StatusText(e.Code); name != "" {
		text += " " + name
	}
	switch {
	case e.wire != nil:
		text += fmt.Sprintf(": %s (%d)", excerpt(e.wire.Message), e.wire.Code)
	case len(e.Body) > 0:
		text += ": " + excerpt(string(e.Body))
	}
	return text
}

// Unwrap returns the JSON-RPC error that the body held, if it did.
func (e *StatusError) Unwrap() error {
	if e.wire == nil {
		return nil
	}
	return e.wire
}

// ContentTypeError is an answer that is neither JSON nor a stream of events.
type ContentTypeError struct {
	Method      string // of HTTP
	Code        int    // the HTTP status
	ContentType string // as the server sent it
	Body        []byte // its beginning, the server's text
}

// HTTPStatus returns the status code.
func (e *ContentTypeError) HTTPStatus() int { return e.Code }

func (e *ContentTypeError) Error() string {
	kind := "no content type"
	if e.ContentType != "" {
		kind = "content type " + excerpt(e.ContentType)
	}
	text := fmt.Sprintf("streamhttp: %s answered with status %d and %s: is this the URL of an MCP server?", e.Method, e.Code, kind)
	if len(e.Body) > 0 {
		text += " It says: " + excerpt(string(e.Body))
	}
	return text
}

// RedirectError is a redirect that was not followed, because a request would
// have lost its body, or taken it and its credentials to another origin.
type RedirectError struct {
	Code   int
	Target string // the origin, and on the same origin the path too
	Reason string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("streamhttp: endpoint moved to %s (status %d), which is not followed: %s", excerpt(e.Target), e.Code, e.Reason)
}

// FallbackToSSE reports whether err, with which opening a connection through
// [Dialer] failed in both eras, is one that a server of 2024-11-05 gives: then
// [SSEDialer] is worth a try (2026-07-28, Streamable HTTP, backward
// compatibility).
func FallbackToSSE(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	if !ok || e.Method != http.MethodPost {
		return false
	}
	switch e.Code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return e.wire == nil || !modernError(e.Code, e.wire.Code)
	}
	return false
}

const excerptRunes = 200

// excerpt makes text of the peer fit for a message: quoted where it has to be,
// on one line, bounded.
func excerpt(s string) string {
	cut := false
	if len(s) > 4*excerptRunes {
		s, cut = s[:4*excerptRunes], true
	}
	s = strings.TrimSpace(strings.ToValidUTF8(s, "�"))
	n := 0
	for i := range s {
		if n++; n > excerptRunes {
			s, cut = s[:i], true
			break
		}
	}
	q := fmt.Sprintf("%q", s)
	if cut {
		q += "…"
	}
	return q
}

// headerTimeoutError says that the server did not begin to answer in time.
type headerTimeoutError struct{ after time.Duration }

func (e *headerTimeoutError) Error() string {
	return "streamhttp: the server did not begin to answer in " + e.after.String()
}
func (e *headerTimeoutError) Timeout() bool { return true }
func (e *headerTimeoutError) Is(target error) bool {
	return target == context.DeadlineExceeded
}
