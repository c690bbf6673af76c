package rpc

import (
	"strconv"
	"sync"
)

// A Sequence makes the IDs 1, 2, 3 and so on. The text of a few is made at a
// time, in one piece of memory. The zero value is ready, and several goroutines
// may use it at once.
type Sequence struct {
	mu   sync.Mutex
	last int64  // the last ID whose text was made
	left int64  // so many of them are not given yet
	text string // theirs
}

// sequenceTexts is of how many IDs the text is made: an ID that is kept keeps
// that of the others.
const sequenceTexts = 16

// Next returns the next ID.
func (s *Sequence) Next() ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		b := make([]byte, 0, 256)
		for range sequenceTexts {
			s.last++
			b = append(strconv.AppendInt(b, s.last, 10), ' ')
		}
		s.text, s.left = string(b), sequenceTexts
	}
	k := 0
	for s.text[k] != ' ' {
		k++
	}
	id := ID{s.text[:k]}
	s.text, s.left = s.text[k+1:], s.left-1
	return id
}
