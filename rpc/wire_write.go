package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrResult is wrapped by the error of [AppendMessage] for a result that cannot
// be encoded.
var ErrResult = errors.New("rpc: result cannot be encoded")

// AppendMessage appends the text of m to dst, in one line. A result is encoded
// in place, once. A [jsontext.Value] in params, result or data is validated and
// copied as it is, unless it has a line break.
//
// A response without an ID is written without one; one without result and
// error has the result {}. A result that cannot be encoded becomes an internal
// error: the text is then ready to be sent all the same, and the error, which
// wraps [ErrResult], says why. With any other error dst is as it was.
func AppendMessage(dst []byte, m Message) ([]byte, error) {
	switch m := m.(type) {
	case *Request:
		return appendRequest(dst, m)
	case *Response:
		return appendResponse(dst, m)
	case Batch:
		return appendBatch(dst, m)
	}
	return dst, fmt.Errorf("rpc: a %T cannot be sent", m)
}

func appendRequest(dst []byte, r *Request) ([]byte, error) {
	size := len(dst)
	dst = append(appendHead(dst, r.ID), `,"method":`...)
	dst, err := jsontext.AppendQuote(dst, r.Method)
	if err != nil {
		return dst[:size], fmt.Errorf("rpc: method %q: %w", r.Method, err)
	}
	if r.isSound() && r.Params[0] == '{' {
		return append(append(append(dst, `,"params":`...), r.Params...), '}'), nil
	}
	i := skipSpace(r.Params, 0)
	if i == len(r.Params) || string(r.Params[i:]) == "null" {
		return append(dst, '}'), nil
	}
	if r.Params[i] != '{' {
		return dst[:size], fmt.Errorf("rpc: params of %s must be an object", r.Method)
	}
	dst, err = appendValue(append(dst, `,"params":`...), r.Params)
	if err != nil {
		return dst[:size], fmt.Errorf("rpc: params of %s: %w", r.Method, err)
	}
	return append(dst, '}'), nil
}

func appendResponse(dst []byte, r *Response) ([]byte, error) {
	dst = appendHead(dst, r.ID)
	if r.Error != nil {
		return appendError(dst, r.Error), nil //nolint:nilerr // it is what is sent
	}
	size := len(dst)
	dst, err := appendResult(append(dst, `,"result":`...), r.Result)
	if err != nil {
		return appendError(dst[:size], AsError(err)), fmt.Errorf("%w: %w", ErrResult, err)
	}
	return append(dst, '}'), nil
}

// appendHead begins a message.
func appendHead(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id.IsZero() {
		return dst
	}
	return append(append(dst, `,"id":`...), id.raw...)
}

// appendError ends a response. Text that is not UTF-8 is repaired, and data
// that is not JSON left out.
func appendError(b []byte, e *Error) []byte {
	b = strconv.AppendInt(append(b, `,"error":{"code":`...), int64(e.Code), 10)
	b, _ = jsontext.AppendQuote(append(b, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		if with, err := appendValue(append(b, `,"data":`...), e.Data); err == nil {
			b = with
		}
	}
	return append(b, "}}"...)
}

// appendResult appends what a handler returned. That it panics when it is encoded
// is an error: it would take down all other requests.
func appendResult(b []byte, result any) (out []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = b, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	switch v := result.(type) {
	case nil:
		return append(b, "{}"...), nil
	case jsontext.Value:
		if len(v) == 0 {
			return append(b, "{}"...), nil
		}
		return appendValue(b, v)
	case Appender:
		return v.AppendJSON(b)
	}
	return appendJSON(b, result)
}

// appendValue appends v, which need not come from this package.
func appendValue(b []byte, v jsontext.Value) ([]byte, error) {
	s := newScanner(v, maxDepth)
	defer s.free()
	end := s.value(s.space(0))
	if end >= 0 && s.space(end) < len(v) {
		end = s.fail(s.space(end), "text after the value")
	}
	if end < 0 {
		return b, fmt.Errorf("not valid JSON: %s at byte %d", s.fault, s.at)
	}
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return append(b, v...), nil
	}
	return jsontext.AppendFormat(b, v, jsontext.PreserveRawStrings(true))
}

// sending repairs text that is not UTF-8, such as a tool's output, rather than
// lose the answer, and writes maps in one order.
var sending = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.Deterministic(true))

// buffers holds *bytes.Buffer without memory of their own: the encoder writes
// into a Buffer directly.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func appendJSON(b []byte, v any) ([]byte, error) {
	w := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(w)
	*w = *bytes.NewBuffer(b)
	err := json.MarshalWrite(w, v, sending)
	out := w.Bytes()
	*w = bytes.Buffer{}
	return out, err
}
