package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/rpc"
)

// readAll reads a stream to its end.
func readAll(t *testing.T, s rpc.Stream) []string {
	t.Helper()
	var got []string
	for {
		m, err := s.Read(t.Context())
		if bad := (*rpc.DecodeError)(nil); err != nil && !errors.As(err, &bad) {
			if !errors.Is(err, io.EOF) {
				t.Errorf("read: %v", err)
			}
			return got
		}
		got = append(got, show(m, err))
	}
}

func TestLineStreamRead(t *testing.T) {
	t.Parallel()
	const (
		one   = `{"jsonrpc":"2.0","method":"one"}`
		isOne = "request id= method=one params="
		two   = `{"jsonrpc":"2.0","id":2,"result":"a—読🎉é"}`
		isTwo = `response id=2 result="a—読🎉é"`
		large = "bad answer to : message is larger than the limit of 100 bytes (-32600)"
	)
	long := strings.Repeat("x", 200)
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"lines", one + "\n" + two + "\n", []string{isOne, isTwo}},
		{"carriage returns", one + "\r\n" + two + "\r\n", []string{isOne, isTwo}},
		{"empty lines", "\n\r\n \t\n" + one + "\n\n\n" + two + "\n\n", []string{isOne, isTwo}},
		{"byte order mark", "\ufeff" + one + "\n", []string{isOne}},
		{"only a byte order mark", "\ufeff", nil},
		{"late byte order mark", one + "\n\ufeff" + one + "\n", []string{isOne, "bad answer to : not valid JSON: unexpected character at byte 0 (-32700)"}},
		{"no last line break", one + "\n" + two, []string{isOne, isTwo}},
		{"cut last line", one + "\n" + two[:20], []string{isOne, "bad answer to : not valid JSON: unexpected end at byte 20 (-32700)"}},
		{"two on one line", one + one + "\n" + two + "\n", []string{"bad answer to : not valid JSON: text after the message at byte 32 (-32700)", isTwo}},
		{"too long", long + "\n" + one + "\n", []string{large, isOne}},
		{"much too long", strings.Repeat(long, 1000) + "\n" + one + "\n", []string{large, isOne}},
		{"endless carriage returns", strings.Repeat("\r", 200_000) + "\n" + one + "\n", []string{large, isOne}},
		{"too long at the end", one + "\n" + long, []string{isOne, large}},
		{"too long, known", `{"jsonrpc":"2.0","id":8,"result":"` + long + "\"}\n" + one + "\n", []string{"bad response to 8: message is larger than the limit of 100 bytes (-32600)", isOne}},
		{"just not too long", padded(100) + "\n" + padded(100) + "\r\n" + padded(101) + "\n", []string{isOne, isOne, large}},
		{"batch", "[" + one + "]\n", []string{"[" + isOne + "]"}},
	} {
		for how, reader := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytewise": iotest.OneByteReader, "with error": iotest.DataErrReader,
		} {
			t.Run(test.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				s := rpc.NewLineStream(reader(strings.NewReader(test.in)), io.Discard, nil, rpc.Limits{MessageBytes: 100})
				defer s.Close()
				if diff := cmp.Diff(test.want, readAll(t, s)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// padded returns a message of n bytes.
func padded(n int) string {
	return `{"jsonrpc":"2.0","method":"one"` + strings.Repeat(" ", n-32) + `}`
}

func TestLineStreamSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4095, 65_535, 65_536, 65_537, 1<<20 + 1, 5 << 20} {
		a, b := linePair(rpc.Limits{})
		want := strings.Repeat("é", n/2)
		go a.Write(t.Context(), &rpc.Response{ID: rpc.IntID(1), Result: want})
		m, err := b.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.(*rpc.Response).Result.(jsontext.Value)); got != `"`+want+`"` {
			t.Errorf("%d bytes came as %d", n, len(got))
		}
		a.Close()
		b.Close()
	}
}

// A message belongs to who reads it, whatever is read later.
func TestLineStreamMemory(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	for k := range 5000 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","method":"m","params":{"k":%d}}`+"\n", k)
	}
	s := rpc.NewLineStream(strings.NewReader(in.String()), io.Discard, nil, rpc.Limits{})
	defer s.Close()
	for k, got := range readAll(t, s) {
		if want := fmt.Sprintf(`request id= method=m params={"k":%d}`, k); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

// gate is a writer that waits before each write for a token.
type gate struct {
	tokens chan struct{}
	mu     sync.Mutex
	writes []string
	closed chan struct{}
	once   sync.Once
}

func newGate() *gate { return &gate{tokens: make(chan struct{}), closed: make(chan struct{})} }

func (g *gate) Write(b []byte) (int, error) {
	select {
	case <-g.tokens:
	case <-g.closed:
		return 0, io.ErrClosedPipe
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes = append(g.writes, string(b))
	return len(b), nil
}

func (g *gate) Read([]byte) (int, error) {
	<-g.closed
	return 0, errors.New("closed while reading")
}

func (g *gate) Close() error {
	g.once.Do(func() { close(g.closed) })
	return nil
}

func note(method string) *rpc.Request { return &rpc.Request{Method: method} }

// What comes while a write is under way is written together.
func TestLineStreamCoalesces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := rpc.NewLineStream(g, g, nil, rpc.Limits{})
		var wg sync.WaitGroup
		write := func(ctx context.Context, method string) {
			wg.Go(func() {
				if err := s.Write(ctx, note(method)); err != nil {
					t.Errorf("%s: %v", method, err)
				}
			})
			synctest.Wait()
		}
		write(context.Background(), "a")
		write(context.Background(), "b")
		write(t.Context(), "c")
		g.tokens <- struct{}{}
		synctest.Wait()
		write(t.Context(), "d")
		g.tokens <- struct{}{}
		g.tokens <- struct{}{}
		wg.Wait()
		line := func(m string) string { return `{"jsonrpc":"2.0","method":"` + m + `"}` + "\n" }
		if diff := cmp.Diff([]string{line("a"), line("b") + line("c"), line("d")}, g.writes); diff != "" {
			t.Error(diff)
		}
		s.Close()
	})
}

// A message whose ctx ends while it is queued is not sent; one that is being
// written is.
func TestLineStreamWriteContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := rpc.NewLineStream(g, g, nil, rpc.Limits{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		errs := make(chan error, 2)
		go func() { errs <- s.Write(ctx, note("begun")) }()
		synctest.Wait()
		go func() { errs <- s.Write(ctx, note("queued")) }()
		for range 2 {
			if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("write: %v", err)
			}
		}
		go s.Write(t.Context(), note("next"))
		synctest.Wait()
		g.tokens <- struct{}{}
		g.tokens <- struct{}{}
		synctest.Wait()
		if err := s.Write(ctx, note("dead")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
		got := strings.Join(g.writes, "")
		if want := `{"jsonrpc":"2.0","method":"begun"}` + "\n" + `{"jsonrpc":"2.0","method":"next"}` + "\n"; got != want {
			t.Errorf("written: %s", got)
		}
		s.Close()
	})
}

func TestLineStreamQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := rpc.NewLineStream(g, g, nil, rpc.Limits{QueuedBytes: 100})
		var wg sync.WaitGroup
		for k := range 10 {
			ctx := t.Context()
			if k%2 == 0 {
				ctx = context.Background()
			}
			wg.Go(func() {
				if err := s.Write(ctx, note("abcdefghij")); err != nil { // 43 bytes
					t.Error(err)
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Write(ctx, note("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("write without room: %v", err)
		}
		go func() {
			for {
				select {
				case g.tokens <- struct{}{}:
				case <-g.closed:
					return
				}
			}
		}()
		wg.Wait()
		for _, w := range g.writes {
			if len(w) > 100 {
				t.Errorf("%d bytes were queued", len(w))
			}
		}
		if n := strings.Count(strings.Join(g.writes, ""), "abcdefghij"); n != 10 {
			t.Errorf("%d messages", n)
		}
		s.Close()
	})
}

func TestLineStreamClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := rpc.NewLineStream(g, g, nil, rpc.Limits{QueuedBytes: 50})
		errs := make(chan error, 5)
		go func() { _, err := s.Read(t.Context()); errs <- err }()
		for _, ctx := range []context.Context{context.Background(), context.Background(), t.Context(), t.Context()} {
			go func() { errs <- s.Write(ctx, note("abcdefghij")) }()
			synctest.Wait()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for range 5 {
			if err := <-errs; !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("error %v", err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Write(t.Context(), note("x")); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("write: %v", err)
		}
	})
}

// A writer that Close cannot reach does not hold Close up for ever.
func TestLineStreamCloseWithStuckWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := rpc.NewLineStream(strings.NewReader(""), g, nil, rpc.Limits{})
		errs := make(chan error, 1)
		go func() { errs <- s.Write(t.Context(), note("x")) }()
		synctest.Wait()
		start := time.Now()
		s.Close()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("Close took %v", took)
		}
		if err := <-errs; !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("write: %v", err)
		}
		g.Close()
	})
}

type failing struct{ after int }

func (f *failing) Write(b []byte) (int, error) {
	if f.after--; f.after < 0 {
		return len(b) / 2, errors.New("no space left")
	}
	return len(b), nil
}

// After half a message nothing more can be written.
func TestLineStreamWriteFails(t *testing.T) {
	t.Parallel()
	s := rpc.NewLineStream(strings.NewReader(""), &failing{after: 1}, nil, rpc.Limits{})
	defer s.Close()
	for k, want := range []string{"", "no space left", "no space left"} {
		for _, ctx := range []context.Context{context.Background(), t.Context()}[k%2:] {
			err := s.Write(ctx, note("x"))
			if want == "" && err == nil {
				break
			}
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("write %d: %v", k, err)
			}
		}
	}
}

// What cannot be encoded is not sent, and leaves the stream as it was.
func TestLineStreamEncodeError(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := rpc.NewLineStream(strings.NewReader(""), &out, nil, rpc.Limits{})
	defer s.Close()
	if err := s.Write(t.Context(), &rpc.Request{Method: "x", Params: jsontext.Value(`[]`)}); err == nil || errors.Is(err, rpc.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if err := s.Write(t.Context(), &rpc.Response{ID: rpc.IntID(1), Result: make(chan int)}); !errors.Is(err, rpc.ErrResult) {
		t.Errorf("write: %v", err)
	}
	if err := s.Write(t.Context(), note("x")); err != nil {
		t.Errorf("write: %v", err)
	}
	want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}` + "\n" + `{"jsonrpc":"2.0","method":"x"}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// Many writers at once: each line is whole, and each is there.
func TestLineStreamWriters(t *testing.T) {
	t.Parallel()
	a, b := linePair(rpc.Limits{QueuedBytes: 10_000})
	const writers, each = 40, 50
	var wg sync.WaitGroup
	for w := range writers {
		ctx := context.Background()
		if w%2 == 0 {
			ctx = t.Context()
		}
		wg.Go(func() {
			for k := range each {
				id := rpc.IntID(int64(w*each + k))
				if err := a.Write(ctx, &rpc.Response{ID: id, Result: strings.Repeat("x", k*w*3)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := map[rpc.ID]bool{}
	for range writers * each {
		m, err := b.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen[m.(*rpc.Response).ID] = true
	}
	wg.Wait()
	if len(seen) != writers*each {
		t.Errorf("%d messages", len(seen))
	}
	a.Close()
	b.Close()
}
