package mcp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/rpc"
)

// The error codes of MCP, beside those of JSON-RPC in package rpc.
const (
	// CodeResourceNotFound is what legacy revisions answer for a resource
	// that does not exist. Modern servers never send it.
	CodeResourceNotFound = -32002
	// CodeURLElicitationRequired is sent by 2025-11-25 only.
	CodeURLElicitationRequired = -32042
	// CodeHeaderMismatch: an HTTP header is missing or disagrees with the body.
	CodeHeaderMismatch = -32020
	// CodeMissingCapability: the client did not declare what the request needs.
	CodeMissingCapability = -32021
	// CodeUnsupportedVersion: the server does not speak the revision asked for.
	CodeUnsupportedVersion = -32022
	// CodeUserRejected is what a legacy client answers when its user refused
	// a sampling request.
	CodeUserRejected = -1
)

// Errors to compare with [errors.Is]; only their code counts.
var (
	ErrResourceNotFound   = &rpc.Error{Code: CodeResourceNotFound, Message: "resource not found"}
	ErrURLElicitation     = &rpc.Error{Code: CodeURLElicitationRequired, Message: "URL elicitation required"}
	ErrHeaderMismatch     = &rpc.Error{Code: CodeHeaderMismatch, Message: "header mismatch"}
	ErrMissingCapability  = &rpc.Error{Code: CodeMissingCapability, Message: "missing required client capability"}
	ErrUnsupportedVersion = &rpc.Error{Code: CodeUnsupportedVersion, Message: "unsupported protocol version"}
	ErrUserRejected       = &rpc.Error{Code: CodeUserRejected, Message: "user rejected the request"}
	ErrMethodNotFound     = &rpc.Error{Code: rpc.CodeMethodNotFound, Message: "method not found"}
	ErrInvalidParams      = &rpc.Error{Code: rpc.CodeInvalidParams, Message: "invalid params"}
)

// VersionData is the data of [UnsupportedVersion].
type VersionData struct {
	Supported []Version `json:"supported"`
	Requested Version   `json:"requested"`
}

// CapabilityData is the data of [MissingCapability].
type CapabilityData struct {
	Required ClientCapabilities `json:"requiredCapabilities"`
}

// ResourceData is the data of [ResourceNotFound].
type ResourceData struct {
	URI string `json:"uri"`
}

// ElicitationData is the data of [URLElicitationRequired].
type ElicitationData struct {
	Elicitations []ElicitParams `json:"elicitations"`
}

// UnsupportedVersion returns the error for a modern request at a revision that
// is not one of supported.
func UnsupportedVersion(requested Version, supported []Version) *rpc.Error {
	return rpc.Errorf(CodeUnsupportedVersion, "unsupported protocol version %q; supported: %s", requested, joinVersions(supported)).
		WithData(VersionData{Supported: supported, Requested: requested})
}

// LegacyUnsupportedVersion is what a server answers to initialize when it
// speaks no legacy revision. Old clients look for nothing newer by themselves,
// so the message names what would work.
func LegacyUnsupportedVersion(requested Version, supported []Version) *rpc.Error {
	return rpc.Errorf(rpc.CodeInvalidParams, "unsupported protocol version %q; supported: %s", requested, joinVersions(supported)).
		WithData(VersionData{Supported: supported, Requested: requested})
}

func joinVersions(vs []Version) string {
	var b strings.Builder
	for i, v := range vs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	return b.String()
}

// NotInRevision returns the error for a question that revision v does not have,
// whatever its client declares, and nil where it has all of need. Like that of
// [MissingCapability] it matches [ErrMissingCapability].
func NotInRevision(v Version, need ClientCapabilities) *rpc.Error {
	h := has(v)
	var lacks string
	switch e, s := need.Elicitation, need.Sampling; {
	case e != nil && h.no(partElicitation):
		lacks = "elicitation"
	case e != nil && e.URL != nil && h.no(partElicitModes):
		lacks = "elicitation of URLs"
	case s != nil && s.Tools != nil && h.no(partSamplingTools):
		lacks = "sampling with tools"
	default:
		return nil
	}
	return rpc.Errorf(CodeMissingCapability, "revision %s has no %s", v, lacks).WithData(CapabilityData{Required: need})
}

// MissingCapability returns the error for a modern request whose client did
// not declare what is needed to answer it.
func MissingCapability(need ClientCapabilities) *rpc.Error {
	return rpc.Errorf(CodeMissingCapability, "client must declare the capability %s for this request", strings.Join(need.Names(), ", ")).
		WithData(CapabilityData{Required: need})
}

// HeaderMismatch returns the error for an HTTP header that is missing, not
// readable, or different from the body.
func HeaderMismatch(format string, args ...any) *rpc.Error {
	return rpc.Errorf(CodeHeaderMismatch, "header mismatch: "+format, args...)
}

// ResourceNotFound returns the error of revision v for a resource that does
// not exist.
func ResourceNotFound(uri string, v Version) *rpc.Error {
	code := CodeResourceNotFound
	if r, ok := v.Revision(); ok {
		code = r.NotFound
	}
	return rpc.Errorf(code, "resource not found: %s", uri).WithData(ResourceData{URI: uri})
}

// URLElicitationRequired returns the error with which a server of 2025-11-25
// says that these elicitations must be done before the request is tried again.
func URLElicitationRequired(elicitations ...ElicitParams) *rpc.Error {
	return rpc.Errorf(CodeURLElicitationRequired, "this request needs %d URL elicitation(s) first", len(elicitations)).
		WithData(ElicitationData{Elicitations: elicitations})
}

// InvalidParams returns an error for params that the method cannot take.
func InvalidParams(format string, args ...any) *rpc.Error {
	return rpc.Errorf(rpc.CodeInvalidParams, format, args...)
}

// MethodNotFound returns the error for a method that this side does not have.
func MethodNotFound(method string) *rpc.Error {
	return rpc.Errorf(rpc.CodeMethodNotFound, "method not found: %q", method)
}

// IsNotFound reports whether err says, in the words of any revision, that the
// resource named uri does not exist.
func IsNotFound(err error, uri string) bool {
	e := rpcError(err)
	if e == nil {
		return false
	}
	if e.Code == CodeResourceNotFound {
		return true
	}
	var d ResourceData
	return e.Code == rpc.CodeInvalidParams && json.Unmarshal(e.Data, &d) == nil && d.URI == uri
}

// ErrorData decodes the data of a wire error into T, such as [VersionData]. It
// returns an error where err is no wire error or its data is of another shape.
func ErrorData[T any](err error) (T, error) {
	var data T
	e := rpcError(err)
	if e == nil {
		return data, fmt.Errorf("not an error of the other side: %w", err)
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return data, fmt.Errorf("data of error %d: %w", e.Code, err)
	}
	return data, nil
}

func rpcError(err error) *rpc.Error {
	e, _ := errors.AsType[*rpc.Error](err)
	return e
}
