// Package mcptest tests clients and servers without a network.
//
//   - [Pair] joins a server and a client in memory.
//   - [EachRevision] runs a test in every revision over every transport.
//   - [Transcript] compares what is said with a file, message by message.
//   - [HTTP] serves a handler in memory.
//   - [FakeServer] and [FakeClient] play the other end by hand, for what a
//     proper one does not say.
//
// What a server without a Logger has to say, such as the panic of a tool, is
// logged to the test.
//
// Everything ends with the test, and works inside testing/synctest.
package mcptest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// Pair connects a client to a server through a pipe in memory. The newest
// revision is spoken, unless opts names another. The connection is closed when
// the test ends.
func Pair(t testing.TB, srv rpc.Binder, opts *client.Options) *client.Client {
	t.Helper()
	return connect(t, Env{Transport: OverPipe, t: t}.Dialer(srv), opts)
}

// Transport is a way between client and server.
type Transport string

const (
	// OverPipe is a pipe of messages in memory.
	OverPipe Transport = "pipe"
	// OverStdio is [stdio.Serve] and the framing of lines over pipes of bytes in
	// memory.
	OverStdio Transport = "stdio"
	// OverHTTP is Streamable HTTP where the revision has it, and HTTP+SSE where it
	// has not, with [HTTP] below it.
	OverHTTP Transport = "http"
)

// transports are all of them.
var transports = [...]Transport{OverPipe, OverStdio, OverHTTP}

// Env is one revision over one transport.
type Env struct {
	mcp.Revision
	Transport Transport

	t testing.TB
}

// EachRevision runs fn as a parallel subtest in every revision over every
// transport, newest first.
func EachRevision(t *testing.T, fn func(t *testing.T, e Env)) {
	t.Helper()
	for _, rev := range mcp.Revisions() {
		for _, tr := range transports {
			t.Run(string(rev.Version)+"/"+string(tr), func(t *testing.T) {
				t.Parallel()
				fn(t, Env{Revision: rev, Transport: tr, t: t})
			})
		}
	}
}

// Connect connects a client to srv. It speaks the revision of e, unless opts
// names another. Client and server side are closed when the test ends.
func (e Env) Connect(srv rpc.Binder, opts *client.Options) *client.Client {
	e.t.Helper()
	var o client.Options
	if opts != nil {
		o = *opts
	}
	if o.Version == "" {
		o.Version = e.Version
	}
	return connect(e.t, e.Dialer(srv), &o)
}

// With returns e for another test, such as a subtest of the one it was made
// for.
func (e Env) With(t testing.TB) Env { //nolint:thelper // it only keeps t
	e.t = t
	return e
}

// Dialer returns what dials srv.
func (e Env) Dialer(srv rpc.Binder) rpc.Dialer {
	e.t.Helper()
	switch e.Transport {
	case OverPipe:
		return rpc.StreamDialer{Open: func(context.Context) (rpc.Stream, error) { return openPipe(e.t, srv), nil }}
	case OverStdio:
		return rpc.StreamDialer{Open: func(context.Context) (rpc.Stream, error) { return openStdio(e.t, srv), nil }}
	}
	h := streamhttp.NewHandler(srv, &streamhttp.Options{Logger: logger(e.t)})
	hc, url := HTTP(e.t, h)
	e.t.Cleanup(func() { _ = h.Close() })
	if e.Streamable {
		return &streamhttp.Dialer{URL: url, Client: hc}
	}
	return &streamhttp.SSEDialer{URL: url, Client: hc}
}

func connect(t testing.TB, d rpc.Dialer, opts *client.Options) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), d, opts)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// openPipe serves srv at the other end of a pipe.
func openPipe(t testing.TB, srv rpc.Binder) rpc.Stream {
	t.Helper()
	ours, theirs := rpc.Pipe()
	d := rpc.NewDuplex(context.Background(), theirs, srv, &rpc.DuplexOptions{Logger: logger(t)})
	t.Cleanup(func() { _ = d.Close() })
	return ours
}

// openStdio serves srv on streams of bytes.
func openStdio(t testing.TB, srv rpc.Binder) rpc.Stream {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	log := logger(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		err := stdio.Serve(ctx, srv, &stdio.Options{In: inR, Out: outW, Logger: log})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("stdio.Serve: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	return rpc.NewLineStream(outR, inW, both{outR, inW}, rpc.Limits{})
}

// logger logs to the test what a server without a Logger has to say, such as
// the panics of its tools.
func logger(t testing.TB) *slog.Logger {
	t.Helper()
	w := &testLog{t: t}
	t.Cleanup(w.end)
	return slog.New(slog.NewTextHandler(w, nil))
}

// unfold gives a stack its lines back.
var unfold = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

// testLog writes to the log of a test until the test ends.
type testLog struct {
	mu sync.Mutex
	t  testing.TB
}

func (w *testLog) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Log(unfold.Replace(string(bytes.TrimSpace(line))))
	}
	return len(line), nil
}

func (w *testLog) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

// both closes two things.
type both struct{ a, b io.Closer }

func (c both) Close() error { return errors.Join(c.a.Close(), c.b.Close()) }
