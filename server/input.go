package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// ErrInputRequired leaves a handler so that the client can be asked. A handler
// returns it, wrapped or not, as it got it from [Call.Elicit] and the like.
// When it returns a result instead, the result counts and nobody is asked.
var ErrInputRequired = errors.New("server: the client must be asked first; return this error from the handler")

// AskError says that the client did not answer a question: Err is what the
// client answered instead, or what is wrong with its answer.
type AskError struct {
	Key    string
	Method string
	Err    error
}

func (e *AskError) Error() string {
	return fmt.Sprintf("server: %s %q was not answered: %v", e.Method, e.Key, e.Err)
}

// Is makes errors.Is see through to Err. There is no Unwrap: the client's
// refusal of a question is not the error of the request that asked.
func (e *AskError) Is(target error) bool { return errors.Is(e.Err, target) }

// A Question is one thing to ask the client: see [Call.Ask].
type Question struct {
	// Key names the question among those of one request, in every round. It is
	// used once in each.
	Key string

	method string
	params any
	need   mcp.ClientCapabilities
	hold   time.Duration // as a task of the client; 0 = not
	// check says what is wrong with the question itself. Nil = nothing can be.
	check  func() error
	accept func(c *Call, answer jsontext.Value) error
}

// ElicitQuestion asks the user. The answer goes to res.
func ElicitQuestion(key string, p *mcp.ElicitParams, res *mcp.ElicitResult) Question {
	q := Question{Key: key, method: mcp.MethodElicit, params: p}
	q.need.Elicitation = &mcp.ElicitationCapability{Form: &mcp.Support{}}
	if p.Mode == mcp.ElicitURL {
		q.need.Elicitation = &mcp.ElicitationCapability{URL: &mcp.Support{}}
		q.check = func() error { return checkURL(p.URL) }
	} else {
		q.check = func() error { return mcp.CheckForm(p.RequestedSchema) }
	}
	q.accept = func(c *Call, answer jsontext.Value) error {
		*res = mcp.ElicitResult{}
		if err := decodeAnswer(key, answer, res); err != nil {
			return err
		}
		return checkElicited(c, key, p, res)
	}
	return q
}

// AsTask lets a client of 2025-11-25 that can do so keep the question as a task
// for up to ttl, so that an answer that takes long needs no open request. To
// others it is an ordinary question.
func (q Question) AsTask(ttl time.Duration) Question {
	q.hold = max(ttl, time.Millisecond)
	return q
}

// checkURL says whether a browser can open the URL of an elicitation.
func checkURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Host == "" {
		return errors.New("the URL of an elicitation must be absolute, such as https://example.com/login")
	}
	return nil
}

// SampleQuestion asks the client's model. The answer goes to res.
func SampleQuestion(key string, p *mcp.CreateMessageParams, res *mcp.CreateMessageResult) Question {
	q := Question{Key: key, method: mcp.MethodCreateMessage, params: p}
	q.need.Sampling = &mcp.SamplingCapability{}
	if len(p.Tools) > 0 || p.ToolChoice != nil {
		q.need.Sampling.Tools = &mcp.Support{}
	}
	q.accept = func(_ *Call, answer jsontext.Value) error {
		*res = mcp.CreateMessageResult{}
		if err := decodeAnswer(key, answer, res); err != nil {
			return err
		}
		if res.Role == "" || res.Content == nil {
			return fmt.Errorf("%q: role and content are required", key)
		}
		return nil
	}
	return q
}

// RootsQuestion asks for the client's roots. The answer goes to res.
func RootsQuestion(key string, res *mcp.ListRootsResult) Question {
	q := Question{Key: key, method: mcp.MethodRootsList, params: &mcp.ListRootsParams{}}
	q.need.Roots = &mcp.RootsCapability{}
	q.accept = func(_ *Call, answer jsontext.Value) error {
		*res = mcp.ListRootsResult{}
		if err := decodeAnswer(key, answer, res); err != nil {
			return err
		}
		if res.Roots == nil {
			return fmt.Errorf("%q: roots are required", key)
		}
		return nil
	}
	return q
}

func decodeAnswer(key string, answer jsontext.Value, res any) error {
	if answer.Kind() != '{' {
		return fmt.Errorf("%q: the answer must be an object", key)
	}
	if err := json.Unmarshal(answer, res); err != nil {
		return decodeError(fmt.Sprintf("%q", key), err)
	}
	return nil
}

// checkElicited checks an accepted form against the schema that was sent. What
// was declined has nothing to check.
func checkElicited(c *Call, key string, p *mcp.ElicitParams, res *mcp.ElicitResult) error {
	switch res.Action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		return nil
	case mcp.ElicitAccept:
	default:
		return fmt.Errorf("%q: action must be accept, decline or cancel", key)
	}
	if p.Mode == mcp.ElicitURL || len(p.RequestedSchema) == 0 {
		return nil
	}
	p, _ = mcp.Downgrade(c.Version, p).(*mcp.ElicitParams) // as the client got it
	v, err := compile(p.RequestedSchema, c.session.server.opts.Limits)
	if err != nil {
		return nil //nolint:nilerr // our own mistake, which the client cannot put right
	}
	content := res.Content
	if content == nil {
		content = map[string]jsontext.Value{}
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("%q: content cannot be read", key)
	}
	return v.check(fmt.Sprintf("%q: content", key), raw)
}

// checkCapabilities finds all that the client would have had to declare.
func checkCapabilities(c *Call, qs []Question) error {
	have := c.Capabilities
	var missing mcp.ClientCapabilities
	for _, q := range qs {
		switch {
		case q.need.Roots != nil && have.Roots == nil:
			missing.Roots = q.need.Roots
		case q.need.Sampling != nil:
			lackTools := q.need.Sampling.Tools != nil && (have.Sampling == nil || have.Sampling.Tools == nil)
			if have.Sampling != nil && !lackTools {
				continue
			}
			if missing.Sampling == nil {
				missing.Sampling = &mcp.SamplingCapability{}
			}
			if lackTools {
				missing.Sampling.Tools = q.need.Sampling.Tools
			}
		case q.need.Elicitation != nil:
			form := q.need.Elicitation.Form
			if form != nil && have.Elicitation.HasForm() || form == nil && have.Elicitation.HasURL() {
				continue
			}
			if missing.Elicitation == nil {
				missing.Elicitation = &mcp.ElicitationCapability{}
			}
			if form != nil {
				missing.Elicitation.Form = form
			} else {
				missing.Elicitation.URL = q.need.Elicitation.URL
			}
		}
	}
	if len(missing.Names()) == 0 {
		return nil
	}
	err := mcp.MissingCapability(missing)
	err.Message += fmt.Sprintf(" (revision %s)", c.Version)
	return err
}

// Elicit asks the user of the client: with a form, or by sending them to a URL.
// The answer says whether they accepted; content that they accepted fits the
// schema of the form. key names the question among those of this request: it is
// the same in every run of the handler, and is used once in each. Who must ask
// again, as the answer was no good, asks with another key, such as "pin-2".
//
// How that works depends on the client. In the legacy era Elicit sends a request and
// waits for the answer. In the modern era nothing can wait: Elicit returns
// [ErrInputRequired], which the handler must return; the client asks its user,
// and sends the request again with the answer. Then the handler runs again from
// the top, perhaps in another process, and this time Elicit returns the answer. So a
// handler asks first and acts later, and keeps in [Call.SetState] what must not
// be done twice. Answers of earlier rounds are remembered: asking one question
// after another works, and costs a round each; [Call.Ask] asks them together.
//
// A client that did not declare that it can be asked this way is not asked:
// the error is [mcp.ErrMissingCapability] for errors.Is, and says whether it is
// the client that lacks it or the revision.
func (c *Call) Elicit(ctx context.Context, key string, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	res := new(mcp.ElicitResult)
	if err := c.Ask(ctx, ElicitQuestion(key, p, res)); err != nil {
		return nil, err
	}
	return res, nil
}

// Sample has the client's model continue a conversation. See [Call.Elicit]
// about key, and about what a handler that asks must do.
func (c *Call) Sample(ctx context.Context, key string, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	res := new(mcp.CreateMessageResult)
	if err := c.Ask(ctx, SampleQuestion(key, p, res)); err != nil {
		return nil, err
	}
	return res, nil
}

// Roots asks where the client wants the server to work. See [Call.Elicit]
// about key, and about what a handler that asks must do.
func (c *Call) Roots(ctx context.Context, key string) (*mcp.ListRootsResult, error) {
	res := new(mcp.ListRootsResult)
	if err := c.Ask(ctx, RootsQuestion(key, res)); err != nil {
		return nil, err
	}
	return res, nil
}

// Ask asks several questions. In the modern era they go out together, in one
// round; in the legacy era one after another. The results of the questions are
// good when it returns nil. See [Call.Elicit].
func (c *Call) Ask(ctx context.Context, qs ...Question) error {
	if c.era == nil {
		return ErrNoCall
	}
	if !c.Method.MayAsk && !c.Method.Notification {
		return fmt.Errorf("server: %s cannot ask the client", c.Method.Name)
	}
	if err := c.take(qs); err != nil {
		return err
	}
	return c.era.ask(ctx, c, qs)
}

// take notes the keys of questions. In the modern era a key that is used again
// would get the answer that it had before, so it is refused in both.
func (c *Call) take(qs []Question) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range qs {
		if q.check != nil {
			if err := q.check(); err != nil {
				return fmt.Errorf("server: the question %q: %w", q.Key, err)
			}
		}
		if c.questions().keys[q.Key] {
			return fmt.Errorf("server: the key %q was used before in this run of the handler: give each question its own, such as %q",
				q.Key, q.Key+"-2")
		}
		if c.input.keys == nil {
			c.input.keys = map[string]bool{}
		}
		c.input.keys[q.Key] = true
	}
	return nil
}

// State decodes into v, a pointer, what the handler gave to SetState in an
// earlier round of this request, or earlier in this one. It reports whether
// there was anything.
func (c *Call) State(v any) (bool, error) {
	c.mu.Lock()
	raw := c.questions().state
	c.mu.Unlock()
	if raw == nil {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return true, fmt.Errorf("server: decode state: %w", err)
	}
	return true, nil
}

// SetState keeps v, encoded as JSON, for the next round of this request. It
// travels through the client, sealed: the client can neither read nor change it,
// nor use it for another request or in another's name, but it can send it more
// than once. What must happen only once needs an own record of it.
func (c *Call) SetState(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("server: encode state: %w", err)
	}
	c.mu.Lock()
	c.questions().state = raw
	c.mu.Unlock()
	return nil
}

// input is what a request knows of its questions. Answers that the handler did not
// ask for are not passed on.
type input struct {
	answers map[string]jsontext.Value
	state   jsontext.Value // the handler's own
	used    map[string]jsontext.Value
	asked   mcp.InputRequests
	keys    map[string]bool // of the questions of this run
}

// questions must be called with c.mu held, unless nobody else has the call yet.
func (c *Call) questions() *input {
	if c.input == nil {
		c.input = new(input)
	}
	return c.input
}
