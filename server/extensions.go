package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// A MethodHandler answers a method of an extension. The result is encoded as a
// JSON object; nil is an empty one.
type MethodHandler func(ctx context.Context, req *rpc.Request) (any, error)

// HandleMethod answers a method that the core does not have, in both eras. An
// extension also wants its identifier in Options.Capabilities. Extensions are
// off until they are added.
func (s *Server) HandleMethod(name string, h MethodHandler) error {
	if name == "" || h == nil {
		return errors.New("server: a method needs a name and a handler")
	}
	if m, known := mcp.MethodByName(name); known && m.Extension == "" {
		return fmt.Errorf("server: %s is a method of the protocol: extensions have names of their own", name)
	}
	m := &method{
		row:    mcp.Method{Name: name},
		decode: func(req *rpc.Request, _ *mcp.RequestMeta) (any, error) { return req.Params, nil },
		handle: func(ctx context.Context, c *Call) (any, error) {
			res, err := h(ctx, c.req)
			if err != nil {
				return nil, err
			}
			return objectOf(name, mcp.Downgrade(c.Version, res))
		},
	}
	s.change(0, func(f *features) bool {
		f.methods = cloned(f.methods, name, m)
		return true
	})
	return nil
}

// objectOf encodes the result of an extension's method here, where a panic of
// the type's own code is contained.
func objectOf(method string, res any) (any, error) {
	if res == nil {
		return jsontext.Value("{}"), nil
	}
	b, err := json.Marshal(res)
	if err != nil {
		return nil, fmt.Errorf("server: encode the result of %s: %w", method, err)
	}
	if jsontext.Value(b).Kind() != '{' {
		return nil, fmt.Errorf("server: the result of %s is not an object", method)
	}
	return jsontext.Value(b), nil
}

// HandleNotification hears of a notification that the core does not have. The
// notifications of one connection are handled one after another, in the order
// they came; where too many wait, further ones are dropped.
func (s *Server) HandleNotification(name string, h func(ctx context.Context, req *rpc.Request)) error {
	if name == "" || h == nil {
		return errors.New("server: a notification needs a name and a handler")
	}
	if m, known := mcp.MethodByName(name); known && m.Extension == "" {
		return fmt.Errorf("server: %s is a notification of the protocol: extensions have names of their own", name)
	}
	s.change(0, func(f *features) bool {
		f.notifications = cloned(f.notifications, name, h)
		return true
	})
	return nil
}

// custom hands a notification to who wants it.
func (ss *session) custom(req *rpc.Request) {
	h, ok := ss.server.features.Load().notifications[req.Method]
	if !ok {
		return
	}
	ss.queue(req.Method, func() { h(ss.ctx, req) })
}
