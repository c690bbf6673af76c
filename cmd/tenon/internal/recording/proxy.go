package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A Proxy passes HTTP on to one server and records what goes through. It is a
// http.Handler.
type Proxy struct {
	rec       *Writer
	target    *url.URL
	rp        *httputil.ReverseProxy
	exchanges atomic.Int64

	mu       sync.Mutex
	sessions map[string]string // what a session is called in the recording
}

// NewProxy records with rec what goes to and comes from the server of target.
// A client's path is the server's, and / is the path of target. Transport may
// be nil.
func NewProxy(rec *Writer, target *url.URL, transport http.RoundTripper) *Proxy {
	p := &Proxy{rec: rec, target: target, sessions: map[string]string{}}
	p.rp = &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     &recorder{p, transport},
		FlushInterval: -1, // each event as it comes
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, fmt.Sprintf("tenon record: the server does not answer: %v", err), http.StatusBadGateway)
		},
	}
	return p
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = p.target.Scheme, p.target.Host, p.target.Host
	if r.In.URL.Path == "/" || r.In.URL.Path == "" {
		r.Out.URL.Path, r.Out.URL.RawPath = p.target.Path, p.target.RawPath
		if r.Out.URL.RawQuery == "" {
			r.Out.URL.RawQuery = p.target.RawQuery
		}
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.rp.ServeHTTP(w, r) }

// session returns what the session of a header is called here.
func (p *Proxy) session(id string) string {
	if id == "" {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name := p.sessions[id]
	if name == "" && len(p.sessions) < maxSessions {
		name = fmt.Sprintf("s%d", len(p.sessions)+1)
		p.sessions[id] = name
	}
	return name
}

// maxSessions bounds the names that are kept. Later sessions have none.
const maxSessions = 100_000

const headerSession = "Mcp-Session-Id"

// recorder is the way out of the proxy.
type recorder struct {
	p    *Proxy
	next http.RoundTripper
}

func (t *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	x := &trip{p: t.p, exchange: t.p.exchanges.Add(1), conn: t.p.session(r.Header.Get(headerSession))}
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(io.LimitReader(r.Body, MaxLine+1))
		r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read the client's request: %w", err)
		}
		if len(body) > MaxLine {
			return nil, errors.New("the client's request is larger than a recording can hold")
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		x.message(FromClient, body)
	}
	start := time.Now()
	res, err := next.RoundTrip(r)
	http := &Trip{Method: r.Method, Path: r.URL.RequestURI(), Took: time.Since(start).Seconds(), Sent: flat(r.Header)}
	if err != nil {
		http.Error = err.Error()
		t.p.rec.Write(Frame{Dir: FromClient, Kind: HTTP, Conn: x.conn, Exchange: x.exchange, HTTP: http})
		return nil, err
	}
	if x.conn == "" {
		x.conn = t.p.session(res.Header.Get(headerSession))
	}
	http.Status, http.Got = res.StatusCode, flat(res.Header)
	t.p.rec.Write(Frame{Dir: FromClient, Kind: HTTP, Conn: x.conn, Exchange: x.exchange, HTTP: http})
	kind := res.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(kind, "text/event-stream"):
		res.Body = &tee{ReadCloser: res.Body, write: (&events{x: x}).write}
	case strings.HasPrefix(kind, "application/json"):
		var body bytes.Buffer
		res.Body = &tee{ReadCloser: res.Body, write: func(b []byte) {
			if body.Len()+len(b) <= MaxLine {
				body.Write(b)
			}
		}, end: func() { x.message(FromServer, body.Bytes()) }}
	}
	return res, nil
}

// trip is one HTTP request in the recording.
type trip struct {
	p        *Proxy
	conn     string
	exchange int64
}

// message records a body, or the data of an event, where it is a message.
func (x *trip) message(dir Dir, body []byte) {
	v := jsontext.Value(bytes.Clone(bytes.TrimSpace(body)))
	if k := v.Kind(); k != '{' && k != '[' || v.Compact(jsontext.AllowDuplicateNames(true)) != nil {
		return
	}
	if !bytes.Contains(v, []byte(`"jsonrpc"`)) { // a document of another kind, as of OAuth
		return
	}
	x.p.rec.Write(Frame{Dir: dir, Kind: Message, Conn: x.conn, Exchange: x.exchange, Msg: v})
}

// tee hands what is read to write, and calls end once.
type tee struct {
	io.ReadCloser
	write func([]byte)
	end   func()
	once  sync.Once
}

func (t *tee) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.write(b[:n])
	if err != nil && t.end != nil {
		t.once.Do(t.end)
	}
	return n, err
}

// events finds the data of the events in a stream (WHATWG HTML, 9.2.6).
type events struct {
	x    *trip
	line []byte
	data []byte
	cr   bool
}

func (e *events) write(b []byte) {
	for _, c := range b {
		switch {
		case c == '\n' && e.cr:
			e.cr = false
		case c == '\n' || c == '\r':
			e.cr = c == '\r'
			e.end()
		default:
			e.cr = false
			if len(e.line) <= MaxLine {
				e.line = append(e.line, c)
			}
		}
	}
}

func (e *events) end() {
	if len(e.line) == 0 {
		if len(e.data) > 0 {
			e.x.message(FromServer, e.data)
		}
		e.data = e.data[:0]
		return
	}
	if data, ok := bytes.CutPrefix(e.line, []byte("data:")); ok && len(e.data)+len(data) <= MaxLine {
		e.data = append(append(e.data, bytes.TrimPrefix(data, []byte(" "))...), '\n')
	}
	e.line = e.line[:0]
}

func flat(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, values := range h {
		out[name] = strings.Join(values, ", ")
	}
	return out
}
