package server

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// modern is the era without sessions: each request says who the client is, and
// the client is asked by a result, with whose answers it sends the request
// again.
type modern struct{}

func (modern) open(c *Call) error {
	meta := c.meta
	if err := meta.Check(); err != nil {
		return err
	}
	if !meta.Version.Modern() {
		versions := make([]mcp.Version, 0, 8)
		for _, r := range mcp.Revisions() {
			versions = append(versions, r.Version)
		}
		return mcp.UnsupportedVersion(meta.Version, versions)
	}
	c.Version = meta.Version
	c.from(meta.Client, meta.Capabilities)
	return nil
}

// resume checks the state before anything is done with the request. Answers
// beside the state win over those in it: they are newer.
func (modern) resume(ctx context.Context, c *Call, a *mcp.Answers) error {
	limit := c.session.server.opts.Limits.Questions
	if over(len(a.InputResponses), limit) {
		return mcp.InvalidParams("params.inputResponses has more than %d answers", limit)
	}
	if a.InputResponses == nil && a.RequestState == nil {
		return nil
	}
	in := c.questions()
	in.answers = maps.Clone(map[string]jsontext.Value(a.InputResponses))
	if a.RequestState == nil {
		return nil
	}
	st, err := c.session.server.sealer.open(*a.RequestState, c.binding(ctx))
	if err != nil {
		return err
	}
	in.state = st.Value
	if in.answers == nil {
		in.answers = st.Answers
	}
	for key, answer := range st.Answers {
		if _, newer := in.answers[key]; !newer {
			in.answers[key] = answer
		}
	}
	if over(len(in.answers), limit) {
		return mcp.InvalidParams("params.inputResponses and requestState have more than %d answers", limit)
	}
	return nil
}

func (modern) ask(_ context.Context, c *Call, qs []Question) error {
	var open []Question
	for _, q := range qs {
		answer, ok := c.answer(q.Key)
		if !ok {
			open = append(open, q)
			continue
		}
		if err := q.accept(c, answer); err != nil {
			return mcp.InvalidParams("params.inputResponses: %w", err)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := checkCapabilities(c, open); err != nil {
		return err
	}
	for _, q := range open {
		if err := c.pose(q); err != nil {
			return err
		}
	}
	return ErrInputRequired
}

// answer looks for an answer that came with the request, and remembers that it
// was needed: that is what later rounds get.
func (c *Call) answer(key string) (jsontext.Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.questions()
	a, ok := in.answers[key]
	if ok {
		if in.used == nil {
			in.used = map[string]jsontext.Value{}
		}
		in.used[key] = a
	}
	return a, ok
}

// pose puts a question into the result, which is made after the call is over.
func (c *Call) pose(q Question) error {
	params, err := json.Marshal(mcp.Downgrade(c.Version, q.params))
	if err != nil {
		return fmt.Errorf("server: encode question %q: %w", q.Key, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errOver
	}
	in := c.questions()
	if limit := c.session.server.opts.Limits.Questions; over(len(in.asked)+1, limit) {
		return fmt.Errorf("server: more questions in one round than Limits.Questions (%d)", limit)
	}
	if in.asked == nil {
		in.asked = mcp.InputRequests{}
	}
	in.asked[q.Key] = mcp.InputRequest{Method: q.method, Params: params}
	return nil
}

// inputRequired is the result that asks. It has a state only where there is
// something to remember.
func (c *Call) inputRequired(ctx context.Context) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.questions()
	if !c.Method.MayAsk || len(in.asked) == 0 && in.state == nil {
		return nil, errors.New("server: a handler returned ErrInputRequired without having asked anything")
	}
	res := &mcp.InputRequiredResult{}
	res.ResultType = mcp.ResultInputRequired
	res.InputRequests = in.asked
	if len(in.used) == 0 && in.state == nil {
		return res, nil
	}
	text, err := c.session.server.sealer.seal(requestState{Answers: in.used, Value: in.state}, c.binding(ctx))
	if err != nil {
		return nil, err
	}
	res.RequestState = &text
	return res, nil
}

// binding is what the state of a call is good for.
func (c *Call) binding(ctx context.Context) []byte {
	var principal string
	if f := c.session.server.opts.Principal; f != nil {
		principal = f(ctx, c.req)
	}
	// Decoded again: the handler may have changed what it was given.
	params, err := methods[c.req.Method].decode(c.req, c.meta)
	if err != nil {
		params = nil
	}
	switch p := params.(type) {
	case *mcp.CallToolParams:
		return stateBinding(principal, c.req.Method, p.Name, p.Arguments)
	case *mcp.GetPromptParams:
		args, err := json.Marshal(p.Arguments, json.Deterministic(true))
		if err == nil {
			return stateBinding(principal, c.req.Method, p.Name, args)
		}
	case *mcp.ReadResourceParams:
		return stateBinding(principal, c.req.Method, p.URI, nil)
	}
	return stateBinding(principal, c.req.Method, "", c.req.Params)
}

func (modern) wantsLog(c *Call, level mcp.LoggingLevel) bool { return c.meta.LogLevel.Covers(level) }

func (m modern) finish(ctx context.Context, c *Call, res any, err error) (any, error) {
	if errors.Is(err, ErrInputRequired) {
		if res, err = c.inputRequired(ctx); err != nil {
			c.report(ctx, err)
		}
	}
	if err != nil {
		return nil, err
	}
	if a, ok := res.(*toolAnswer); ok {
		a.head = c.session.server.toolHead
		return a, nil
	}
	r, ok := res.(mcp.AnyResult)
	if !ok || c.Method.From == "" { // of an extension, perhaps shared by calls
		return m.finishOther(c, res)
	}
	common := r.CommonResult()
	if common.ResultType == "" {
		common.ResultType = mcp.ResultComplete
	}
	m.stamp(c, common)
	if k, ok := res.(interface{ CacheHints() *mcp.Cache }); ok && c.Method.Cacheable && common.ResultType == mcp.ResultComplete {
		c.session.server.hint(k.CacheHints(), c.input != nil && len(c.input.answers) > 0)
	}
	return mcp.Downgrade(c.Version, res), nil
}

// stamp says in a result who the server is.
func (modern) stamp(c *Call, r *mcp.Result) {
	if r.Meta == nil {
		r.Meta = c.session.server.infoMeta // shared: nobody changes a result that is finished
		return
	}
	if _, ok := r.Meta[mcp.MetaServerInfo]; ok {
		return
	}
	meta := make(mcp.Meta, len(r.Meta)+1)
	maps.Copy(meta, r.Meta)
	meta[mcp.MetaServerInfo] = c.session.server.infoMeta[mcp.MetaServerInfo]
	r.Meta = meta
}

// finishOther gives the result of an extension's method, whatever type it has,
// what every result must have.
func (m modern) finishOther(c *Call, res any) (any, error) {
	b, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	var r mcp.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, rpc.Errorf(rpc.CodeInternalError, "the result is not an object")
	}
	if r.ResultType == "" {
		r.ResultType = mcp.ResultComplete
	}
	m.stamp(c, &r)
	return &r, nil
}

// hint fills in how long a result may be kept. One that came from answers is
// for nobody else and not for long (spec section 4.2).
func (s *Server) hint(k *mcp.Cache, answered bool) {
	if k.TTLMs == nil {
		ms := s.opts.CacheTTL.Milliseconds()
		k.TTLMs = &ms
	}
	if k.Scope == "" {
		k.Scope = s.opts.CacheScope
	}
	if answered {
		k.TTLMs, k.Scope = new(int64), mcp.CachePrivate
	}
}
