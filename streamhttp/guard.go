package streamhttp

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/rpc"
)

// A refusal is a request that is turned away before anybody else sees it.
type refusal struct {
	status int
	code   int // of JSON-RPC; zero means invalid request
	why    string
}

func (e *refusal) Error() string { return e.why }

func refuse(status int, why string) *refusal { return &refusal{status: status, why: why} }

// checkHost keeps web pages away from servers that were not meant for them:
// by DNS rebinding a page of evil.example can have the browser talk to
// 127.0.0.1, but the browser then names evil.example in Host and in Origin
// (spec 3.2, Security).
func (h *Handler) checkHost(r *http.Request) *refusal {
	if h.opt.InsecureSkipHostAndOriginChecks {
		return nil
	}
	local := onLoopback(r)
	if !h.hostAllowed(r.Host, local) {
		return refuse(http.StatusForbidden, "host is not allowed: add it to AllowedHosts")
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	if len(origins) > 1 || !h.originAllowed(origins[0], r.Host, local) {
		return refuse(http.StatusForbidden, "origin is not allowed: add it to AllowedOrigins")
	}
	return nil
}

// onLoopback reports whether the connection came in on a loopback address. A
// request that came over no network (a recorder, a unix socket) did not.
func onLoopback(r *http.Request) bool {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return addr != nil && addr.IP.IsLoopback()
}

func (h *Handler) hostAllowed(host string, local bool) bool {
	if host == "" || !local && len(h.opt.AllowedHosts) == 0 {
		return true // browsers always send Host
	}
	name := hostname(host)
	if local && isLoopbackName(name) {
		return true
	}
	return slices.ContainsFunc(h.opt.AllowedHosts, func(a string) bool {
		return strings.EqualFold(a, host) || strings.EqualFold(a, name)
	})
}

func (h *Handler) originAllowed(origin, host string, local bool) bool {
	for _, a := range h.opt.AllowedOrigins {
		if a == "*" || strings.EqualFold(a, origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false // "null" is a sandboxed or local page: nobody in particular
	}
	if u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	if local && isLoopbackName(hostname(u.Host)) {
		return true
	}
	return strings.EqualFold(withoutDefaultPort(u.Host, u.Scheme), withoutDefaultPort(host, u.Scheme))
}

// hostname returns host without its port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func isLoopbackName(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

func withoutDefaultPort(host, scheme string) string {
	port := ":80"
	if scheme == "https" {
		port = ":443"
	}
	return strings.TrimSuffix(host, port)
}

// checkContentType wants JSON. A browser sends anything else across origins
// without asking the server first.
func checkContentType(r *http.Request) *refusal {
	v := r.Header.Get("Content-Type")
	if v == "application/json" {
		return nil
	}
	mt, params, err := mime.ParseMediaType(v)
	charset, has := params["charset"]
	if err != nil || mt != "application/json" || has && !strings.EqualFold(charset, "utf-8") {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json in UTF-8")
	}
	return nil
}

// accepts is what a client can read.
type accepts struct{ json, sse bool }

// parseAccept reads Accept with leniency: a missing header and wildcards stand
// for everything. explicit is false where text/event-stream is not named.
func parseAccept(r *http.Request) (a accepts, explicit bool) {
	values := r.Header["Accept"]
	switch {
	case len(values) == 0:
		return accepts{true, true}, false
	case len(values) == 1 && values[0] == bothTypes: // what nearly all clients send
		return accepts{true, true}, true
	}
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			mt, params, _ := strings.Cut(part, ";")
			if refusedByWeight(params) {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(mt)) {
			case "*/*":
				a = accepts{true, true}
			case "application/json", "application/*":
				a.json = true
			case "text/event-stream":
				a.sse, explicit = true, true
			case "text/*":
				a.sse = true
			}
		}
	}
	return a, explicit
}

// refusedByWeight reports whether media type parameters say q=0.
func refusedByWeight(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, v, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			return err == nil && q <= 0
		}
	}
	return false
}

// wireError is what a refusal says in the body.
func (e *refusal) wireError() *rpc.Error {
	code := e.code
	if code == 0 {
		code = rpc.CodeInvalidRequest
	}
	return &rpc.Error{Code: code, Message: e.why}
}
