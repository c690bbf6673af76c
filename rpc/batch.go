package rpc

import "fmt"

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
	if err != nil {
		return err.(*DecodeError)
	}
	return m
}

func appendBatch(dst []byte, batch Batch) ([]byte, error) {
	if len(batch) == 0 {
		return dst, fmt.Errorf("rpc: a batch must not be empty")
	}
	var failed error
	b := append(dst, '[')
	for k, m := range batch {
		if k > 0 {
			b = append(b, ',')
		}
		if _, ok := m.(Batch); ok {
			return dst, fmt.Errorf("rpc: a batch cannot be in a batch")
		}
		size := len(b)
		next, err := AppendMessage(b, m)
		if err != nil && len(next) == size {
			return dst, err
		}
		if err != nil {
			failed = err
		}
		b = next
	}
	return append(b, ']'), failed
}
