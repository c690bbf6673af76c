package server

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/rpc"
)

// A set holds the features of one kind, ordered by key: the name, or the URI.
// That is the order in which they are listed, whatever the order in which they
// were added. A set never changes; a change makes another one. So it is read
// without a lock, and a page is the same however often it is asked for.
type set[T any] struct {
	kind  string // names the kind inside cursors
	keys  []string
	items []T
}

func (s *set[T]) find(key string) (T, bool) {
	if i, ok := slices.BinarySearch(s.keys, key); ok {
		return s.items[i], true
	}
	var none T
	return none, false
}

// with returns the set that has item under key, in place of what was there.
func (s *set[T]) with(key string, item T) *set[T] {
	c := &set[T]{kind: s.kind}
	i, found := slices.BinarySearch(s.keys, key)
	if found {
		c.keys, c.items = s.keys, slices.Clone(s.items)
		c.items[i] = item
		return c
	}
	c.keys = slices.Insert(slices.Clip(s.keys), i, key)
	c.items = slices.Insert(slices.Clip(s.items), i, item)
	return c
}

// without returns the set that lacks keys, and whether it lacks more than s.
func (s *set[T]) without(keys ...string) (*set[T], bool) {
	c := &set[T]{kind: s.kind}
	for i, k := range s.keys {
		if !slices.Contains(keys, k) {
			c.keys, c.items = append(c.keys, k), append(c.items, s.items[i])
		}
	}
	return c, len(c.keys) != len(s.keys)
}

// page returns the items behind the cursor, and the cursor of the next page:
// nil at the end. A cursor names the last key that was seen, so it stays good
// when features come and go, and means the same on every replica.
func (s *set[T]) page(cursor *string, size int) ([]T, *string, error) {
	from := 0
	if cursor != nil {
		last, ok := decodeCursor(s.kind, *cursor)
		if !ok {
			return nil, nil, rpc.Errorf(rpc.CodeInvalidParams,
				"invalid cursor: list again from the start, without a cursor")
		}
		i, found := slices.BinarySearch(s.keys, last)
		if from = i; found {
			from++
		}
	}
	if size <= 0 || len(s.items)-from <= size {
		return s.items[from:], nil, nil
	}
	next := encodeCursor(s.kind, s.keys[from+size-1])
	return s.items[from : from+size], &next, nil
}

// A cursor is Base64 of the kind of list, a colon, and the last key.
func encodeCursor(kind, last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + last))
}

// decodeBase64 reads the one spelling that a text has: line breaks, which the
// decoder skips, are none of it.
func decodeBase64(text string) ([]byte, bool) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return b, err == nil
}

func decodeCursor(kind, cursor string) (last string, ok bool) {
	if len(cursor) > maxCursorBytes {
		return "", false
	}
	b, ok := decodeBase64(cursor)
	if !ok || !utf8.Valid(b) {
		return "", false
	}
	return strings.CutPrefix(string(b), kind+":")
}
