package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tenon-mcp/tenon/rpc"
)

// A track is one stream of events of a session, as the client knows it. It
// outlives the HTTP responses that carry it.
type track struct {
	id      uint64
	cursor  uint64    // the last event that a reader took
	readers []*reader // responses to GETs; the last one gets the events
	ended   bool      // no event will be added
	answer  *answer   // the response to the POST, while it carries the track
}

// A reader is one response to a GET.
type reader struct {
	wake chan struct{} // there may be events
	stop chan struct{} // closed when the reader has to go
}

func (rd *reader) notify() {
	select {
	case rd.wake <- struct{}{}:
	default:
	}
}

// push adds a message to the stream that belongs to no request.
func (s *session) push(ctx context.Context, m *rpc.Request) error {
	if !s.enter(false) {
		return rpc.ErrClosed
	}
	defer s.leave()
	buf := getBuffer()
	defer putBuffer(buf)
	data, err := rpc.AppendMessage((*buf)[:0], m)
	if err != nil {
		return err
	}
	*buf = data
	_, err = s.add(ctx, listening, data)
	return err
}

// add keeps a copy of an event and wakes who reads its stream.
func (s *session) add(ctx context.Context, stream uint64, data []byte) (uint64, error) {
	seq, err := s.h.opt.Events.Append(context.WithoutCancel(ctx), s.id, stream, data)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tracks[stream]; t != nil {
		t.notify()
	}
	return seq, nil
}

// current reports whether rd is the reader that gets the events. The caller
// holds the session's mu, as for the methods below.
func (t *track) current(rd *reader) bool {
	n := len(t.readers)
	return n > 0 && t.readers[n-1] == rd
}

// notify wakes the reader whose turn it is.
func (t *track) notify() {
	if n := len(t.readers); n > 0 {
		t.readers[n-1].notify()
	}
}

// admit adds a reader. A client that comes back leaves dead connections
// behind, so it is the oldest that have to go when there are too many.
func (t *track) admit(rd *reader, limit int) {
	t.readers = append(t.readers, rd)
	for over(len(t.readers), limit) {
		close(t.readers[0].stop)
		t.readers = t.readers[1:]
	}
}

// newTrack opens the stream of a POST.
func (s *session) newTrack(a *answer) *track {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
	t := &track{id: s.streams, answer: a}
	s.keep(t)
	return t
}

// keep enters a track in the table. The caller holds mu.
func (s *session) keep(t *track) {
	if s.tracks == nil {
		s.tracks = make(map[uint64]*track)
	}
	s.tracks[t.id] = t
}

// endTrack says that no event will be added to the stream of a POST.
func (s *session) endTrack(t *track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ended = true
	t.answer = nil
	delete(s.tracks, t.id)
	for _, rd := range t.readers {
		rd.notify()
	}
}

// attach adds a reader to a stream. after is the last event that the client
// has seen; resume is false where it did not say.
func (s *session) attach(stream, after uint64, resume bool) (*track, *reader, *refusal) {
	t, rd, ref := s.join(stream, after, resume)
	if ref != nil {
		return nil, nil, ref
	}
	s.mu.Lock()
	carrier := t.answer
	s.mu.Unlock()
	if carrier != nil {
		carrier.detach() // the client has lost that response
	}
	return t, rd, nil
}

func (s *session) join(stream, after uint64, resume bool) (*track, *reader, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream > s.streams {
		return nil, nil, refuse(http.StatusBadRequest, headerEventID+" is not of this session")
	}
	t := s.tracks[stream]
	if t == nil {
		t = &track{id: stream, ended: stream != listening}
		if stream == listening {
			s.keep(t)
		}
	}
	if resume {
		t.cursor = after
	}
	rd := &reader{wake: make(chan struct{}, 1), stop: make(chan struct{})}
	limit := 1
	if stream == listening {
		limit = s.h.opt.Limits.SessionStreams
	}
	t.admit(rd, limit)
	return t, rd, nil
}

// detach takes a reader away; the one before it takes over.
func (s *session) detach(t *track, rd *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.readers = slices.DeleteFunc(t.readers, func(x *reader) bool { return x == rd })
	t.notify()
}

// take moves the stream's cursor from one event to another and reports whether
// rd is to write what is between: each message goes to one reader only (spec 3.2,
// Multiple streams), and another may have had its turn since rd looked.
func (s *session) take(t *track, rd *reader, from, to uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.current(rd) || t.cursor != from {
		return false
	}
	t.cursor = to
	return true
}

// state returns what a reader needs to know before it looks for events.
func (s *session) state(t *track, rd *reader) (cursor uint64, current, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.cursor, t.current(rd), t.ended
}

// feed writes the events of a stream until the stream, the session, the client
// or the server ends, or another reader takes over. It returns why.
func (s *session) feed(ctx context.Context, t *track, rd *reader, out *sseWriter) error {
	for {
		// The order matters: what is added before the end is found below.
		cursor, current, ended := s.state(t, rd)
		if current {
			if err := s.copyEvents(ctx, t, rd, out, cursor); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		select {
		case <-rd.wake:
		case <-rd.stop:
			return errTaken
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		case <-s.h.draining.Done():
			return errShutdown
		}
	}
}

// copyEvents writes the kept events behind cursor, as many at once as a burst
// may have.
func (s *session) copyEvents(ctx context.Context, t *track, rd *reader, out *sseWriter, cursor uint64) error {
	buf := getBuffer()
	defer putBuffer(buf)
	text, last := (*buf)[:0], cursor
	var failed error
	for e, err := range s.h.opt.Events.After(ctx, s.id, t.id, cursor) {
		if failed = err; err != nil {
			break
		}
		if len(text) >= burstBytes {
			if !s.take(t, rd, cursor, last) {
				return nil
			}
			if err := out.batch(text); err != nil {
				return err
			}
			text, cursor = text[:0], last
		}
		item := event{id: s.eventID(t.id, e.Seq), data: e.Data}
		text, last = item.append(text), e.Seq
		*buf = text
	}
	if len(text) > 0 && s.take(t, rd, cursor, last) {
		return errors.Join(out.batch(text), failed)
	}
	return failed
}

// eventID returns the ID of an event, where the revision has them.
func (s *session) eventID(stream, seq uint64) eventID {
	if !s.rev.Resumable {
		return eventID{}
	}
	return behind(stream, seq)
}
