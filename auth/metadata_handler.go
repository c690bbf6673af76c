package auth

import (
	"net/http"

	"github.com/go-json-experiment/json"
)

// WellKnownResource is the path below which the metadata of a resource is
// found: at the path itself, and with the path of the resource after it
// (RFC 9728, section 3).
const WellKnownResource = "/.well-known/oauth-protected-resource"

func (r *Resource) marshalMetadata() ([]byte, error) {
	return json.Marshal(struct {
		Resource             string   `json:"resource"`
		AuthorizationServers []string `json:"authorization_servers"`
		Scopes               []string `json:"scopes_supported,omitempty"`
		Methods              []string `json:"bearer_methods_supported"`
	}{r.opt.URL, r.opt.AuthorizationServers, r.opt.ScopesSupported, []string{"header"}})
}

// serveMetadata answers pages of any origin: the metadata is public.
func (r *Resource) serveMetadata(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(r.metadata) // the client may be gone
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "*")
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "only GET, HEAD and OPTIONS", http.StatusMethodNotAllowed)
	}
}
