// Package rpc speaks JSON-RPC 2.0 and knows nothing of MCP.
//
// The unit is the exchange: a request goes one way, and what comes back is a
// short stream of messages that ends with the response. HTTP is that by
// nature; a channel that both sides share (stdio, a socket, a pipe) becomes it
// through [Duplex].
package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ID names a call. It keeps the JSON text, so 1 and "1" are different IDs, no
// digit of a long number is lost, and an ID can be a map key. The zero ID
// means "no ID": the request is a notification.
type ID struct{ raw string }

// IntID returns the ID whose JSON text is n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID returns the ID that is the JSON string s.
func StringID(s string) ID {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // s is not UTF-8; the quoted form replaces the bad bytes
		return ID{string(b)}
	}
	return ID{string(b)}
}

// NullID is written as null. It is only sent, in errors that answer no readable
// ID, where the revision wants that: what is received has the zero ID.
func NullID() ID { return ID{"null"} }

// IsZero reports whether there is no ID.
func (id ID) IsZero() bool { return id.raw == "" }

// String returns the JSON text: 1, or "a" with its quotes.
func (id ID) String() string { return id.raw }

// MarshalJSONTo implements [json.MarshalerTo]. The zero ID is null.
func (id ID) MarshalJSONTo(e *jsontext.Encoder) error {
	if id.raw == "" {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteValue(jsontext.Value(id.raw))
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom]. Only a string or an
// integer is an ID (JSON-RPC 2.0, section 4; MCP forbids null and fractions).
func (id *ID) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	got, err := ParseID(v)
	*id = got
	return err
}

// A Request asks for something, or, without an ID, tells something.
type Request struct {
	ID     ID
	Method string
	// Params is an object, or nil where there are none. It belongs to the
	// request: it is never reused.
	Params jsontext.Value
	// sound is Params as SetParams made them: valid, in one line.
	sound jsontext.Value
	index *index // of received Params

	// Header travels beside the message where the transport has headers, and
	// is ignored where it has none. A received request has the headers it
	// came with; a request to send has what is to be added.
	Header http.Header
}

// NewRequest encodes params, which may be nil, and returns the request. It has
// no ID: [Peer.Call] gives it one.
func NewRequest(method string, params any) (*Request, error) {
	r := &Request{Method: method}
	if params == nil {
		return r, nil
	}
	if err := r.setParams(params, smallParams); err != nil {
		return nil, err
	}
	return r, nil
}

// SetParams encodes params, as NewRequest does. An [Appender] gets no memory to
// append to: it may know how much it needs.
func (r *Request) SetParams(params any) error { return r.setParams(params, 0) }

func (r *Request) setParams(params any, room int) (err error) {
	var b jsontext.Value
	if a, ok := params.(Appender); ok {
		b, err = a.AppendJSON(make([]byte, 0, room))
	} else {
		b, err = json.Marshal(params)
	}
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", r.Method, err)
	}
	r.Params, r.sound = b, b
	return nil
}

// smallParams is room for what is sent most, such as progress.
const smallParams = 128

// isSound reports whether nobody has set other Params.
func (r *Request) isSound() bool {
	return len(r.sound) > 0 && len(r.sound) == len(r.Params) && &r.sound[0] == &r.Params[0]
}

// A Response answers the request with the same ID.
type Response struct {
	ID ID // zero where the ID of the request could not be read
	// Result is a [jsontext.Value] in a received response. To be sent it is
	// any value that encodes as JSON; nil is sent as {}.
	Result any
	// Error is set instead of Result.
	Error *Error
}

// Message is *Request, *Response or Batch.
type Message interface{ message() }

// Batch is an array of messages, which only some revisions have. In a received
// one a *DecodeError stands for a message that could not be read.
type Batch []Message

func (*Request) message()  {}
func (*Response) message() {}
func (Batch) message()     {}

// The error codes of JSON-RPC 2.0, section 5.1.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// Error is the only error that crosses the wire. Two Errors match with
// [errors.Is] when their codes are the same.
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`

	cause error
}

// Errorf returns an Error. An error that is wrapped with %w is found by
// [errors.Is] and [errors.As] on this side, and stays on this side.
func Errorf(code int, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// WithData returns a copy of e with data, encoded as JSON, in it. Data that
// cannot be encoded is left out.
func (e *Error) WithData(data any) *Error {
	c := *e
	if b, err := json.Marshal(data); err == nil {
		c.Data = b
	}
	return &c
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Unwrap returns what caused the error on this side; nil where the other side
// sent it.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns the wire form of err. An error that has none is an internal
// error and keeps its text to itself: the other side is not told.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternalError, Message: "internal error", cause: err}
}

// Errors of this side. None of them came over the wire.
var (
	// ErrNoReverse is returned by [Peer.Call] and [Peer.Notify] where the
	// other end cannot be reached that way.
	ErrNoReverse = errors.New("rpc: the peer cannot be asked here")
	// ErrClosed is returned by calls on a connection that has ended. Whether
	// the other side acted on a call that was under way is not known. It
	// matches [io.ErrClosedPipe].
	ErrClosed = fmt.Errorf("rpc: connection closed: %w", io.ErrClosedPipe)
	// ErrTooLarge is returned for a message over a limit of bytes: that of
	// [Limits], or in package streamhttp that of DialLimits.
	ErrTooLarge = errors.New("rpc: message is too large")
)

// A Peer is the other end. Inside a [Handler] it is the other end as that one
// request sees it: what is sent goes on the request's own stream, and nothing
// is sent after its response or after its cancellation. Its methods may be
// called from several goroutines at once.
type Peer interface {
	// Call sends req and decodes the result of its response into result,
	// a pointer or nil. It fills in req.ID where that is zero. It returns an
	// *Error if the other side answered with one, and ctx's error when ctx
	// ends first: the answer is then dropped when it comes, and telling the
	// other side is up to the caller.
	Call(ctx context.Context, req *Request, result any) error
	// Notify sends req, which has no ID.
	Notify(ctx context.Context, req *Request) error
}

// A Handler answers what the other end sends. It is called from several
// goroutines at once. ctx ends when the request is cancelled or the connection
// is over. Requests run concurrently. Notifications are handed over one at a
// time, in the order they came, by the goroutine that reads: Handle must return
// soon, and its result is dropped.
type Handler interface {
	Handle(ctx context.Context, req *Request, peer Peer) (result any, err error)
}

// A Sequencer is a [Handler] with requests that open the way for others. On a
// channel that both ends share, what comes behind one for which Alone reports
// true is read when it has been handled, when its handler calls the other end,
// or after half a second. Alone must return at once.
type Sequencer interface {
	Handler
	Alone(req *Request) bool
}

// HandlerFunc is a function that is a [Handler].
type HandlerFunc func(ctx context.Context, req *Request, peer Peer) (any, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request, peer Peer) (any, error) {
	return f(ctx, req, peer)
}

// A Binder makes the Handler of one new connection. ctx ends with the
// connection, or before it when the other side sends no more and what it asked
// for is still being answered: then it is time to end what would go on for ever.
type Binder interface {
	Bind(ctx context.Context, conn Conn) Handler
}

// A Conn is one connection, seen from either end. As a [Peer] it stands for
// the other end outside any request. One that can end by itself has the methods
// Done and Err of [Duplex], too.
type Conn interface {
	Peer
	// Cancel ends the handling of the request that the other end sent with
	// this ID: its context is cancelled with cause, and nothing more is sent
	// for it, not even a response. An unknown ID is ignored.
	Cancel(id ID, cause error)
	// AllowBatch says whether arrays of messages are accepted from now on.
	// A new connection refuses them.
	AllowBatch(ok bool)
	// Close ends the connection and waits for its goroutines. Calls under
	// way return ErrClosed.
	Close() error
}

// A Dialer opens a connection to a server. What the server starts goes to h.
// ctx bounds the dialing, not the life of the connection.
type Dialer interface {
	Dial(ctx context.Context, h Handler) (Conn, error)
}

// A Stream carries whole messages both ways: this is all that a custom
// transport has to be. Read is called by one goroutine at a time, Write by
// several. Close makes both return.
type Stream interface {
	// Read returns the next message, or io.EOF when no more can come. A
	// *DecodeError, or another error that wraps an *Error, says that one
	// message could not be read; the stream goes on behind it.
	Read(ctx context.Context) (Message, error)
	// Write sends one message whole.
	Write(ctx context.Context, m Message) error
	io.Closer
}

// Direction says which way a message went.
type Direction int

const (
	// Received is the direction of what the other end sent.
	Received Direction = iota
	// Sent is the direction of what goes to the other end.
	Sent
)

// A Tap sees every message of a connection, in the order they were read or
// written. It must not change the message and must return soon. It is called
// from several goroutines at once.
type Tap func(ctx context.Context, dir Direction, m Message)
