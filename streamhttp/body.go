package streamhttp

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// readBody reads the body within the limits of size and time. The buffer is
// new: the message keeps parts of it.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	limit := h.opt.Limits.BodyBytes
	if over(r.ContentLength, limit) {
		h.leaveBody(w, r)
		return nil, h.tooLarge()
	}
	body := r.Body
	if r.ContentLength < 0 && limit >= 0 {
		body = http.MaxBytesReader(w, body, limit)
	}
	b, err := h.readInTime(w, r, body)
	if err == nil {
		return b, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		h.leaveBody(w, r)
		return nil, h.tooLarge()
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return nil, refuse(http.StatusRequestTimeout, "the body took too long")
	}
	return nil, refuse(http.StatusBadRequest, "the body could not be read")
}

func (h *Handler) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge,
		"the body is larger than "+strconv.FormatInt(h.opt.Limits.BodyBytes, 10)+" bytes")
}

func (h *Handler) readInTime(w http.ResponseWriter, r *http.Request, body io.Reader) ([]byte, error) {
	if !h.boundsBody(r) {
		return readAll(body, r.ContentLength)
	}
	slow := &slowBody{w: w}
	h.bodies.add(slow)
	defer slow.done()
	defer h.bodies.remove(slow)
	return readAll(body, r.ContentLength)
}

// readAll reads to the end. It trusts size, which is negative when unknown,
// only as far as firstRead: memory is for clients that do send.
func readAll(r io.Reader, size int64) ([]byte, error) {
	first := int64(bytesMinRead)
	if size >= 0 {
		first = min(size, firstRead) + 1 // one more byte, so that the end is seen without growing
	}
	b := make([]byte, 0, first)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) == cap(b) {
			more := len(b)
			if size > int64(len(b)) { // who has sent so much is trusted with eight times as much
				more = int(min(size+1, 8*int64(len(b)))) - len(b)
			}
			b = slices.Grow(b, more)
		}
	}
}

const bytesMinRead = 512

// leaveBody bounds how long net/http reads what is left of the body of a request
// that is refused: it does so before it sends the answer.
func (h *Handler) leaveBody(w http.ResponseWriter, r *http.Request) {
	if h.boundsBody(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.opt.Limits.BodyTime))
	}
}

// boundsBody reports whether the body of r may take BodyTime only. A server with
// a ReadTimeout has its own bound.
func (h *Handler) boundsBody(r *http.Request) bool {
	if r.ContentLength == 0 || h.opt.Limits.BodyTime < 0 {
		return false
	}
	srv, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	return srv == nil || srv.ReadTimeout == 0
}

// A slowBody is a body that is being read. Nearly all are there at once, so that
// a deadline for each would be work for nothing: a wheel looks after them, and
// the connection gets a deadline when the time is up.
type slowBody struct {
	w http.ResponseWriter

	mu    sync.Mutex
	turns int  // of the wheel
	read  bool // w is not ours any more
}

// bodyTurns is into how many turns of the wheel BodyTime is cut.
const bodyTurns = 8

// expire ends the reading of a body that takes too long.
func (b *slowBody) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.turns++; b.turns > bodyTurns && !b.read {
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Now())
	}
}

func (b *slowBody) done() {
	b.mu.Lock()
	b.read = true
	b.mu.Unlock()
}
