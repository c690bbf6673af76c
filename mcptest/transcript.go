package mcptest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Transcript runs fn once in every revision, over a pipe, and compares all
// messages with testdata/name.txtar: a section a revision, a line a message,
// with "C " before what the client sends and "S " before what the server sends.
// The members of objects are sorted, and sealed states are replaced by "…".
// With the flag -update the file is rewritten.
//
// fn is to do one thing after another, since the order of what happens at the
// same time is not the same twice. A revision for which fn skips is left out.
func Transcript(t *testing.T, name string, srv rpc.Binder, opts *client.Options, fn func(t *testing.T, c *client.Client)) {
	t.Helper()
	var got bytes.Buffer
	for _, rev := range mcp.Revisions() {
		ran := t.Run(string(rev.Version), func(t *testing.T) {
			r := &recorder{}
			defer func() {
				if !t.Skipped() {
					fmt.Fprintf(&got, "-- %s --\n%s", rev.Version, r.String())
				}
			}()
			var o client.Options
			if opts != nil {
				o = *opts
			}
			o.Version = rev.Version
			c := connect(t, rpc.StreamDialer{
				Open:    func(context.Context) (rpc.Stream, error) { return openPipe(t, srv), nil },
				Options: &rpc.DuplexOptions{Tap: r.tap},
			}, &o)
			fn(t, c)
		})
		if !ran {
			return
		}
	}
	golden(t, filepath.Join("testdata", name+".txtar"), got.Bytes())
}

// golden compares got with a file, or writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	section := ""
	for i := range max(len(wantLines), len(gotLines)) {
		w, g := at(wantLines, i), at(gotLines, i)
		if strings.HasPrefix(w, "-- ") {
			section = w
		}
		if w != g {
			t.Fatalf("%s, line %d, in %s:\n got %s\nwant %s\nrun the test with -update if this is right", path, i+1, section, g, w)
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// recorder is a tap of the client that keeps all messages as text.
type recorder struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

// sealed is a state that a server sealed: it is never the same twice.
var sealed = regexp.MustCompile(`"requestState":"[^"]*"`)

func (r *recorder) tap(_ context.Context, dir rpc.Direction, m rpc.Message) {
	text, err := rpc.AppendMessage(nil, m)
	if err != nil {
		text = fmt.Appendf(nil, `"not encodable: %v"`, err)
	}
	v := jsontext.Value(text)
	if err := v.Canonicalize(); err != nil {
		v = text
	}
	who := "S "
	if dir == rpc.Sent {
		who = "C "
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf.WriteString(who)
	r.buf.Write(sealed.ReplaceAll(v, []byte(`"requestState":"…"`)))
	r.buf.WriteByte('\n')
}
