package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/rpc"
)

// A wire takes what is written, until it breaks.
type wire struct {
	mu     sync.Mutex
	text   bytes.Buffer
	broken error
}

func (w *wire) Write(b []byte) (int, error) { return w.TryWrite(b) }

func (w *wire) TryWrite(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return 0, w.broken
	}
	return w.text.Write(b)
}

// together makes calls that are all under way at once, and hands over how each
// of them ended.
func together(t *testing.T, d *rpc.Duplex, n int) <-chan error {
	t.Helper()
	ended := make(chan error, n)
	for range n {
		go func() { ended <- d.Call(t.Context(), &rpc.Request{Method: "m"}, nil) }()
	}
	synctest.Wait()
	return ended
}

func TestAskedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, peer := io.Pipe()
		w := &wire{}
		d := rpc.NewDuplex(t.Context(), rpc.NewLineStream(r, w, nil, rpc.Limits{}), handler(echo), nil)
		defer d.Close()
		const calls = 50
		ended := together(t, d, calls)
		asked := w.text.String()
		for id := range calls {
			if n := bytes.Count([]byte(asked), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", id+1)); n != 1 {
				t.Errorf("request %d was written %d times", id+1, n)
			}
			fmt.Fprintf(peer, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", id+1)
		}
		for range calls {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// Nobody waits for ever when what was to be written for all is not.
func TestAskedTogetherInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := io.Pipe()
		w := &wire{}
		d := rpc.NewDuplex(t.Context(), rpc.NewLineStream(r, w, nil, rpc.Limits{}), handler(echo), nil)
		defer d.Close()
		first := together(t, d, 1)
		w.mu.Lock()
		w.broken = errors.New("broken")
		w.mu.Unlock()
		others := together(t, d, 10)
		for range 10 {
			if err := <-others; !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("error %v", err)
			}
		}
		if err := <-first; !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}
