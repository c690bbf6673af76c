package server

import (
	"strconv"
	"testing"
)

// Cursors that clients make up take the room of pages, never that of the lists
// themselves.
func TestEncodedIsBounded(t *testing.T) {
	t.Parallel()
	r := new(encodedResults)
	for i := range 10 * maxEncoded {
		r.put(encodedKey{method: "tools/list", cursor: strconv.Itoa(i)}, encoded("{}"))
	}
	if len(r.all) > maxEncoded {
		t.Errorf("%d are kept", len(r.all))
	}
	first := encodedKey{method: "tools/list"}
	r.put(first, encoded("{}"))
	if _, ok := r.get(first); !ok {
		t.Error("the first page is not kept")
	}
}
