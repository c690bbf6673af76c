package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// ErrTimeout is matched by the errors of calls that the server did not answer
// in time. They also match [context.DeadlineExceeded].
var ErrTimeout = errors.New("client: the server did not answer in time")

// ErrNotEnding is matched by the errors of lists and dialogues that the server
// does not bring to an end: too many pages, a cursor that comes again, too
// many rounds of input_required.
var ErrNotEnding = errors.New("client: the server does not come to an end")

// ErrRejected is what Options.ReviewSampleRequest and Options.ReviewSampleResult return, and
// Options.Sample may, when the user rejects the request of a server.
var ErrRejected = errors.New("client: the user rejected the request of the server")

// errStuck is what Close returns when it gave up waiting.
var errStuck = errors.New("client: close: a callback or the transport does not return")

// TimeoutError says that a call was given up. Whether the server acted on it is
// not known.
type TimeoutError struct {
	Method string
	After  time.Duration
	// Hard is set where the limit was Options.MaxTimeout, which progress does
	// not move.
	Hard bool
}

func (e *TimeoutError) Error() string {
	if e.Hard {
		return fmt.Sprintf("client: %s took longer than %s: raise MaxTimeout if it may", e.Method, e.After)
	}
	return fmt.Sprintf("client: no answer to %s in %s: raise Timeout if it may take longer", e.Method, e.After)
}

// Is matches [ErrTimeout] and [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

// Timeout implements the interface that net.Error has.
func (e *TimeoutError) Timeout() bool { return true }

// UnsupportedError says that the request was not sent, because this connection
// does not have it. It matches [errors.ErrUnsupported].
type UnsupportedError struct {
	Method  string
	Version mcp.Version
	// Capability is what the server did not declare, "" where the revision
	// itself has no such method.
	Capability string
}

func (e *UnsupportedError) Error() string {
	if e.Capability != "" {
		return fmt.Sprintf("client: %s: the server did not declare the capability %s", e.Method, e.Capability)
	}
	return fmt.Sprintf("client: revision %s has no %s", e.Version, e.Method)
}

// Is matches [errors.ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// VersionError says that client and server have no revision in common.
type VersionError struct {
	Wanted  mcp.Version   // what the client asked for
	Offered []mcp.Version // what the server has, as far as it said
}

func (e *VersionError) Error() string {
	var offered []string
	for i, v := range e.Offered {
		if i == 8 {
			offered = append(offered, "…")
			break
		}
		offered = append(offered, excerpt(string(v), 32))
	}
	return fmt.Sprintf("client: no common revision: asked for %s, the server has %s", e.Wanted, strings.Join(offered, ", "))
}

// InputError says that the server asked for something that the client could
// not give, so the operation was not carried on.
type InputError struct {
	Operation string // what the client had asked, such as tools/call
	Asked     string // what the server asked back, such as elicitation/create
	Key       string // the server's name of the question
	Err       error
}

func (e *InputError) Error() string {
	return fmt.Sprintf("client: %s needs an answer to %s (%s): %v", e.Operation, excerpt(e.Asked, 64), excerpt(e.Key, 64), e.Err)
}

func (e *InputError) Unwrap() error { return e.Err }

// ToolError is the result of a tool that ran and failed; its content says why.
type ToolError struct {
	Tool   string
	Result *mcp.CallToolResult
}

func (e *ToolError) Error() string {
	text := textOf(e.Result.Content)
	if text == "" {
		text = "no reason given"
	}
	return fmt.Sprintf("tool %s failed: %s", e.Tool, excerpt(text, 1000))
}

// OutputError says that a tool's structured content is not what its output
// schema promises. Result is what came.
type OutputError struct {
	Tool   string
	Result *mcp.CallToolResult
	Err    error
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("client: tool %s: structured content breaks the output schema: %v", e.Tool, excerpt(e.Err.Error(), 1000))
}

func (e *OutputError) Unwrap() error { return e.Err }

func asWire(err error) (*rpc.Error, bool) { return errors.AsType[*rpc.Error](err) }

// excerpt makes text of the peer fit for a message: bounded, on one line,
// without control characters.
func excerpt(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
	}
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if cut {
		s += "…"
	}
	return s
}
