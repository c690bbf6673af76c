package server

import (
	"context"

	"github.com/tenon-mcp/tenon/mcp"
)

// era is the part of the protocol that changed shape at 2026-07-28: how a
// client says who it is, how it is asked, and what a result must carry. It is
// chosen once for each request.
type era interface {
	// open says in c who asks, and refuses what may not be asked now.
	open(c *Call) error
	// resume takes up the answers that came with a request.
	resume(ctx context.Context, c *Call, a *mcp.Answers) error
	// ask answers the questions, or fails with ErrInputRequired.
	ask(ctx context.Context, c *Call, qs []Question) error
	// wantsLog reports whether the client wants log messages of this level.
	wantsLog(c *Call, level mcp.LoggingLevel) bool
	// tasks is the form that tasks have.
	tasks() taskKind
	// finish gives a result the shape of the era and revision.
	finish(ctx context.Context, c *Call, res any, err error) (any, error)
}

// eraOf chooses: requests with modern metadata are modern, whatever came
// before them on the connection (spec section 2.6).
func eraOf(meta *mcp.RequestMeta) era {
	if meta.Modern() {
		return modern{}
	}
	return legacy{}
}
