package recording

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// A Call is a request of either side and what became of it.
type Call struct {
	N      int // its place among the calls, from 1
	Dir    Dir // who asked
	Method string
	Params jsontext.Value
	// Result or Error; none where no answer was recorded.
	Result jsontext.Value
	Error  *rpc.Error
	// Meanwhile is what the other side sent for this request before it
	// answered: notifications and requests.
	Meanwhile []Envelope
	// Start and End are seconds since the start of the recording.
	Start, End float64

	id, token jsontext.Value // of the request, and for its progress
	conn      string
	exchange  int64
}

// Answered reports whether the answer was recorded.
func (c *Call) Answered() bool { return c.Error != nil || len(c.Result) > 0 }

// Key is equal for calls that ask the same: method and parameters, without
// _meta.
func (c *Call) Key() string { return key(c.Method, c.Params) }

func key(method string, params jsontext.Value) string {
	return method + " " + string(plain(params))
}

// plain returns params without _meta and the same for the same content.
func plain(params jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if params.Kind() != '{' || json.Unmarshal(params, &members, jsontext.AllowDuplicateNames(true)) != nil {
		return params
	}
	delete(members, "_meta")
	if len(members) == 0 {
		return nil
	}
	out, err := json.Marshal(members)
	if err != nil {
		return params
	}
	v := jsontext.Value(out)
	if v.Canonicalize() != nil {
		return params
	}
	return v
}

// Arguments returns the parameters without _meta, which every client writes for
// itself; nil where there are none.
func (c *Call) Arguments() jsontext.Value { return plain(c.Params) }

// An Envelope is a message of JSON-RPC.
type Envelope struct {
	ID     jsontext.Value `json:"id,omitzero"`
	Method string         `json:"method,omitzero"`
	Params jsontext.Value `json:"params,omitzero"`
	Result jsontext.Value `json:"result,omitzero"`
	Error  *rpc.Error     `json:"error,omitzero"`
}

// Envelopes returns the messages of a frame: one, or those of a batch.
func (f *Frame) Envelopes() []Envelope {
	if f.Msg.Kind() == '[' {
		var all []Envelope
		_ = json.Unmarshal(f.Msg, &all, jsontext.AllowDuplicateNames(true)) // what is none has no envelope
		return all
	}
	var e Envelope
	if json.Unmarshal(f.Msg, &e, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return []Envelope{e}
}

// pairing finds the calls of a recording.
type pairing struct {
	calls []*Call
	open  map[string]*Call // by where the answer is looked for
}

// Calls returns all requests, in the order they were sent.
func (r *Recording) Calls() []*Call {
	p := &pairing{open: map[string]*Call{}}
	for i := range r.Frames {
		if f := &r.Frames[i]; f.Kind == Message {
			for _, e := range f.Envelopes() {
				p.add(f, e)
			}
		}
	}
	return p.calls
}

func (p *pairing) add(f *Frame, e Envelope) {
	switch {
	case e.Method != "" && len(e.ID) > 0:
		p.meanwhile(f, e)
		c := &Call{N: len(p.calls) + 1, Dir: f.Dir, Method: e.Method, Params: e.Params, Start: f.T, id: e.ID, conn: f.Conn, exchange: f.Exchange}
		var params struct {
			Meta struct {
				Token jsontext.Value `json:"progressToken"`
			} `json:"_meta"`
		}
		if json.Unmarshal(e.Params, &params, jsontext.AllowDuplicateNames(true)) == nil {
			c.token = params.Meta.Token
		}
		p.calls = append(p.calls, c)
		p.open[place(f, f.Dir, e.ID)] = c
	case e.Method != "":
		p.meanwhile(f, e)
	default:
		asker := FromClient
		if f.Dir == FromClient {
			asker = FromServer
		}
		at := place(f, asker, e.ID)
		c := p.open[at]
		if c == nil {
			at, c = p.elsewhere(f, asker, e.ID)
		}
		if c == nil {
			return
		}
		c.Result, c.Error, c.End = e.Result, e.Error, f.T
		delete(p.open, at)
	}
}

// elsewhere finds the request of an answer that came on another stream than
// that of the request: on one that was resumed, or the one of HTTP+SSE.
func (p *pairing) elsewhere(f *Frame, asker Dir, id jsontext.Value) (string, *Call) {
	for at, c := range p.open {
		if c.Dir == asker && c.conn == f.Conn && string(c.id) == string(id) {
			return at, c
		}
	}
	return "", nil
}

// place is where the request of an answer is looked for. What a server asks is
// answered in another HTTP request.
func place(f *Frame, asker Dir, id jsontext.Value) string {
	where := "x" + strconv.FormatInt(f.Exchange, 10)
	if f.Exchange == 0 || asker == FromServer {
		where = f.Conn
	}
	return where + "\x00" + string(asker) + "\x00" + string(id)
}

// meanwhile adds what a server sends to the call that it belongs to: the one of
// its HTTP request, of its progress token, or the only one that is open.
func (p *pairing) meanwhile(f *Frame, e Envelope) {
	if f.Dir != FromServer {
		return
	}
	var params struct {
		Token jsontext.Value `json:"progressToken"`
	}
	if len(e.Params) > 0 {
		_ = json.Unmarshal(e.Params, &params, jsontext.AllowDuplicateNames(true)) // there is none then
	}
	var only *Call
	n := 0
	for _, c := range p.open {
		if c.Dir != FromClient {
			continue
		}
		if len(params.Token) > 0 && string(params.Token) == string(c.token) {
			c.Meanwhile = append(c.Meanwhile, e)
			return
		}
		if f.Exchange != 0 && c.exchange == f.Exchange {
			c.Meanwhile = append(c.Meanwhile, e)
			return
		}
		only = c
		n++
	}
	if n == 1 && len(params.Token) == 0 && f.Exchange == 0 {
		only.Meanwhile = append(only.Meanwhile, e)
	}
}
