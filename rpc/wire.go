package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ParseID returns the ID whose JSON text is v: a string, or a number without
// fraction and exponent. All else is an error.
func ParseID(v jsontext.Value) (ID, error) {
	s := scanner{b: v}
	i := s.space(0)
	end := s.id(i)
	if end < 0 || s.space(end) != len(v) {
		return ID{}, errors.New("an id must be a string or an integer")
	}
	return ID{string(v[i:end])}, nil
}

// id validates the id at i.
func (s *scanner) id(i int) int {
	switch {
	case i >= len(s.b):
		return s.unexpected(i)
	case s.b[i] == '"':
		end, _ := s.str(i)
		return end
	}
	end := s.number(i)
	if end > 0 && !isInteger(s.b[i:end]) {
		return s.fail(i, "number that is no integer")
	}
	return end
}

// An envelope is where the members of one message are in its text.
type envelope struct {
	version, id, method, params, result, err, other member

	index index // of params
}

// A member is where a value is. It is zero where there is none, and its end is
// zero where the text broke off inside the value.
type member struct{ from, to int }

func (m member) seen() bool { return m.from > 0 }
func (m member) in(b []byte) jsontext.Value {
	if m.to == 0 {
		return nil
	}
	return jsontext.Value(b[m.from:m.to:m.to])
}

// member returns the place for the member with the kth name. Names are compared
// exactly: "ID" is not "id".
func (e *envelope) member(s *scanner, k int) *member {
	switch string(s.nameOf(s.names[k])) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return &e.other
}

// isResponse reports whether this is a response, though perhaps a bad one.
func (e *envelope) isResponse() bool {
	return !e.method.seen() && (e.result.seen() || e.err.seen())
}

// A DecodeError says why a message could not be read. It wraps an [*Error]:
// CodeParseError where the text is not JSON, not UTF-8, nested too deep or has
// a name twice in one object, CodeInvalidRequest where it is no message.
//
// Inside a received [Batch] it stands for a message that could not be read.
type DecodeError struct {
	// ID is the ID of the message, as far as it could be read. It is zero for
	// a request whose text is not JSON.
	ID ID
	// Response says that the message would have been a response, so that the
	// call with this ID has failed.
	Response bool

	err    *Error
	silent bool
}

func (e *DecodeError) Error() string { return e.err.Error() }

// Unwrap returns the [*Error].
func (e *DecodeError) Unwrap() error { return e.err }

// Reply returns the response that tells the other side, or nil where none must
// be sent because the message was a notification or a response.
func (e *DecodeError) Reply() *Response {
	if e.silent || e.Response {
		return nil
	}
	return &Response{ID: e.ID, Error: e.err}
}

// Failure returns the error for the call that the message would have answered. It
// is no [*Error], since the other side did not send one.
func (e *DecodeError) Failure() error {
	if errors.Is(e.err, ErrTooLarge) {
		return fmt.Errorf("%w: %s", ErrTooLarge, e.err.Message)
	}
	return fmt.Errorf("rpc: response cannot be read: %s", e.err.Message)
}

func (*DecodeError) message() {}

// Decode reads one message, or a [Batch] where b is an array: a caller that
// takes no batches refuses it with [ErrBatch]. Any error is a [*DecodeError].
//
// Decode is strict. Names are compared exactly, no object has a name twice, text
// is UTF-8, jsonrpc is "2.0", params are an object, absent or null, an ID is a
// string or an integer, and a response has either a result or an error. Members
// it does not know are ignored. The Result of a response is a [jsontext.Value].
//
// Params, Result and Data are parts of b, which the caller must not use again.
func Decode(b []byte, lim Limits) (Message, error) {
	return decode(b, lim.withDefaults())
}

// decode is [Decode] with limits that have their defaults.
func decode(b []byte, lim Limits) (Message, error) {
	if len(b) > lim.MessageBytes || len(b) > math.MaxInt32 {
		return nil, tooLarge(b[:min(len(b), lim.MessageBytes, math.MaxInt32)], lim)
	}
	s := newScanner(b, lim.Depth)
	defer s.free()
	i := s.space(0)
	if i < len(b) && b[i] == '[' {
		return decodeBatch(s, i, lim)
	}
	var e envelope
	end := s.message(i, &e)
	if end >= 0 && s.space(end) < len(b) {
		end = s.fail(s.space(end), "text after the message")
	}
	if end < 0 {
		return nil, e.broken(s)
	}
	if b[i] != '{' {
		return nil, notObject()
	}
	return e.decode(b)
}

func notObject() *DecodeError {
	return &DecodeError{err: &Error{Code: CodeInvalidRequest, Message: "a message must be an object"}}
}

// message validates the value at i, which should be a message.
func (s *scanner) message(i int, e *envelope) int {
	if i < len(s.b) && s.b[i] == '{' {
		return s.object(i, e, nil)
	}
	return s.value(i)
}

// broken returns the error for text that is not JSON.
func (e *envelope) broken(s *scanner) *DecodeError {
	d := &DecodeError{err: &Error{
		Code:    CodeParseError,
		Message: fmt.Sprintf("not valid JSON: %s at byte %d", s.fault, s.at),
	}}
	if d.Response = e.isResponse(); d.Response {
		d.ID, _ = ParseID(e.id.in(s.b))
	}
	return d
}

// tooLarge returns the error for a message that begins with b and is over the
// limit. A response is told to its call where the ID comes first, as is usual.
func tooLarge(b []byte, lim Limits) *DecodeError {
	var e envelope
	s := newScanner(b, lim.Depth)
	defer s.free()
	s.message(s.space(0), &e)
	d := &DecodeError{err: &Error{
		Code:    CodeInvalidRequest,
		Message: fmt.Sprintf("message is larger than the limit of %d bytes", lim.MessageBytes),
		cause:   ErrTooLarge,
	}}
	d.ID, _ = ParseID(e.id.in(b))
	d.Response = e.isResponse()
	return d
}

// decode makes the message from validated text.
func (e *envelope) decode(b []byte) (Message, error) {
	id := e.id.in(b)
	if e.isResponse() {
		return e.response(b, id)
	}
	fault := e.requestFault(b, id)
	if fault == "" {
		return e.request(b, id), nil
	}
	d := &DecodeError{err: &Error{Code: CodeInvalidRequest, Message: fault}}
	d.ID, _ = ParseID(id)
	d.silent = id == nil && e.version.is(b, `"2.0"`) && e.method.kind(b) == '"'
	return nil, d
}

func (m member) is(b []byte, text string) bool { return string(m.in(b)) == text }

// kind returns the first byte of the value, or 0 where there is none.
func (m member) kind(b []byte) byte {
	if m.to == 0 {
		return 0
	}
	return b[m.from]
}

// requestFault tells what is wrong with a request.
func (e *envelope) requestFault(b []byte, id jsontext.Value) string {
	switch {
	case !e.version.is(b, `"2.0"`):
		return `jsonrpc must be "2.0"`
	case id != nil && !isID(id):
		return "id must be a string or an integer"
	case e.method.kind(b) != '"':
		return "method must be a string"
	case e.result.seen() || e.err.seen():
		return "a message with a method must have neither result nor error"
	}
	switch e.params.kind(b) {
	case 0, '{', 'n':
		return ""
	}
	return "params must be an object"
}

// isID reports whether v, which is valid JSON, is an ID.
func isID(v jsontext.Value) bool {
	switch v[0] {
	case '"':
		return true
	case 't', 'f', 'n', '{', '[':
		return false
	}
	return isInteger(v)
}

// isInteger reports whether v, which is a valid number, has neither fraction nor
// exponent.
func isInteger(v []byte) bool {
	for _, c := range v {
		if c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return true
}

// request makes a request. Its ID and method are near each other as a rule and
// then share one string.
func (e *envelope) request(b []byte, id jsontext.Value) *Request {
	var received struct {
		Request
		index index
	}
	r := &received.Request
	if e.params.kind(b) == '{' {
		r.Params = e.params.in(b)
		received.index = e.index
		received.index.of(b, e.params)
		r.index = &received.index
	}
	method := e.method.in(b)
	if bytes.IndexByte(method, '\\') >= 0 {
		text, _ := jsontext.AppendUnquote(nil, method)
		r.ID, r.Method = ID{string(id)}, string(text)
		return r
	}
	if id == nil {
		r.Method = string(method[1 : len(method)-1])
		return r
	}
	lo, hi := min(e.id.from, e.method.from), max(e.id.to, e.method.to)
	if hi-lo > 128 {
		r.ID, r.Method = ID{string(id)}, string(method[1:len(method)-1])
		return r
	}
	text := string(b[lo:hi])
	r.ID = ID{text[e.id.from-lo : e.id.to-lo]}
	r.Method = text[e.method.from+1-lo : e.method.to-1-lo]
	return r
}

// response makes a response. An error without an ID answers a message that
// could not be read.
func (e *envelope) response(b []byte, id jsontext.Value) (Message, error) {
	r := &Response{}
	if id != nil && isID(id) {
		r.ID = ID{string(id)}
	}
	fault := ""
	switch {
	case !e.version.is(b, `"2.0"`):
		fault = `jsonrpc must be "2.0"`
	case e.result.seen() && e.err.seen():
		fault = "a response must not have both result and error"
	case r.ID.IsZero() && id != nil && id[0] != 'n':
		fault = "id must be a string or an integer"
	case r.ID.IsZero() && e.result.seen():
		fault = "a result must have an id"
	case e.result.seen():
		r.Result = e.result.in(b)
	default:
		r.Error, fault = decodeErrorObject(e.err.in(b))
	}
	if fault != "" {
		return nil, &DecodeError{ID: r.ID, Response: true, err: &Error{Code: CodeInvalidRequest, Message: fault}}
	}
	return r, nil
}

// decodeErrorObject reads the error object v, which is valid JSON.
func decodeErrorObject(v jsontext.Value) (e *Error, fault string) {
	if v[0] != '{' {
		return nil, "error must be an object"
	}
	code, err := strconv.Atoi(string(find(v, "code")))
	if err != nil {
		return nil, "the code of an error must be an integer" //nolint:nilerr // it is the fault
	}
	text := find(v, "message")
	if text == nil || text[0] != '"' {
		return nil, "the message of an error must be a string"
	}
	message, _ := jsontext.AppendUnquote(nil, text)
	return &Error{Code: code, Message: string(message), Data: find(v, "data")}, ""
}

// find returns the value of a member of v, which is nil or valid JSON.
func find(v jsontext.Value, name string) jsontext.Value {
	for n, value := range Members(v) {
		if string(n) == name {
			return value
		}
	}
	return nil
}

// unquoted returns the text of a JSON string.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		text, _ := jsontext.AppendUnquote(nil, quoted)
		return text
	}
	if len(quoted) < 2 {
		return nil
	}
	return quoted[1 : len(quoted)-1]
}

// The skip functions return the offset behind what is at i in valid JSON. On
// other text they return some offset within it.

func skipSpace(b []byte, i int) int {
	s := scanner{b: b}
	return s.space(min(i, len(b)))
}

func skipString(b []byte, i int) int {
	for i++; ; i += 2 {
		if i = quoted(b, i); i >= len(b) {
			return len(b)
		}
		if b[i] == '"' {
			return i + 1
		}
	}
}

func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			for i < len(b) && strings.IndexByte(",:{}[]\" \t\r\n", b[i]) < 0 {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

// Reply returns the answer to req with what a [Handler] returned.
func Reply(req *Request, result any, err error) *Response {
	if err != nil {
		return &Response{ID: req.ID, Error: AsError(err)}
	}
	return &Response{ID: req.ID, Result: result}
}

// DecodeResult decodes the result of a received response into result, a
// pointer or nil; a [ResultReader] reads it by itself. It returns the response's
// error where it has one.
func DecodeResult(res *Response, result any) error {
	if res.Error != nil {
		return res.Error
	}
	raw, ok := res.Result.(jsontext.Value)
	if !ok {
		return fmt.Errorf("decode result: it is a %T, not from the wire", res.Result)
	}
	switch to := result.(type) {
	case nil:
		return nil
	case *jsontext.Value:
		*to = raw
		return nil
	case ResultReader:
		return decodeError(to.ReadResult(raw))
	}
	return decodeError(json.Unmarshal(raw, result, received))
}

func decodeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("decode result: %w", err)
}

// received holds for text that [Decode] has validated: names were compared
// there, once for all.
var received = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
