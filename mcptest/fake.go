package mcptest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/rpc"
)

// A Peer is one end of a conversation, played by hand: it reads what the other
// end says and writes any text. Its methods end the test with an error when
// the other end does not do what is expected. One goroutine may use it at a
// time.
type Peer struct {
	t testing.TB
	r *bufio.Reader
	w io.WriteCloser
	// fail ends the script: t.FailNow on the test's goroutine, else it unwinds.
	fail func(format string, args ...any)
}

// FakeServer returns a dialer that runs script, in a goroutine of its own, as
// the server of each connection. When script returns the connection ends. The
// test waits for it.
func FakeServer(t testing.TB, script func(p *Peer)) rpc.Dialer {
	t.Helper()
	var scripts sync.WaitGroup
	t.Cleanup(scripts.Wait)
	return rpc.StreamDialer{Open: func(context.Context) (rpc.Stream, error) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		p := &Peer{t: t, r: bufio.NewReader(inR), w: outW}
		p.fail = func(format string, args ...any) {
			t.Errorf(format, args...)
			panic(unwind{}) //nolint:forbidigo // it ends the script, and goes no further
		}
		scripts.Go(func() {
			defer inR.Close()
			defer outW.Close()
			defer func() {
				if v := recover(); v != nil && v != any(unwind{}) {
					panic(v) //nolint:forbidigo // it was another one
				}
			}()
			script(p)
		})
		return rpc.NewLineStream(outR, inW, both{outR, inW}, rpc.Limits{}), nil
	}}
}

// unwind leaves a script that failed.
type unwind struct{}

// FakeClient returns the client's end of a connection to srv. It is closed
// when the test ends.
func FakeClient(t testing.TB, srv rpc.Binder) *Peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	d := rpc.NewDuplex(context.Background(), rpc.NewLineStream(inR, outW, both{inR, outW}, rpc.Limits{}), srv, &rpc.DuplexOptions{Logger: logger(t)})
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
		_ = d.Close() // the test has seen what there was to see
	})
	return &Peer{t: t, r: bufio.NewReader(outR), w: inW, fail: func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format, args...)
	}}
}

// Send writes text, formatted as by fmt.Sprintf, as one line.
func (p *Peer) Send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.w, format+"\n", args...); err != nil {
		p.fail("send: %v", err)
	}
}

// Next returns the next message.
func (p *Peer) Next() rpc.Message {
	p.t.Helper()
	line, err := p.r.ReadBytes('\n')
	if err != nil {
		p.fail("the other end says no more: %v", err)
	}
	m, err := rpc.Decode(line, rpc.Limits{})
	if err != nil {
		p.fail("the other end said %s: %v", line, err)
	}
	return m
}

// Expect returns the next message, which is a request or a notification with
// this method.
func (p *Peer) Expect(method string) *rpc.Request {
	p.t.Helper()
	m := p.Next()
	req, ok := m.(*rpc.Request)
	if !ok || req.Method != method {
		p.fail("got %s, want %s", text(m), method)
	}
	return req
}

// Response returns the next message, which answers the request with this ID.
// Result is a [jsontext.Value].
func (p *Peer) Response(id rpc.ID) *rpc.Response {
	p.t.Helper()
	m := p.Next()
	res, ok := m.(*rpc.Response)
	if !ok || res.ID != id {
		p.fail("got %s, want the answer to %s", text(m), id)
	}
	return res
}

// Result returns the result in the next message, which answers the request
// with this ID, and without an error.
func (p *Peer) Result(id rpc.ID) jsontext.Value {
	p.t.Helper()
	res := p.Response(id)
	if res.Error != nil {
		p.fail("answer to %s: %v", id, res.Error)
	}
	raw, _ := res.Result.(jsontext.Value)
	return raw
}

// Reply answers req with a result in JSON.
func (p *Peer) Reply(req *rpc.Request, result string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
}

// Refuse answers req with an error.
func (p *Peer) Refuse(req *rpc.Request, code int, message string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, req.ID, code, message)
}

func text(m rpc.Message) string {
	b, err := rpc.AppendMessage(nil, m)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
