package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A Call is one operation of the client, as [Middleware] sees it: all that is
// sent for it, the answers to input_required included, is inside.
type Call struct {
	Method string
	Params any      // what will be encoded; nil where there is nothing
	Result any      // a pointer that the answer is decoded into, or nil
	Meta   mcp.Meta // added to the _meta of every request; wins over Params

	opts callOptions
	told float64 // the last progress that was handed over

	first *flight // to be used by one request; nearly all calls send one

	mended int       // how often in this round
	visits *visiting // of the user; nil: there are none
}

type callOptions struct {
	progress    func(mcp.ProgressParams)
	limits      timeLimits
	logLevel    mcp.LoggingLevel
	meta        mcp.Meta
	manual      bool
	uncached    bool
	resultTypes []mcp.ResultType
}

// A CallOption changes one operation.
type CallOption func(*callOptions)

// ManualInput leaves input_required to the caller: the result is returned with
// its InputRequests and RequestState, and the caller sends the answers in the
// params of another call. A proxy wants this.
func ManualInput() CallOption { return func(o *callOptions) { o.manual = true } }

// Uncached asks the server even where a fresh result is in the cache.
func Uncached() CallOption { return func(o *callOptions) { o.uncached = true } }

// WithMeta adds members to the _meta of the request. They win over those in
// the params, and lose against those that the client itself must send.
func WithMeta(m mcp.Meta) CallOption { return func(o *callOptions) { o.meta = m } }

// AcceptResultType lets results through that an extension gave a type of its
// own; the result is decoded into what the caller passed.
func AcceptResultType(types ...mcp.ResultType) CallOption {
	return func(o *callOptions) { o.resultTypes = append(o.resultTypes, types...) }
}

// do runs one operation through the middleware.
func (c *Client) do(ctx context.Context, method string, params, result any, opts []CallOption) error {
	call := new(operation).call()
	call.Method, call.Params, call.Result = method, params, result
	return c.run(ctx, call, opts)
}

func (c *Client) run(ctx context.Context, call *Call, opts []CallOption) error {
	if v := reflect.ValueOf(call.Params); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("client: %s: params are nil; pass a %T that says what is meant", call.Method, call.Params)
	}
	call.opts.progress, call.opts.limits = c.opts.OnProgress, c.limits
	for _, opt := range opts {
		opt(&call.opts)
	}
	if err := checkLevel(call.opts.logLevel); err != nil {
		return err
	}
	call.Meta, call.told = call.opts.meta, math.Inf(-1)
	return (*c.chain.Load())(ctx, call)
}

// send is the end of the middleware: it asks until the result is complete.
func (c *Client) send(ctx context.Context, call *Call) error {
	params := call.Params
	if params != nil {
		params = mcp.Downgrade(c.Version(), params)
	}
	b, err := encodeParams(params, call.Meta, call.opts.manual)
	defer b.free()
	if err != nil {
		return fmt.Errorf("client: encode params of %s: %w", call.Method, err)
	}
	var answers []byte
	for round := 1; ; round++ {
		a, err := c.attempt(ctx, call, b, answers)
		if err != nil {
			return err
		}
		if !a.asksInput() {
			return a.err()
		}
		if over(round, c.opts.Limits.Rounds) {
			return fmt.Errorf("%w: %s asked for input %d times", ErrNotEnding, call.Method, round)
		}
		if answers, err = c.gather(ctx, call, &a.head.Questions); err != nil {
			return err
		}
		if call.Result != nil { // the next answer is not to be mixed with this one
			reflect.ValueOf(call.Result).Elem().SetZero()
		}
	}
}

// attempt sends one round. What can be put right is put right: a revision that
// the server took back, mirrored headers of a tool that changed, a URL that the
// user has to visit first.
func (c *Client) attempt(ctx context.Context, call *Call, b body, answers []byte) (*answer, error) {
	call.mended = 0
	defer func() { c.visits.remove(call.visits) }()
	for {
		s := c.session.Load()
		if s == nil {
			return nil, rpc.ErrClosed
		}
		a, err := c.once(ctx, s, call, b, answers)
		if err == nil {
			return a, nil
		}
		if !s.era.mend(ctx, c, s, call, err) {
			return nil, typed(call.Method, err)
		}
		call.mended++
	}
}

// once sends one request, or serves it from the cache.
func (c *Client) once(ctx context.Context, s *session, call *Call, b body, answers []byte) (*answer, error) {
	row, _ := mcp.MethodByName(call.Method) // zero where no revision has it
	if err := s.has(&row); err != nil {
		return nil, err
	}
	f := call.flight()
	f.answer = answer{call: call, modern: s.era.stamps(), mayAsk: row.MayAsk}
	key, cacheable := c.cacheKey(s, &row, call, b, answers)
	if cacheable && !call.opts.uncached {
		if raw := c.cache.load(key); raw != nil {
			return &f.answer, json.Unmarshal(raw, call.Result)
		}
	}
	f.keep = cacheable
	generation := uint64(0)
	if cacheable {
		generation = c.cache.generation(call.Method)
	}
	if err := c.exchange(ctx, s, f, b, answers); err != nil {
		c.forgetPages(&row, b, err)
		return nil, err
	}
	if cacheable && f.kept != nil {
		if f.head.Scope == mcp.CachePublic {
			key.auth = ""
		}
		c.cache.store(generation, key, f.kept, ttlOf(f.head.TTLMs))
	}
	return &f.answer, nil
}

// flight returns a new flight.
func (call *Call) flight() *flight {
	if f := call.first; f != nil && f.used.CompareAndSwap(false, true) {
		return f
	}
	return new(flight)
}

// operation is a call and what it needs, in one piece of memory.
type operation struct {
	Call
	first flight
}

func (o *operation) call() *Call {
	o.Call.first = &o.first
	return &o.Call
}

// cacheKey reports under which key the result may be kept; never that of a
// retry with answers.
func (c *Client) cacheKey(s *session, row *mcp.Method, call *Call, b body, answers []byte) (cacheKey, bool) {
	if !row.Cacheable || !s.era.stamps() || answers != nil || call.opts.manual || call.Result == nil {
		return cacheKey{}, false
	}
	key := cacheKey{method: call.Method, params: string(b.members), auth: "private:"}
	if c.opts.AuthKey != nil {
		key.auth += c.opts.AuthKey()
	}
	return key, true
}

// forgetPages drops the pages of a list when a cursor is no longer known.
func (c *Client) forgetPages(row *mcp.Method, b body, err error) {
	if row.Cacheable && row.NameParam == "" && len(b.members) > 0 && errors.Is(err, mcp.ErrInvalidParams) {
		c.cache.drop(row.Name)
	}
}

// answer decodes a result and finds out what kind it is of. The result of a
// type of package mcp is decoded in one go; another is looked at first.
type answer struct {
	call   *Call
	modern bool
	mayAsk bool // the method may
	keep   bool // for the cache

	head resultHead
	kept jsontext.Value
}

// resultHead is what every modern result may have, whatever the method.
type resultHead struct {
	ResultType mcp.ResultType `json:"resultType"`
	mcp.Questions
	mcp.Cache
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom]: not every connection
// knows an [rpc.ResultReader].
func (a *answer) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	return a.ReadResult(v.Clone())
}

// ReadResult implements [rpc.ResultReader].
func (a *answer) ReadResult(v jsontext.Value) error {
	switch k := v.Kind(); {
	case k == 'n' && !a.modern: // how some servers of old say that there is nothing to say
		return nil
	case k != '{':
		return fmt.Errorf("the result of %s is no object", a.call.Method)
	case a.modern:
		return a.readModern(v)
	case a.call.Result == nil:
		return nil
	}
	return mcp.DecodeResult(v, a.call.Result)
}

func (a *answer) readModern(v jsontext.Value) error {
	if r, ok := a.call.Result.(mcp.AnyResult); ok && !a.keep {
		if err := mcp.DecodeResult(v, r); err != nil {
			return err
		}
		a.head.ResultType = r.CommonResult().ResultType
		if q := questionsOf(r); q != nil {
			a.head.Questions = *q
		}
		return nil
	}
	if err := json.Unmarshal(v, &a.head); err != nil {
		return err
	}
	if !a.accepted() || a.call.Result == nil {
		return nil
	}
	if a.keep && ttlOf(a.head.TTLMs) > 0 {
		a.kept = v.Clone()
	}
	return mcp.DecodeResult(v, a.call.Result)
}

// questionsOf returns the part that asks of the results that may ask.
func questionsOf(r mcp.AnyResult) *mcp.Questions {
	switch r := r.(type) {
	case *mcp.CallToolResult:
		return &r.Questions
	case *mcp.GetPromptResult:
		return &r.Questions
	case *mcp.ReadResourceResult:
		return &r.Questions
	}
	return nil
}

func (a *answer) asksInput() bool {
	return a.modern && !a.call.opts.manual && a.head.ResultType == mcp.ResultInputRequired && a.mayAsk
}

// accepted reports whether the result is for the caller.
func (a *answer) accepted() bool {
	switch t := a.head.ResultType; t {
	case "", mcp.ResultComplete:
		return true
	case mcp.ResultInputRequired:
		return a.call.opts.manual
	default:
		return slices.Contains(a.call.opts.resultTypes, t)
	}
}

// err is for results that no rule lets through.
func (a *answer) err() error {
	if !a.modern || a.accepted() {
		return nil
	}
	return fmt.Errorf("client: %s: the server sent a result of the unknown type %q", a.call.Method, excerpt(string(a.head.ResultType), 64))
}
