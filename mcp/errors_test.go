package mcp_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

func TestErrorData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  *rpc.Error
		is   error
		data string
	}{
		{"version", mcp.UnsupportedVersion("x", []mcp.Version{mcp.V20260728}), mcp.ErrUnsupportedVersion, `{"supported":["2026-07-28"],"requested":"x"}`},
		{"version without any", mcp.UnsupportedVersion("x", nil), mcp.ErrUnsupportedVersion, `{"supported":[],"requested":"x"}`},
		{"legacy version", mcp.LegacyUnsupportedVersion("x", []mcp.Version{mcp.V20260728}), mcp.ErrInvalidParams, `{"supported":["2026-07-28"],"requested":"x"}`},
		{"capability", mcp.MissingCapability(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}), mcp.ErrMissingCapability, `{"requiredCapabilities":{"elicitation":{}}}`},
		{
			"extension", mcp.MissingCapability(mcp.ClientCapabilities{Extensions: map[string]jsontext.Value{mcp.ExtensionTasks: jsontext.Value("{}")}}), mcp.ErrMissingCapability,
			`{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		},
		{"resource", mcp.ResourceNotFound("a:b", mcp.V20260728), mcp.ErrInvalidParams, `{"uri":"a:b"}`},
		{"legacy resource", mcp.ResourceNotFound("a:b", mcp.V20250618), mcp.ErrResourceNotFound, `{"uri":"a:b"}`},
		{"header", mcp.HeaderMismatch("%s is missing", "Mcp-Method"), mcp.ErrHeaderMismatch, ``},
		{
			"URL", mcp.URLElicitationRequired(mcp.ElicitParams{Mode: mcp.ElicitURL, ElicitationID: "1", URL: "https://a", Message: "m"}), mcp.ErrURLElicitation,
			`{"elicitations":[{"mode":"url","message":"m","url":"https://a","elicitationId":"1"}]}`,
		},
		{"method", mcp.MethodNotFound("x"), mcp.ErrMethodNotFound, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !errors.Is(fmt.Errorf("call: %w", tt.err), tt.is) {
				t.Errorf("%v is not %v", tt.err, tt.is)
			}
			if string(tt.err.Data) != tt.data {
				t.Errorf("data is %s", tt.err.Data)
			}
		})
	}
}

// TestErrorsOfSchema validates the error responses of the schema.
func TestErrorsOfSchema(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t)
	modern := newValidator(t, dir, string(mcp.V20260728), asItIs)
	legacy := newValidator(t, dir, string(mcp.V20251125), asItIs)
	tests := []struct {
		def      string
		validate validator
		err      *rpc.Error
	}{
		{"UnsupportedProtocolVersionError", modern, mcp.UnsupportedVersion("x", nil)},
		{"MissingRequiredClientCapabilityError", modern, mcp.MissingCapability(mcp.ClientCapabilities{})},
		{"HeaderMismatchError", modern, mcp.HeaderMismatch("x")},
		{"URLElicitationRequiredError", legacy, mcp.URLElicitationRequired(mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://a", Message: "m", ElicitationID: "1"})},
	}
	for _, tt := range tests {
		b, err := json.Marshal(&envelope{JSONRPC: "2.0", ID: rpc.IntID(1), Error: tt.err})
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.validate("", tt.def, b); err != nil {
			t.Errorf("%s: %v", tt.def, err)
		}
	}
}

func TestDecodeErrorData(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("call: %w", mcp.UnsupportedVersion("x", []mcp.Version{"a"}))
	got, derr := mcp.ErrorData[mcp.VersionData](err)
	if derr != nil {
		t.Fatal(derr)
	}
	if diff := cmp.Diff(mcp.VersionData{Supported: []mcp.Version{"a"}, Requested: "x"}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []error{errors.New("local"), &rpc.Error{Code: 1}, &rpc.Error{Code: 1, Data: jsontext.Value(`7`)}} {
		if _, err := mcp.ErrorData[mcp.VersionData](bad); err == nil {
			t.Errorf("%v has data", bad)
		}
	}
}

func TestIsNotFound(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Version{mcp.V20241105, mcp.V20260728} {
		if !mcp.IsNotFound(mcp.ResourceNotFound("a:b", v), "a:b") {
			t.Errorf("%s is not found", v)
		}
	}
	if mcp.IsNotFound(mcp.InvalidParams("x"), "a:b") || mcp.IsNotFound(errors.New("x"), "a:b") || mcp.IsNotFound(nil, "") {
		t.Error("another error is not-found")
	}
}

func TestNotInRevision(t *testing.T) {
	t.Parallel()
	form := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &mcp.Support{}}}
	url := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: &mcp.Support{}}}
	tools := mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: &mcp.Support{}}}
	for _, tt := range []struct {
		v    mcp.Version
		need mcp.ClientCapabilities
		want string
	}{
		{mcp.V20241105, form, "revision 2024-11-05 has no elicitation"},
		{mcp.V20250326, url, "revision 2025-03-26 has no elicitation"},
		{mcp.V20250618, form, ""},
		{mcp.V20250618, url, "revision 2025-06-18 has no elicitation of URLs"},
		{mcp.V20250618, tools, "revision 2025-06-18 has no sampling with tools"},
		{mcp.V20251125, url, ""},
		{mcp.V20251125, tools, ""},
		{mcp.V20241105, mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}, Roots: &mcp.RootsCapability{}}, ""},
	} {
		err := mcp.NotInRevision(tt.v, tt.need)
		switch {
		case err == nil && tt.want == "":
		case err == nil || err.Message != tt.want || !errors.Is(err, mcp.ErrMissingCapability):
			t.Errorf("%s: got %v, want %q", tt.v, err, tt.want)
		}
	}
}
