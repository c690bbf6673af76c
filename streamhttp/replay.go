package streamhttp

import (
	"container/list"
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"
)

// An EventStore keeps the events of the streams of sessions, so that a client
// whose connection broke can resume behind the last event it saw (spec 3.2,
// Resumability). Its methods are called from several goroutines at once.
type EventStore interface {
	// Append keeps a copy of data as the next event of a stream and returns its
	// number. Numbers grow within a session.
	Append(ctx context.Context, session string, stream uint64, data []byte) (seq uint64, err error)
	// After yields the events of one stream whose numbers are greater than
	// seq, in order. What the store has dropped is left out.
	After(ctx context.Context, session string, stream, seq uint64) iter.Seq2[Event, error]
	// Drop forgets a session.
	Drop(ctx context.Context, session string) error
}

// Event is one event of a stream.
type Event struct {
	Seq  uint64
	Data []byte
}

// listening is the number of the stream that belongs to no request: the one a
// client opens with GET.
const listening = 0

// eventID names the position in a stream behind event seq. It is unique in its
// session and says which stream it belongs to. The zero eventID is none.
type eventID struct {
	stream, seq uint64
	given       bool
}

func behind(stream, seq uint64) eventID { return eventID{stream, seq, true} }

func (id eventID) append(b []byte) []byte {
	b = append(strconv.AppendUint(b, id.stream, 36), '-')
	return strconv.AppendUint(b, id.seq, 36)
}

func parseEventID(id string) (stream, seq uint64, ok bool) {
	a, b, found := strings.Cut(id, "-")
	if !found {
		return 0, 0, false
	}
	stream, err := strconv.ParseUint(a, 36, 64)
	if err != nil {
		return 0, 0, false
	}
	seq, err = strconv.ParseUint(b, 36, 64)
	return stream, seq, err == nil
}

// memoryEvents is the EventStore of one process. It is bounded in events and
// bytes for each session, and in bytes for all: then the session that was
// silent for longest loses its oldest events.
type memoryEvents struct {
	maxEvents, maxBytes, maxTotal int

	mu       sync.Mutex
	sessions map[string]*eventLog
	idle     list.List // of *eventLog, the longest silent first
	total    int
}

type eventLog struct {
	place *list.Element // in idle; nil where the log is empty
	last  uint64        // the newest event's number
	// What belongs to requests must not push out what waits for a GET.
	posts, listen ring
}

// ring is a queue of the events of one log. Their data is in one piece of memory,
// so that an event that is kept for a moment only leaves nothing behind.
type ring struct {
	slots    []storedEvent // a ring
	first, n int
	tape     []byte // a ring, too: the data of all, in order
	begin    int
	bytes    int
}

type storedEvent struct {
	stream, seq uint64
	size        int
}

func (r *ring) push(stream, seq uint64, data []byte) {
	if r.n == len(r.slots) {
		grown := make([]storedEvent, max(4, 2*r.n))
		k := copy(grown, r.slots[r.first:])
		copy(grown[k:], r.slots[:r.first])
		r.slots, r.first = grown, 0
	}
	r.slots[(r.first+r.n)%len(r.slots)] = storedEvent{stream, seq, len(data)}
	r.n++
	r.fit(r.bytes + len(data))
	if len(data) > 0 {
		at := (r.begin + r.bytes) % len(r.tape)
		k := copy(r.tape[at:], data)
		copy(r.tape, data[k:])
	}
	r.bytes += len(data)
}

// fit gives the tape room for size bytes, and no more than four times as much.
func (r *ring) fit(size int) {
	const small = 1 << 10
	if len(r.tape) > 0 && size <= len(r.tape) && (size > len(r.tape)/4 || len(r.tape) <= small) {
		return
	}
	tape := r.read(make([]byte, 0, max(2*size, small)), r.begin, r.bytes)
	r.tape, r.begin = tape[:cap(tape)], 0
}

// read appends size bytes of the tape to b.
func (r *ring) read(b []byte, from, size int) []byte {
	if size == 0 {
		return b
	}
	from %= len(r.tape)
	end := min(from+size, len(r.tape))
	b = append(b, r.tape[from:end]...)
	return append(b, r.tape[:size-(end-from)]...)
}

// pop removes the oldest event and returns its size.
func (r *ring) pop() int {
	size := r.slots[r.first].size
	r.first = (r.first + 1) % len(r.slots)
	r.bytes -= size
	if r.n--; r.n == 0 {
		*r = ring{}
	} else {
		r.begin = (r.begin + size) % len(r.tape)
	}
	return size
}

func (r *ring) slot(i int) storedEvent { return r.slots[(r.first+i)%len(r.slots)] }

// after returns the events of a stream behind seq, the oldest first.
func (r *ring) after(stream, seq uint64) []Event {
	wanted := func(e storedEvent) bool { return e.stream == stream && e.seq > seq }
	n, size := 0, 0
	for i := range r.n {
		if e := r.slot(i); wanted(e) {
			n, size = n+1, size+e.size
		}
	}
	found, data := make([]Event, 0, n), make([]byte, 0, size)
	at := r.begin
	for i := range r.n {
		e := r.slot(i)
		if wanted(e) {
			from := len(data)
			data = r.read(data, at, e.size)
			found = append(found, Event{e.seq, data[from:len(data):len(data)]})
		}
		at += e.size
	}
	return found
}

func newMemoryEvents(l Limits) *memoryEvents {
	return &memoryEvents{
		maxEvents: l.ReplayEvents, maxBytes: l.ReplayBytes, maxTotal: l.ReplayTotalBytes,
		sessions: make(map[string]*eventLog),
	}
}

func (l *eventLog) ring(stream uint64) *ring {
	if stream == listening {
		return &l.listen
	}
	return &l.posts
}

func (m *memoryEvents) Append(_ context.Context, session string, stream uint64, data []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.sessions[session]
	if l == nil {
		l = new(eventLog)
		m.sessions[session] = l
	}
	if l.place == nil {
		l.place = m.idle.PushBack(l)
	}
	m.idle.MoveToBack(l.place)
	l.last++
	r := l.ring(stream)
	m.total += len(data)
	// The newest event stays whatever its size: it is what a client waits for.
	for r.n > 0 && (over(r.n+1, m.maxEvents) || over(r.bytes+len(data), m.maxBytes)) {
		m.total -= r.pop()
	}
	r.push(stream, l.last, data)
	m.trim(l)
	return l.last, nil
}

// trim holds the limit for all sessions together. keep has just been used.
func (m *memoryEvents) trim(keep *eventLog) {
	for over(m.total, m.maxTotal) {
		l := m.idle.Front().Value.(*eventLog)
		if l == keep {
			return
		}
		for _, r := range []*ring{&l.posts, &l.listen} {
			for r.n > 0 {
				m.total -= r.pop()
			}
		}
		m.idle.Remove(l.place) // it has nothing to lose any more
		l.place = nil
	}
}

func (m *memoryEvents) After(_ context.Context, session string, stream, seq uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range m.after(session, stream, seq) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *memoryEvents) after(session string, stream, seq uint64) []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.sessions[session]
	if l == nil {
		return nil
	}
	return l.ring(stream).after(stream, seq)
}

func (m *memoryEvents) Drop(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.sessions[session]
	if l == nil {
		return nil
	}
	m.total -= l.posts.bytes + l.listen.bytes
	if l.place != nil {
		m.idle.Remove(l.place)
	}
	delete(m.sessions, session)
	return nil
}
