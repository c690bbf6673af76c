package mcptest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// HTTP serves h in memory until the test ends and returns a client that
// reaches it, whatever host it asks for, and a base URL with a loopback host.
// There is no socket, so it works inside testing/synctest. At the end of the
// test it closes the connections and waits for the handlers.
func HTTP(t testing.TB, h http.Handler) (*http.Client, string) {
	t.Helper()
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	var handlers, serving sync.WaitGroup
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		h.ServeHTTP(w, r)
	})}
	serving.Go(func() { _ = srv.Serve(l) }) // ends with Close
	tr := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
		serving.Wait()
		handlers.Wait()
	})
	return &http.Client{Transport: tr}, "http://127.0.0.1"
}

// listener is a net.Listener whose connections are in-memory pipes.
type listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "127.0.0.1:0" }
