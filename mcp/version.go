package mcp

import "github.com/tenon-mcp/tenon/rpc"

// Version names a revision. Versions are dates, so they order as strings.
type Version string

// The released revisions.
const (
	V20241105 Version = "2024-11-05"
	V20250326 Version = "2025-03-26"
	V20250618 Version = "2025-06-18"
	V20251125 Version = "2025-11-25"
	V20260728 Version = "2026-07-28"
)

// Era is how the two ends agree on who they are.
type Era int

const (
	// Legacy revisions open a session with an initialize handshake.
	Legacy Era = iota
	// Modern revisions say it again in the _meta of every request.
	Modern
)

// String returns "legacy" or "modern".
func (e Era) String() string {
	if e == Modern {
		return "modern"
	}
	return "legacy"
}

// Revision says, as data, what a revision allows.
type Revision struct {
	Version Version
	Era     Era
	// Streamable: the revision has Streamable HTTP. Without it, HTTP means
	// the two endpoints of HTTP+SSE.
	Streamable bool
	// Batch: several messages may travel as one JSON array.
	Batch bool
	// HeaderNamed: each HTTP request after initialize names the revision in
	// MCP-Protocol-Version. Without it, a missing header is no error.
	HeaderNamed bool
	// Resumable: SSE events have IDs, and Last-Event-ID resumes a stream.
	Resumable bool
	// Polling: the server may close an SSE stream early, after a first event
	// without data and with a retry time.
	Polling bool
	// ErrorIDNull: an error for a request whose ID is unknown is sent with
	// "id":null. Without it, the ID is left out.
	ErrorIDNull bool
	// NotFound is the error code for a resource that does not exist.
	NotFound int
}

// revisions is the table, newest first.
var revisions = [...]Revision{
	{Version: V20260728, Era: Modern, Streamable: true, HeaderNamed: true, NotFound: rpc.CodeInvalidParams},
	{Version: V20251125, Streamable: true, HeaderNamed: true, Resumable: true, Polling: true, NotFound: CodeResourceNotFound},
	{Version: V20250618, Streamable: true, HeaderNamed: true, Resumable: true, ErrorIDNull: true, NotFound: CodeResourceNotFound},
	{Version: V20250326, Streamable: true, Batch: true, Resumable: true, ErrorIDNull: true, NotFound: CodeResourceNotFound},
	{Version: V20241105, ErrorIDNull: true, NotFound: CodeResourceNotFound},
}

// Revisions returns the known revisions, newest first.
func Revisions() []Revision {
	all := revisions
	return all[:]
}

// Versions returns the versions of one era, newest first.
func Versions(era Era) []Version {
	var vs []Version
	for _, r := range revisions {
		if r.Era == era {
			vs = append(vs, r.Version)
		}
	}
	return vs
}

// Revision returns the row of v, and false where v is not a known revision.
func (v Version) Revision() (Revision, bool) {
	for _, r := range revisions {
		if r.Version == v {
			return r, true
		}
	}
	return Revision{}, false
}

// Modern reports whether v is a known revision of the modern era.
func (v Version) Modern() bool {
	r, ok := v.Revision()
	return ok && r.Era == Modern
}

// Latest returns the newest version of an era.
func Latest(era Era) Version {
	for _, r := range revisions {
		if r.Era == era {
			return r.Version
		}
	}
	return ""
}

// Negotiate returns the version that a server answers to initialize with:
// the wanted one if it is a known legacy revision, else the newest legacy
// revision, which the client may refuse (spec 2025-11-25, lifecycle).
func Negotiate(wanted Version) Version {
	if r, ok := wanted.Revision(); ok && r.Era == Legacy {
		return wanted
	}
	return Latest(Legacy)
}

// Choose returns the newest known version in supported, a list that the other
// side named, and false where none of them is known.
func Choose(supported []Version) (Version, bool) {
	var best Version
	for _, v := range supported {
		if _, known := v.Revision(); known && v > best {
			best = v
		}
	}
	return best, best != ""
}
