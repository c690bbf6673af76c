package auth

import (
	"net/http"
	"strings"
)

// A refusal is why a request is not served. Its texts are ours, never the
// client's.
type refusal struct {
	status      int
	code, words string // error and error_description; empty where no token came
}

// challenge answers a request that is not served. Pages of any origin may read
// it: it says nothing that the metadata does not.
func (r *Resource) challenge(w http.ResponseWriter, f *refusal) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate")
	if f.status != http.StatusServiceUnavailable {
		var b strings.Builder
		b.WriteString("Bearer ")
		if f.code != "" {
			b.WriteString(`error="` + f.code + `", error_description="` + f.words + `", `)
		}
		if len(r.opt.Scopes) > 0 {
			b.WriteString(`scope="` + strings.Join(r.opt.Scopes, " ") + `", `)
		}
		b.WriteString(`resource_metadata="` + r.metadataURL + `"`)
		h.Set("WWW-Authenticate", b.String())
	}
	http.Error(w, http.StatusText(f.status), f.status)
}
