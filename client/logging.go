package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// SetLogLevel asks for log messages from level on. In the legacy era that is a
// request, and holds for the session; in the modern era it goes along with
// every request from now on, and an empty level asks for none. A level that is
// not one of [mcp.LoggingLevels] is an error, and nothing is sent.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel, opts ...CallOption) error {
	if err := checkLevel(level); err != nil {
		return err
	}
	return c.session.Load().era.setLogLevel(ctx, c, level, opts)
}

// WithLogLevel asks for the log messages of one request, from level on. A
// legacy server does not have this and is not asked.
func WithLogLevel(level mcp.LoggingLevel) CallOption {
	return func(o *callOptions) { o.logLevel = level }
}

// checkLevel returns an error for what is no level; "" is none.
func checkLevel(level mcp.LoggingLevel) error {
	if level == "" || level.Valid() {
		return nil
	}
	return fmt.Errorf("client: %q is no log level: use %s", excerpt(string(level), 32), levelNames())
}

func levelNames() string {
	var names []string
	for _, l := range mcp.LoggingLevels() {
		names = append(names, string(l))
	}
	return strings.Join(names, ", ")
}
