package client

import (
	"context"
	"slices"
)

// A Handler carries out one operation and fills in its Result.
type Handler func(ctx context.Context, call *Call) error

// Middleware wraps the carrying out of every operation. It may change the call
// on the way in and read the result on the way out, or answer by itself.
type Middleware func(next Handler) Handler

// Use adds middleware for the operations that begin after it. The first of the
// list is the outermost, and is inside of what was added before.
func (c *Client) Use(mw ...Middleware) {
	c.middleware.Lock()
	defer c.middleware.Unlock()
	c.wraps = append(c.wraps, mw...)
	h := Handler(c.send)
	for _, wrap := range slices.Backward(c.wraps) {
		h = wrap(h)
	}
	c.chain.Store(&h)
}
