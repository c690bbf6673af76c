package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// gather answers what an input_required asks for and returns the members that
// go into the retry (spec: basic/patterns/mrtr). All is answered, or the
// operation ends: there is no way to say no to one question but in its answer.
func (c *Client) gather(ctx context.Context, call *Call, q *mcp.Questions) ([]byte, error) {
	if len(q.InputRequests) == 0 && q.RequestState == nil {
		return nil, fmt.Errorf("client: %s: the server asks for input and does not say for what", call.Method)
	}
	if n := len(q.InputRequests); over(n, c.opts.Limits.Asks) {
		return nil, fmt.Errorf("client: %s: the server asks for %d inputs at once, more than Limits.Asks", call.Method, n)
	}
	members := make([]byte, 0, 256) // never nil: that is the mark of a first try
	if len(q.InputRequests) > 0 {
		responses, err := c.answerAll(ctx, call, q.InputRequests)
		if err != nil {
			return nil, err
		}
		members = appendMember(members, memberResponses, responses)
	}
	if q.RequestState != nil {
		members = appendMember(members, memberState, appendString(nil, *q.RequestState))
	}
	return members, nil
}

// answerAll answers in the order of the keys: one question at a time for the
// person in front.
func (c *Client) answerAll(ctx context.Context, call *Call, asked mcp.InputRequests) (jsontext.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)() //nolint:contextcheck // it ends with the client too
	out := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		q := asked[key]
		res, err := c.answerInput(ctx, q)
		if err != nil && c.ctx.Err() != nil {
			return nil, rpc.ErrClosed
		}
		if err != nil {
			return nil, &InputError{Operation: call.Method, Asked: q.Method, Key: key, Err: err}
		}
		raw, err := json.Marshal(res)
		if err != nil {
			return nil, &InputError{Operation: call.Method, Asked: q.Method, Key: key, Err: err}
		}
		out = appendMember(out, key, raw)
	}
	return append(out, '}'), nil
}

// answerInput answers what may be asked in input_required.
func (c *Client) answerInput(ctx context.Context, q mcp.InputRequest) (any, error) {
	switch q.Method {
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList:
		return c.answer(ctx, q.Method, q.Params)
	}
	return nil, errors.New("this cannot be asked for")
}

// answer answers a question of the server, however it came. An error that is
// not an *rpc.Error stays on this side.
func (c *Client) answer(ctx context.Context, method string, params jsontext.Value) (any, error) {
	switch method {
	case mcp.MethodPing:
		return struct{}{}, nil
	case mcp.MethodElicit:
		return c.contained(ctx, method, func(ctx context.Context) (any, error) { return c.elicit(ctx, params) })
	case mcp.MethodCreateMessage:
		return c.contained(ctx, method, func(ctx context.Context) (any, error) { return c.sample(ctx, params) })
	case mcp.MethodRootsList:
		return c.contained(ctx, method, c.listRoots)
	}
	return nil, rpc.Errorf(rpc.CodeMethodNotFound, "method not found: %s", excerpt(method, 64))
}

// contained runs a callback on a goroutine of its own: one that does not look
// at its context does not hold up the others, and one that panics ends only
// what it was asked for.
func (c *Client) contained(ctx context.Context, method string, fn func(context.Context) (any, error)) (any, error) {
	select {
	case c.handlers <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type outcome struct {
		res any
		err error
	}
	done := make(chan outcome, 1)
	ok := c.spawn(func() {
		defer func() { <-c.handlers }()
		defer func() {
			if p := recover(); p != nil {
				c.log.Error("client: a callback panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
				done <- outcome{err: errPanicked}
			}
		}()
		res, err := fn(ctx)
		done <- outcome{res, err}
	})
	if !ok {
		<-c.handlers
		return nil, rpc.ErrClosed
	}
	select {
	case o := <-done:
		return o.res, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errPanicked = errors.New("client: the callback panicked")

// noHandler is the answer where nothing is declared.
func noHandler(method, option string) error {
	return rpc.Errorf(rpc.CodeMethodNotFound, "%s is not supported: the client has no %s function", method, option)
}

func (c *Client) elicit(ctx context.Context, params jsontext.Value) (any, error) {
	if c.opts.Elicit == nil {
		return nil, noHandler(mcp.MethodElicit, "Elicit")
	}
	p := new(mcp.ElicitParams)
	if err := json.Unmarshal(params, p); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s: params cannot be read", mcp.MethodElicit)
	}
	if p.Mode == "" {
		p.Mode = mcp.ElicitForm
	}
	if p.Mode != mcp.ElicitForm && (p.Mode != mcp.ElicitURL || !c.opts.ElicitURL) {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "elicitation mode %q was not declared", excerpt(p.Mode, 32))
	}
	res, err := c.opts.Elicit(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		c.log.Warn("client: Options.Elicit failed: the server is told that the user cancelled", "error", err)
		res = nil
	}
	if res == nil {
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	return c.checkElicited(p, res)
}

// checkElicited returns res as it may be sent: content belongs to a form that
// was accepted, and is what the form asked for.
func (c *Client) checkElicited(p *mcp.ElicitParams, res *mcp.ElicitResult) (*mcp.ElicitResult, error) {
	out := *res
	switch {
	case res.Action == mcp.ElicitDecline, res.Action == mcp.ElicitCancel, res.Action == mcp.ElicitAccept && p.Mode == mcp.ElicitURL:
		out.Content = nil
		return &out, nil
	case res.Action != mcp.ElicitAccept:
		return nil, fmt.Errorf("client: Options.Elicit returned the action %q: want accept, decline or cancel", res.Action)
	}
	if c.opts.ElicitDefaults {
		out.Content = withDefaults(p.RequestedSchema, out.Content)
	}
	if out.Content == nil {
		out.Content = map[string]jsontext.Value{}
	}
	if err := c.checkForm(p, out.Content); err != nil {
		return nil, fmt.Errorf("client: the content from Options.Elicit does not fit the form: %w", err)
	}
	return &out, nil
}

func (c *Client) sample(ctx context.Context, params jsontext.Value) (any, error) {
	if c.opts.Sample == nil {
		return nil, noHandler(mcp.MethodCreateMessage, "Sample")
	}
	p := new(mcp.CreateMessageParams)
	if err := json.Unmarshal(params, p); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s: params cannot be read", mcp.MethodCreateMessage)
	}
	if !c.opts.SampleTools && (len(p.Tools) > 0 || p.ToolChoice != nil) {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "tools in %s were not declared", mcp.MethodCreateMessage)
	}
	res, err := c.reviewed(ctx, p)
	if errors.Is(err, ErrRejected) || err == nil && res == nil {
		return nil, rpc.Errorf(mcp.CodeUserRejected, "the user rejected the sampling request")
	}
	if err != nil {
		return nil, err
	}
	out := *res // what the function returned is its own
	return &out, nil
}

// reviewed samples, with a person in front and behind.
func (c *Client) reviewed(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	if c.opts.ReviewSampleRequest != nil {
		if err := c.opts.ReviewSampleRequest(ctx, p); err != nil {
			return nil, err
		}
	}
	res, err := c.opts.Sample(ctx, p)
	if err != nil || res == nil || c.opts.ReviewSampleResult == nil {
		return res, err
	}
	return res, c.opts.ReviewSampleResult(ctx, p, res)
}

func (c *Client) listRoots(ctx context.Context) (any, error) {
	if c.opts.Roots == nil {
		return nil, noHandler(mcp.MethodRootsList, "Roots")
	}
	roots, err := c.opts.Roots(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range roots {
		if !isRoot(r.URI) {
			return nil, fmt.Errorf("client: Options.Roots returned %q: a root is a file:// URI without \"..\"", r.URI)
		}
	}
	return &mcp.ListRootsResult{Roots: roots}, nil
}

// isRoot reports whether a root may have the URI (spec, RT-03).
func isRoot(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && u.Scheme == "file" && strings.HasPrefix(uri[len("file:"):], "//") && strings.HasPrefix(u.Path, "/") &&
		!slices.Contains(strings.Split(u.Path, "/"), "..")
}

// RootsChanged tells the server that what Options.Roots returns is not what it
// was. A modern server is not told: it asks when it needs to know.
func (c *Client) RootsChanged(ctx context.Context) error {
	err := c.Notify(ctx, mcp.NotificationRootsListChanged, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// declared returns the capabilities that follow from Options, as a modern
// client declares them.
func (c *Client) declared() mcp.ClientCapabilities {
	var caps mcp.ClientCapabilities
	if c.opts.Capabilities != nil {
		caps = *c.opts.Capabilities
	}
	// What answers is a function: nothing is declared without one.
	caps.Roots, caps.Elicitation = nil, nil
	if c.opts.Roots != nil {
		caps.Roots = new(mcp.RootsCapability)
	}
	if c.opts.Elicit != nil {
		caps.Elicitation = &mcp.ElicitationCapability{Form: new(mcp.Support)}
		if c.opts.ElicitURL {
			caps.Elicitation.URL = new(mcp.Support)
		}
	}
	if c.opts.Tasks {
		caps.Extensions = maps.Clone(caps.Extensions)
		if caps.Extensions == nil {
			caps.Extensions = map[string]jsontext.Value{}
		}
		caps.Extensions[mcp.ExtensionTasks] = jsontext.Value("{}")
	}
	sampling := caps.Sampling
	caps.Sampling = nil
	if c.opts.Sample != nil {
		caps.Sampling = new(mcp.SamplingCapability)
		if sampling != nil { // whether it takes a context is the caller's to say
			caps.Sampling.Context = sampling.Context
		}
		if c.opts.SampleTools {
			caps.Sampling.Tools = new(mcp.Support)
		}
	}
	return caps
}
