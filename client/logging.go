package client

import (
	"context"

	"github.com/tenon-mcp/tenon/mcp"
)

// SetLogLevel asks for log messages from level on. In the legacy era that is a
// request, and holds for the session; in the modern era it goes along with
// every request from now on, and an empty level asks for none.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel, opts ...CallOption) error {
	return c.session.Load().era.setLogLevel(ctx, c, level, opts)
}

// WithLogLevel asks for the log messages of one request, from level on. A
// legacy server does not have this and is not asked.
func WithLogLevel(level mcp.LoggingLevel) CallOption {
	return func(o *callOptions) { o.logLevel = level }
}
