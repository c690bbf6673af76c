package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
)

type closers []io.Closer

func (c closers) Close() error {
	for _, c := range c {
		c.Close()
	}
	return nil
}

// What cannot be read is answered without its ID: until 2025-06-18 the ID is
// null, as in JSON-RPC, and later it is left out.
func TestErrorsWithoutID(t *testing.T) {
	t.Parallel()
	for _, r := range mcp.Revisions() {
		t.Run(string(r.Version), func(t *testing.T) {
			t.Parallel()
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			d := rpc.NewDuplex(context.Background(), rpc.NewLineStream(inR, outW, closers{inR, outW}, rpc.Limits{}), newServer(nil), nil)
			t.Cleanup(func() {
				inW.Close()
				outR.Close()
				_ = d.Close()
			})
			lines := bufio.NewScanner(outR)
			say := func(text string) string {
				t.Helper()
				if _, err := io.WriteString(inW, text+"\n"); err != nil || !lines.Scan() {
					t.Fatal(err, lines.Err())
				}
				return lines.Text()
			}
			if r.Era == mcp.Legacy {
				say(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, r.Version))
			}
			for _, text := range []string{`not json`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `[]`, `[1]`} {
				got := say(text)
				if !strings.Contains(got, `"error"`) {
					t.Errorf("%s: %s", text, got)
				}
				if strings.Contains(got, `"id":null`) != r.ErrorIDNull || !r.ErrorIDNull && strings.Contains(got, `"id"`) {
					t.Errorf("%s: %s", text, got)
				}
			}
		})
	}
}
