package recording

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A Replay is a server that answers as the recorded one did. It implements
// rpc.Binder. The same request gets the recorded answers in their order, and
// the last one from then on.
type Replay struct {
	mu      sync.Mutex
	answers map[string][]*Call // by key
	openers map[string]*Call   // by method: answered whatever is asked
}

// NewReplay returns a server that answers from r.
func NewReplay(r *Recording) *Replay {
	p := &Replay{answers: map[string][]*Call{}, openers: map[string]*Call{}}
	for _, c := range r.Calls() {
		if c.Dir != FromClient {
			continue
		}
		if opens(c.Method) {
			if c.Answered() && p.openers[c.Method] == nil {
				p.openers[c.Method] = c
			}
			continue
		}
		p.answers[c.Key()] = append(p.answers[c.Key()], c)
	}
	return p
}

// opens reports whether a request says who the client is, so that another
// client's may differ.
func opens(method string) bool { return method == mcp.MethodInitialize || method == mcp.MethodDiscover }

// Bind returns the handler of a connection.
func (p *Replay) Bind(context.Context, rpc.Conn) rpc.Handler { return (*replayed)(p) }

type replayed Replay

// Handle answers one request.
func (p *replayed) Handle(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
	if req.ID.IsZero() {
		return nil, nil
	}
	c := p.find(req)
	if c == nil {
		return p.unknown(req)
	}
	for _, e := range c.Meanwhile {
		if err := repeat(ctx, peer, req, e); err != nil {
			return nil, err
		}
	}
	if !c.Answered() {
		if c.Method == mcp.MethodListen { // it lasted until the end
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return nil, rpc.Errorf(rpc.CodeInternalError, "the recording has no answer to call %d, %s", c.N, c.Method)
	}
	if c.Error != nil {
		return nil, c.Error
	}
	return c.Result, nil
}

func (p *replayed) find(req *rpc.Request) *Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if opens(req.Method) {
		return p.openers[req.Method]
	}
	k := key(req.Method, req.Params)
	of := p.answers[k]
	if len(of) == 0 {
		return nil
	}
	if len(of) > 1 {
		p.answers[k] = of[1:]
	}
	return of[0]
}

// unknown answers what was not recorded.
func (p *replayed) unknown(req *rpc.Request) (any, error) {
	switch req.Method {
	case mcp.MethodPing, mcp.MethodSetLevel:
		return jsontext.Value("{}"), nil
	case mcp.MethodInitialize, mcp.MethodDiscover: // of the other era
		return nil, rpc.Errorf(rpc.CodeMethodNotFound, "the recording has no %s", req.Method)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.answers {
		if of[0].Method == req.Method {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "the recording has %s, but not with these parameters", req.Method)
		}
	}
	return nil, rpc.Errorf(rpc.CodeMethodNotFound, "the recording has no %s", req.Method)
}

// repeat sends again what the server sent during a call. Progress gets the
// token of this request, and is left out where that has none.
func repeat(ctx context.Context, peer rpc.Peer, req *rpc.Request, e Envelope) error {
	out := &rpc.Request{Method: e.Method, Params: e.Params}
	if e.Method == mcp.NotificationProgress {
		var meta struct {
			Meta struct {
				Token jsontext.Value `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(req.Params, &meta) // there is no token then
		var params map[string]jsontext.Value
		_ = json.Unmarshal(e.Params, &params) // what was no progress is none now
		if len(meta.Meta.Token) == 0 || params == nil {
			return nil
		}
		params["progressToken"] = meta.Meta.Token
		raw, err := json.Marshal(params, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		out.Params = raw
	}
	if len(e.ID) == 0 {
		return peer.Notify(ctx, out)
	}
	// What is answered now may differ, but the rest is as it was recorded.
	if err := peer.Call(ctx, out, nil); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
