package streamhttp

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// Names of headers, in the spelling of net/http, in which its maps are keyed.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerEventID = "Last-Event-Id"
	headerParam   = mcp.HeaderParam
)

// header returns the value of a header without the whitespace around it (RFC
// 9110, section 5.5). A header that comes twice is worse than none: which of
// the two counts would depend on who reads it.
func header(h http.Header, name string) (value string, lines int) {
	v := h[name]
	if len(v) != 1 {
		return "", len(v)
	}
	return strings.Trim(v[0], " \t"), 1
}

// checkHeaders compares the headers of a modern request with its body (spec
// 2.6, step 6). The parameters of tools are compared in server/, which knows
// their schemas.
func checkHeaders(req *rpc.Request, e envelope) *rpc.Error {
	if err := checkPlain(req.Header, headerVersion, e.version); err != nil {
		return err
	}
	if v, lines := header(req.Header, headerMethod); lines != 1 {
		return missingHeader(headerMethod, lines)
	} else if v != req.Method {
		return mismatch(headerMethod, v, req.Method)
	}
	m, _ := mcp.MethodByName(req.Method)
	if m.NameParam == "" {
		return nil
	}
	return checkEncoded(req.Header, headerName, req.Param(m.NameParam))
}

func checkPlain(h http.Header, name string, body jsontext.Value) *rpc.Error {
	v, lines := header(h, name)
	if lines != 1 {
		return missingHeader(name, lines)
	}
	if !saysText(body, v) {
		return mismatch(name, v, textOf(body))
	}
	return nil
}

// checkEncoded is for headers whose value may be Base64 between marks.
func checkEncoded(h http.Header, name string, body jsontext.Value) *rpc.Error {
	named := body.Kind() == '"'
	raw, lines := header(h, name)
	if lines == 0 && !named {
		return nil // that the body lacks it is said by who reads the body
	}
	if lines != 1 {
		return missingHeader(name, lines)
	}
	v, err := mcp.DecodeHeaderValue(raw)
	if err != nil {
		return mcp.HeaderMismatch("%s cannot be read: %w", name, err)
	}
	if !named || !saysText(body, v) {
		return mismatch(name, v, textOf(body))
	}
	return nil
}

func textOf(v jsontext.Value) string {
	text, _ := rpc.Unquote(v)
	return text
}

func missingHeader(name string, lines int) *rpc.Error {
	what := "is missing"
	if lines > 1 {
		what = "is there more than once"
	}
	return mcp.HeaderMismatch("%s %s", name, what)
}

func mismatch(name, header, body string) *rpc.Error {
	return mcp.HeaderMismatch("%s says %s, the body says %s", name, brief(header), brief(body))
}

// brief quotes text of the client for its own eyes, capped.
func brief(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], ""))
	}
	return fmt.Sprintf("%q", s)
}
