package server

import (
	"errors"
	"fmt"
	"time"
)

// poller is the peer of a request whose client comes back for the rest of an
// answer.
type poller interface {
	ClosePoll(retry time.Duration) error
}

// errNoPolling matches errors.ErrUnsupported.
var errNoPolling = fmt.Errorf("server: the client does not come back for an answer here: %w", errors.ErrUnsupported)

// ClosePoll frees the connection that waits for the answer, while the request
// goes on: the client asks for the rest after the time retry. That is for
// answers that take long (2025-11-25 over HTTP). Everywhere else the connection
// stays, nothing happens, and the error matches [errors.ErrUnsupported].
func (c *Call) ClosePoll(retry time.Duration) error {
	p, ok := c.peer.(poller)
	if !ok {
		return errNoPolling
	}
	return p.ClosePoll(retry)
}
