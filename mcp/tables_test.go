package mcp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

// TestMethodsOfSchemas compares the method table with each schema: what the
// unions of client and server messages have, FromClient and FromServer say.
func TestMethodsOfSchemas(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t)
	for _, r := range mcp.Revisions() {
		t.Run(string(r.Version), func(t *testing.T) {
			t.Parallel()
			defs := readSchema(t, dir, string(r.Version)).defs()
			client := slices.Concat(unionMethods(defs, "ClientRequest"), unionMethods(defs, "ClientNotification"))
			server := slices.Concat(unionMethods(defs, "ServerRequest"), unionMethods(defs, "ServerNotification"))
			questions := unionMethods(defs, "InputRequest")
			for _, m := range mcp.Methods() {
				if m.Extension != "" && r.Era == mcp.Modern {
					continue
				}
				if got, want := m.FromClient(r.Version), slices.Contains(client, m.Name); got != want {
					t.Errorf("%s from client: %v, the schema says %v", m.Name, got, want)
				}
				if got, want := m.FromServer(r.Version), slices.Contains(server, m.Name); got != want {
					t.Errorf("%s from server: %v, the schema says %v", m.Name, got, want)
				}
				if r.Era == mcp.Modern && m.Question != slices.Contains(questions, m.Name) {
					t.Errorf("%s is a question: %v, the schema disagrees", m.Name, m.Question)
				}
			}
			for _, name := range slices.Concat(client, server, questions) {
				if _, ok := mcp.MethodByName(name); !ok {
					t.Errorf("no row for %s", name)
				}
			}
		})
	}
}

func unionMethods(defs map[string]*node, union string) []string {
	n := defs[union]
	if n == nil {
		return nil
	}
	if m := n.method(defs); m != "" {
		return []string{m}
	}
	var out []string
	for _, part := range n.AnyOf {
		out = append(out, defs[refName(part.Ref)].method(defs))
	}
	return out
}

// TestMethodResultsOfSchema compares the columns on results with the schema
// of 2026-07-28.
func TestMethodResultsOfSchema(t *testing.T) {
	t.Parallel()
	defs := readSchema(t, sharedFolder(t), string(mcp.V20260728)).defs()
	for def, n := range defs {
		name := n.method(defs)
		m, ok := mcp.MethodByName(name)
		if name == "" || !ok || m.Notification || m.Question {
			continue
		}
		base := strings.TrimSuffix(def, "Request")
		result := defs[base+"Result"]
		if result == nil {
			t.Errorf("no result of %s", name)
			continue
		}
		_, cacheable := result.Properties["ttlMs"]
		if cacheable != m.Cacheable {
			t.Errorf("%s: cacheable is %v, the schema says %v", name, m.Cacheable, cacheable)
		}
		response := defs[base+"ResultResponse"]
		asks := slices.ContainsFunc(response.Properties["result"].AnyOf, func(n *node) bool { return refName(n.Ref) == "InputRequiredResult" })
		if asks != m.MayAsk {
			t.Errorf("%s: may ask is %v, the schema says %v", name, m.MayAsk, asks)
		}
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range mcp.Methods() {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
		if m.Notification != strings.HasPrefix(m.Name, "notifications/") {
			t.Errorf("%s: notification is %v", m.Name, m.Notification)
		}
		if _, ok := m.From.Revision(); !ok {
			t.Errorf("%s: From is %q", m.Name, m.From)
		}
	}
	if _, ok := mcp.MethodByName("nope"); ok {
		t.Error("nope is a method")
	}
	if (mcp.Method{}).In(mcp.V20260728) {
		t.Error("the zero method is in a revision")
	}
}

func TestMethodNeeds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method string
		v      mcp.Version
		want   string
	}{
		{mcp.MethodComplete, mcp.V20241105, ""},
		{mcp.MethodComplete, mcp.V20250326, "completions"},
		{mcp.MethodToolsCall, mcp.V20241105, "tools"},
		{mcp.MethodTasksCancel, mcp.V20251125, "tasks.cancel"},
		{mcp.MethodTasksCancel, mcp.V20260728, "extensions." + mcp.ExtensionTasks},
		{mcp.MethodPing, mcp.V20251125, ""},
	}
	for _, tt := range tests {
		m, _ := mcp.MethodByName(tt.method)
		if got := m.Needs(tt.v); got != tt.want {
			t.Errorf("%s in %s needs %q, want %q", tt.method, tt.v, got, tt.want)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	all := mcp.Revisions()
	if !slices.IsSortedFunc(all, func(a, b mcp.Revision) int { return strings.Compare(string(b.Version), string(a.Version)) }) {
		t.Error("revisions are not newest first")
	}
	all[0].Version = "changed"
	if mcp.Revisions()[0].Version != mcp.V20260728 {
		t.Error("the table can be changed from outside")
	}
	if got := mcp.Latest(mcp.Modern); got != mcp.V20260728 {
		t.Errorf("latest modern is %s", got)
	}
	want := []mcp.Version{mcp.V20251125, mcp.V20250618, mcp.V20250326, mcp.V20241105}
	if diff := cmp.Diff(want, mcp.Versions(mcp.Legacy)); diff != "" {
		t.Error(diff)
	}
	if !mcp.V20260728.Modern() || mcp.V20251125.Modern() || mcp.Version("2099-01-01").Modern() {
		t.Error("modern is wrong")
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[mcp.Version]mcp.Version{
		mcp.V20241105: mcp.V20241105,
		mcp.V20251125: mcp.V20251125,
		mcp.V20260728: mcp.V20251125, // initialize opens legacy sessions only
		"1.0.0":       mcp.V20251125,
		"":            mcp.V20251125,
	} {
		if got := mcp.Negotiate(wanted); got != want {
			t.Errorf("%q: got %s, want %s", wanted, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		supported []mcp.Version
		want      mcp.Version
	}{
		{[]mcp.Version{mcp.V20241105, "2099-01-01", mcp.V20250618}, mcp.V20250618},
		{[]mcp.Version{mcp.V20260728, mcp.V20251125}, mcp.V20260728},
		{[]mcp.Version{"x"}, ""},
		{nil, ""},
	}
	for _, tt := range tests {
		got, ok := mcp.Choose(tt.supported)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%v: got %s, %v", tt.supported, got, ok)
		}
	}
}

func TestRevisionColumns(t *testing.T) {
	t.Parallel()
	for _, r := range mcp.Revisions() {
		if r.Batch != (r.Version == mcp.V20250326) {
			t.Errorf("%s: batch is %v", r.Version, r.Batch)
		}
		if r.ErrorIDNull != (r.Version < mcp.V20251125) {
			t.Errorf("%s: ErrorIDNull is %v", r.Version, r.ErrorIDNull)
		}
		want := mcp.CodeResourceNotFound
		if r.Era == mcp.Modern {
			want = rpc.CodeInvalidParams
		}
		if r.NotFound != want {
			t.Errorf("%s: NotFound is %d", r.Version, r.NotFound)
		}
	}
}
