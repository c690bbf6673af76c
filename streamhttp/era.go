package streamhttp

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// An envelope is what the transport reads of a request's _meta: enough to tell
// the era and to compare headers.
type envelope struct {
	modern  bool           // there is a key that only modern requests have
	version jsontext.Value // the protocol version; nil where it is missing or no string
	caps    bool           // the client capabilities are there
}

// readEnvelope looks into the params of a request. Params of another shape give
// an empty envelope: who handles the method says what is wrong with them.
func readEnvelope(req *rpc.Request) (e envelope) {
	for name, v := range rpc.Members(req.Param("_meta")) {
		switch string(name) {
		case mcp.MetaProtocolVersion:
			e.modern = true
			if v.Kind() == '"' {
				e.version = v
			}
		case mcp.MetaClientCapabilities:
			e.modern = true
			e.caps = v.Kind() == '{'
		case mcp.MetaClientInfo, mcp.MetaLogLevel:
			e.modern = true
		}
	}
	return e
}

// saysText reports whether the JSON string v has the text s.
func saysText(v jsontext.Value, s string) bool {
	if len(v) == len(s)+2 && string(v[1:len(v)-1]) == s && strings.IndexByte(s, '\\') < 0 {
		return true
	}
	text, ok := rpc.Unquote(v)
	return ok && text == s
}

// isModern decides the era of a request (spec 2.6, step 4). The body counts
// most. Where it says nothing, the header does, but not for initialize: that
// is how legacy clients open whatever they would like to speak, and it is
// answered with a revision that both know.
func isModern(req *rpc.Request, e envelope) bool {
	if e.modern {
		return true
	}
	if req.Method == mcp.MethodInitialize {
		return false
	}
	return namesModern(req.Header)
}

// namesModern reports whether the version header is of the modern era: a
// modern revision, or one that is newer than all we know.
func namesModern(h http.Header) bool {
	v, _ := header(h, headerVersion)
	if v == "" {
		return false
	}
	if _, known := mcp.Version(v).Revision(); known {
		return mcp.Version(v).Modern()
	}
	return isDate(v) && v > string(mcp.Revisions()[0].Version)
}

func isDate(v string) bool {
	if len(v) != len("2006-01-02") {
		return false
	}
	for i := range len(v) {
		if digit := '0' <= v[i] && v[i] <= '9'; digit == (i == 4 || i == 7) {
			return false
		}
	}
	return v[4] == '-' && v[7] == '-'
}

// checkEnvelope wants the required keys of a modern request (spec 2.6, step 5).
func checkEnvelope(e envelope) *rpc.Error {
	if len(e.version) <= len(`""`) {
		return mcp.InvalidParams("params._meta needs the string %q", mcp.MetaProtocolVersion)
	}
	if !e.caps {
		return mcp.InvalidParams("params._meta needs the object %q", mcp.MetaClientCapabilities)
	}
	return nil
}

// checkVersion looks at the version header of a request in a session. A client
// that sends none may be older than the header, or lazy: the session knows its
// revision anyway.
func checkVersion(h http.Header) *refusal {
	v, lines := header(h, headerVersion)
	if lines == 0 {
		return nil
	}
	_, known := mcp.Version(v).Revision()
	if lines > 1 || !known || mcp.Version(v).Modern() {
		return refuse(http.StatusBadRequest, headerVersion+" does not name the revision that this session speaks")
	}
	return nil
}

// modernStatus is the HTTP status of an error that answers a modern request
// (spec 2.5).
func modernStatus(e *rpc.Error) int {
	if e == nil {
		return http.StatusOK
	}
	switch e.Code {
	case rpc.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion,
		rpc.CodeParseError, rpc.CodeInvalidRequest:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
