package streamhttp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// A line is the way to the client of a stream that lasts until one of the two
// has enough. Over HTTP/1.1 it takes the connection away from net/http, whose
// buffers and goroutine take 20 KiB more than an idle stream needs. HTTP/2, and
// writers that are not net/http's own, keep the ordinary way.
type line struct {
	h      *Handler
	w      http.ResponseWriter // nil when its connection was taken
	hangUp context.CancelCauseFunc
	await  func() bool   // stops waiting for net/http to say that the client is gone
	freed  chan struct{} // closed when the HTTP request may end; nil on the ordinary way
	gone   chan struct{} // closed when nobody reads from the connection; nil before it is taken
}

// lasting calls serve, which writes a stream to the client: by [line.open], or
// anything else to w before that. The context ends when the client hangs up. The
// stream, which [Handler.openStream] has counted, is not counted afterwards.
func (h *Handler) lasting(w http.ResponseWriter, r *http.Request, serve func(context.Context, *line)) {
	if !canTake(w, r) {
		defer h.streams.Add(-1)
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		serve(ctx, &line{h: h, w: w, hangUp: cancel})
		return
	}
	ctx, stop := context.WithoutCancel(r.Context()), context.CancelFunc(func() {})
	if end, ok := r.Context().Deadline(); ok { // such as the end of a token: the stream may outlive the HTTP request, not that
		ctx, stop = context.WithDeadline(ctx, end)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &line{h: h, w: w, hangUp: cancel, freed: make(chan struct{})}
	freed := l.freed
	l.await = context.AfterFunc(r.Context(), func() { cancel(errHungUp) })
	h.inFlight.Add(1)
	go func() {
		defer h.leave()
		defer h.streams.Add(-1)
		defer l.end()
		defer stop()
		defer cancel(nil)
		serve(ctx, l)
	}()
	<-freed
}

// canTake reports whether the connection of r can be taken. A writer that wraps
// net/http's may have something to do with every byte.
func canTake(w http.ResponseWriter, r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoMinor > 0 && fmt.Sprintf("%T", w) == "*http.response"
}

// end ends the HTTP request, if it has not ended, and waits for who reads.
func (l *line) end() {
	if p := recover(); p != nil { // of a hook or a store
		l.h.opt.Logger.Error("panic in a stream", "panic", p, "stack", string(debug.Stack()))
	}
	l.free()
	if l.gone != nil {
		<-l.gone
	}
}

// free lets net/http have its goroutine back.
func (l *line) free() {
	if l.freed == nil {
		return
	}
	l.await()
	close(l.freed)
	l.freed, l.w = nil, nil
}

// open sends the header of the stream, and takes the connection if it can.
func (l *line) open() *sseWriter {
	limit := l.h.opt.Limits.WriteTime
	if l.freed == nil {
		return openSSE(l.w, limit)
	}
	header := l.w.Header()
	conn, _, err := l.w.(http.Hijacker).Hijack()
	if err != nil {
		return openSSE(l.w, limit)
	}
	l.gone = make(chan struct{})
	go l.watch(conn)
	l.free()
	out := &taken{conn: conn, head: streamHead(header)}
	return newSSE(out, limit)
}

// watch notices that the client hangs up. What it sends is nothing that was asked
// for, and too much of it is as good as hanging up.
func (l *line) watch(conn net.Conn) {
	defer close(l.gone)
	var b [32]byte
	for range 128 {
		if _, err := conn.Read(b[:]); err != nil {
			break
		}
	}
	l.hangUp(errHungUp)
}

// streamHead is the header of a stream on a connection of its own.
func streamHead(h http.Header) []byte {
	buf := sliceWriter("HTTP/1.1 200 OK\r\n")
	h["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	h["Connection"] = []string{"close"} // nothing follows the stream
	h["Transfer-Encoding"] = []string{"chunked"}
	setStreamHeaders(h)
	_ = h.Write(&buf) // it does not fail
	return append(buf, "\r\n"...)
}

type sliceWriter []byte

func (s *sliceWriter) Write(b []byte) (int, error) {
	*s = append(*s, b...)
	return len(b), nil
}

// taken is a connection that was taken from net/http, as what a stream is
// written to.
type taken struct {
	conn net.Conn
	head []byte // not sent yet
}

// Write sends b as one chunk. Nothing is held back.
func (t *taken) Write(b []byte) (int, error) {
	buf := getBuffer()
	defer putBuffer(buf)
	text := append((*buf)[:0], t.head...)
	if len(b) > 0 { // an empty chunk would be the last
		text = append(strconv.AppendInt(text, int64(len(b)), 16), "\r\n"...)
		text = append(append(text, b...), "\r\n"...)
	}
	*buf = text
	if _, err := t.conn.Write(text); err != nil {
		return 0, err
	}
	t.head = nil
	return len(b), nil
}

// Flush is for the interface.
func (t *taken) Flush() error { return nil }

// SetWriteDeadline bounds writes.
func (t *taken) SetWriteDeadline(at time.Time) error { return t.conn.SetWriteDeadline(at) }

// Close ends the stream in good order, if the client still reads.
func (t *taken) Close() error {
	if t.conn.SetWriteDeadline(time.Now().Add(closeGrace)) == nil {
		_, _ = io.WriteString(t.conn, "0\r\n\r\n")
	}
	return t.conn.Close()
}
