package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

// The exit codes of all commands.
const (
	exitOK          = 0
	exitUnexpected  = 1
	exitUsage       = 2
	exitAuth        = 3
	exitUnreachable = 4
	exitTool        = 5
	exitProtocol    = 6
	exitCheck       = 7
	exitInput       = 8
	exitTimeout     = 124
	exitInterrupted = 130
)

// codeError is an error that knows its exit code. Its text is for people and
// safe for the terminal.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &codeError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode classifies an error. The order matters: an error may match several
// classes, and what we know best comes first.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*codeError](err); ok {
		return e.code
	}
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return exitTimeout
	}
	if e, ok := errors.AsType[*streamhttp.StatusError](err); ok {
		switch e.Code {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
			return exitAuth
		}
		if is[*rpc.Error](err) {
			return exitProtocol
		}
		return exitUnreachable
	}
	if is[*client.ToolError](err) {
		return exitTool
	}
	if is[*client.InputError](err) {
		return exitInput
	}
	if is[*client.VersionError](err) || is[*client.UnsupportedError](err) || is[*rpc.Error](err) ||
		is[*streamhttp.ContentTypeError](err) {
		return exitProtocol
	}
	if is[*stdio.ExitError](err) || is[*net.OpError](err) || is[*net.DNSError](err) || is[*exec.Error](err) ||
		errors.Is(err, exec.ErrNotFound) || errors.Is(err, rpc.ErrClosed) || errors.Is(err, os.ErrNotExist) {
		return exitUnreachable
	}
	return exitUnexpected
}

// codeNames are the exit codes as scripts read them in the report of an error.
var codeNames = map[int]string{
	exitUnexpected: "unexpected", exitUsage: "usage", exitAuth: "auth_required", exitUnreachable: "unreachable",
	exitTool: "tool_error", exitProtocol: "protocol_error", exitCheck: "check_failed", exitInput: "input_required", exitTimeout: "timeout",
	exitInterrupted: "interrupted",
}

// errorReport is the last line of stderr with --json.
type errorReport struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Status  int    `json:"status,omitzero"` // of HTTP
	} `json:"error"`
}

// report tells the user what went wrong.
func (a *app) report(err error) {
	text := strings.TrimSpace(err.Error())
	if !a.json {
		fmt.Fprintln(a.err, "error:", escape(text))
		return
	}
	var r errorReport
	r.Error.Code, r.Error.Message = codeNames[exitCode(err)], strings.ToValidUTF8(text, "\uFFFD")
	if e, ok := errors.AsType[*streamhttp.StatusError](err); ok {
		r.Error.Status = e.Code
	}
	_ = writeJSON(a.err, &r) // nobody is left to be told
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
