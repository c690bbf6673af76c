package server

import (
	"math/big"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// checkHeaders compares the headers that mirror annotated arguments with the
// arguments (spec section 3.4): an intermediary may have decided by them. It
// has nothing to compare where there is no HTTP, or no such header in the
// revision.
func (c *Call) checkHeaders(t *tool, args jsontext.Value) error {
	if c.Header == nil || c.Method.NameParam == "" || !c.Version.Modern() {
		return nil
	}
	for _, h := range t.headers {
		name := mcp.HeaderParam + h.Name
		sent := c.Header.Values(name)
		want, ok := h.Value(args)
		switch {
		case !ok && len(sent) == 0:
			continue
		case !ok:
			return mcp.HeaderMismatch("%s is sent, but the argument %q is not", name, strings.Join(h.Path, "."))
		case len(sent) != 1:
			return mcp.HeaderMismatch("%s must be sent once, for the argument %q", name, strings.Join(h.Path, "."))
		}
		got, err := mcp.DecodeHeaderValue(sent[0])
		if err != nil {
			return mcp.HeaderMismatch("%s cannot be read: %w", name, err)
		}
		if got != want && (h.Type != "integer" || !sameNumber(got, want)) {
			return mcp.HeaderMismatch("%s differs from the argument %q", name, strings.Join(h.Path, "."))
		}
	}
	return nil
}

// sameNumber compares integers that may be spelled in different ways.
func sameNumber(a, b string) bool {
	const longest = 32 // an exponent could make a short text a huge number
	if len(a) > longest || len(b) > longest || strings.ContainsAny(a+b, "eE/_xX") {
		return false
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}
