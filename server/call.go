package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// Call is one request, as the code that answers it sees it. Its fields, and what
// they point to, are to be read only; its methods may be called from several goroutines at once, and
// do nothing once the request is answered.
type Call struct {
	// Method is the row of the request's method. For a method of an extension
	// it has only the name.
	Method *mcp.Method
	// Version is the revision that the client speaks.
	Version mcp.Version
	// Client is who the client says it is: for display and logs, never for
	// decisions. It may be empty.
	Client *mcp.Implementation
	// Capabilities are what the client can be asked.
	Capabilities *mcp.ClientCapabilities
	// Params are decoded: *mcp.CallToolParams for tools/call and so on, a
	// jsontext.Value for a method of an extension.
	Params any
	// Meta is the _meta of the request, without what the fields above have of
	// it. Nil where there is nothing else.
	Meta mcp.Meta
	// Header has the headers of the HTTP request; nil where there is no HTTP.
	Header http.Header

	session *session
	era     era
	peer    rpc.Peer
	req     *rpc.Request
	handle  Handler
	meta    *mcp.RequestMeta // perhaps shared: read only
	ctx     callContext
	task    *taskRun // nil where the call cannot become a task

	mu    sync.Mutex
	over  bool          // answered
	note  *progressNote // nil until there is progress
	input *input        // nil until something is asked, or was
}

// ErrNoCall is returned by methods that need a client, outside a request.
var ErrNoCall = errors.New("server: not inside a request: use the context that the handler was called with")

// errOver is for what a handler's leftovers try to send.
var errOver = errors.New("server: the request has been answered")

type callKey struct{}

// A callContext is what the handler of a call is given. It is part of the call,
// since a context of package context would be one more thing to make.
type callContext struct {
	context.Context
	call *Call
}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// CallFrom returns the call whose handler was given ctx. Outside a request the
// call is inert: progress and logs go nowhere and questions fail with
// [ErrNoCall]. So it is never nil, and a tool is a function that can be tested
// by itself.
func CallFrom(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	c := &Call{Method: new(mcp.Method), meta: &noMeta}
	c.from(nil, nil)
	return c
}

// from says who asks. Nil is somebody who does not say.
func (c *Call) from(client *mcp.Implementation, can *mcp.ClientCapabilities) {
	if c.Client = client; client == nil {
		c.Client = new(mcp.Implementation)
	}
	if c.Capabilities = can; can == nil {
		c.Capabilities = new(mcp.ClientCapabilities)
	}
}

// newCall returns the call of a request. Its error is for the client.
func newCall(ctx context.Context, ss *session, req *rpc.Request, peer rpc.Peer) (*Call, error) {
	c := &Call{Header: req.Header, session: ss, peer: peer, req: req}
	if m, ok := methods[req.Method]; ok {
		c.Method = &m.row
	} else {
		row, _ := mcp.MethodByName(req.Method)
		row.Name = req.Method
		c.Method = &row
	}
	c.ctx = callContext{ctx, c}
	var err error
	if c.meta, err = ss.server.metas.read(req); err != nil {
		return nil, err
	}
	c.era = eraOf(c.meta)
	return c, nil
}

// ID returns the ID of the request; zero outside one.
func (c *Call) ID() rpc.ID {
	if c.req == nil {
		return rpc.ID{}
	}
	return c.req.ID
}

// Progress tells the client how far the request is: done of total, or of an
// unknown total where that is 0. message may be empty. Progress that is not more
// than the last one is not sent (spec: it must increase), nor is any where the
// client does not want to know; both is no error.
func (c *Call) Progress(ctx context.Context, done, total float64, message string) error {
	if c.meta.ProgressToken.IsZero() {
		return nil
	}
	if math.IsNaN(done+total) || math.IsInf(done+total, 0) {
		return fmt.Errorf("server: progress %v of %v is not a number", done, total)
	}
	// The lock is held while it is sent, so that the order stays.
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.note == nil {
		c.note = &progressNote{last: math.Inf(-1)}
	}
	if done <= c.note.last {
		return nil
	}
	if err := c.send(ctx, mcp.NotificationProgress, c.note.of(c.meta.ProgressToken, done, total, message)); err != nil {
		return err
	}
	c.note.last = done
	return nil
}

// A progressNote is the memory for what a call says of its progress: sending
// encodes it at once.
type progressNote struct {
	params mcp.ProgressParams
	total  float64
	last   float64 // what was sent last
}

func (n *progressNote) of(token mcp.ProgressToken, done, total float64, message string) *mcp.ProgressParams {
	n.params = mcp.ProgressParams{ProgressToken: token, Progress: done, Message: message}
	if n.total = total; total != 0 {
		n.params.Total = &n.total
	}
	return &n.params
}

// Notify sends a notification of an extension, on the stream of this request.
func (c *Call) Notify(ctx context.Context, method string, params any) error {
	if c.peer == nil {
		return ErrNoCall
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send(ctx, method, params)
}

// send must be called with c.mu held: nothing is sent behind the response.
func (c *Call) send(ctx context.Context, method string, params any) error {
	if c.over {
		return errOver
	}
	req, err := rpc.NewRequest(method, mcp.Downgrade(c.Version, params))
	if err != nil {
		return err
	}
	return c.peer.Notify(ctx, req)
}

// end comes before the response.
func (c *Call) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
}
