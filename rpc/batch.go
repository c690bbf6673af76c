package rpc

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrBatch refuses a batch where none is allowed.
var ErrBatch = &Error{Code: CodeInvalidRequest, Message: "batches are not accepted: send one message at a time"}

// decodeBatch reads the array at i. Each element is decoded by itself: a bad
// one becomes a [*DecodeError] in its place.
func decodeBatch(s *scanner, i int, lim Limits) (Message, error) {
	var batch Batch
	s.depth--
	i = s.space(i + 1)
	more := i >= len(s.b) || s.b[i] != ']'
	if !more {
		i++
	}
	count := 0
	for more {
		var e envelope
		start := i
		if i = s.message(i, &e); i < 0 {
			break
		}
		if count++; count <= lim.BatchMessages {
			batch = append(batch, e.element(s.b, start))
		}
		if i, more = s.next(i, ']'); i < 0 {
			break
		}
	}
	if i >= 0 && s.space(i) < len(s.b) {
		i = s.fail(s.space(i), "text after the batch")
	}
	var e envelope
	switch {
	case i < 0:
		return nil, e.broken(s)
	case count == 0:
		return nil, &DecodeError{err: &Error{Code: CodeInvalidRequest, Message: "a batch must not be empty"}}
	case count > lim.BatchMessages:
		return nil, &DecodeError{err: &Error{
			Code:    CodeInvalidRequest,
			Message: fmt.Sprintf("a batch must not have more than %d messages", lim.BatchMessages),
		}}
	}
	return batch, nil
}

// element makes one message of a batch.
func (e *envelope) element(b []byte, start int) Message {
	if b[start] != '{' {
		return notObject()
	}
	m, err := e.decode(b)
	if bad, ok := errors.AsType[*DecodeError](err); ok {
		return bad
	}
	return m
}

func appendBatch(dst []byte, batch Batch) ([]byte, error) {
	if len(batch) == 0 {
		return dst, errors.New("rpc: a batch must not be empty")
	}
	size := len(dst)
	dst = append(dst, '[')
	var failed error
	for k, m := range batch {
		if _, ok := m.(Batch); ok {
			return dst[:size], errors.New("rpc: a batch cannot be in a batch")
		}
		if k > 0 {
			dst = append(dst, ',')
		}
		before := len(dst)
		var err error
		dst, err = AppendMessage(dst, m)
		if err != nil && len(dst) == before {
			return dst[:size], err
		}
		failed = cmp.Or(failed, err)
	}
	return append(dst, ']'), failed
}
