// Package direct makes requests to an HTTP handler inside the process, as
// net/http makes them, without sockets.
package direct

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Poster is a client in one era. It is for one goroutine.
type Poster struct {
	h       http.Handler
	request http.Request
	payload body
	answer  writer
	meta    string // what a request's params end with
}

// New returns a client of h that speaks v. In the legacy era it opens a
// session.
func New(h http.Handler, v mcp.Version) (*Poster, error) {
	p := &Poster{h: h, payload: body{strings.NewReader("")}, answer: writer{header: http.Header{}}}
	p.request = http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/mcp"}, RequestURI: "/mcp", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: "127.0.0.1:1", RemoteAddr: "127.0.0.1:2", Body: p.payload,
		Header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {string(v)},
		},
	}
	if v.Modern() {
		p.meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + string(v) +
			`","io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		return p, nil
	}
	if _, err := p.Post(p.Request(mcp.MethodInitialize, `"protocolVersion":"`+string(v)+`","capabilities":{},"clientInfo":{"name":"b","version":"1"}`)); err != nil {
		return nil, err
	}
	p.request.Header["Mcp-Session-Id"] = []string{p.answer.header.Get("Mcp-Session-Id")}
	_, err := p.Post(`{"jsonrpc":"2.0","method":"` + mcp.NotificationInitialized + `"}`)
	return p, err
}

// Request returns the text of a request. members are those of its params.
func (p *Poster) Request(method, members string) string {
	if p.meta != "" && members != "" {
		members += ","
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + members + p.meta + `}}`
}

// Call returns the text of a tools/call, and the headers that go with it are
// sent from now on.
func (p *Poster) Call(tool, arguments string) string {
	p.Name(mcp.MethodToolsCall, tool)
	return p.Request(mcp.MethodToolsCall, `"name":"`+tool+`","arguments":`+arguments)
}

// Name sets the headers that tell of a modern request's method and, where it
// has one, its name.
func (p *Poster) Name(method, name string) {
	if p.meta == "" {
		return
	}
	p.request.Header["Mcp-Method"] = []string{method}
	if name != "" {
		p.request.Header["Mcp-Name"] = []string{name}
	}
}

// Stay posts a request that ends with ctx, and calls begun when the first
// bytes of the answer are there.
func (p *Poster) Stay(ctx context.Context, text string, begun func()) error {
	p.request = *p.request.WithContext(ctx)
	p.answer.begun = begun
	_, err := p.Post(text)
	return err
}

// Post returns the body of the answer, which is valid until the next call.
func (p *Poster) Post(text string) ([]byte, error) {
	p.payload.Reset(text)
	clear(p.answer.header)
	p.answer.status = http.StatusOK
	p.answer.body.Reset()
	r := p.request
	r.ContentLength = int64(len(text))
	p.h.ServeHTTP(&p.answer, &r)
	if p.answer.status/100 != 2 {
		return nil, fmt.Errorf("status %d: %s", p.answer.status, p.answer.body.Bytes())
	}
	return p.answer.body.Bytes(), nil
}

// body is the body of a request that is used again.
type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// writer is a ResponseWriter that keeps what was written.
type writer struct {
	header http.Header
	status int
	body   bytes.Buffer
	begun  func() // called with the first bytes; may be nil
}

func (w *writer) Header() http.Header    { return w.header }
func (w *writer) WriteHeader(status int) { w.status = status }
func (w *writer) Flush()                 {}

func (w *writer) Write(b []byte) (int, error) {
	if w.begun != nil && w.body.Len() == 0 {
		w.begun()
	}
	return w.body.Write(b)
}

// What every response of HTTP/1.1 can do, and needs no doing here.

func (w *writer) SetReadDeadline(time.Time) error  { return nil }
func (w *writer) SetWriteDeadline(time.Time) error { return nil }
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, errors.ErrUnsupported
}
