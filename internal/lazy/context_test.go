package lazy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tenon-mcp/tenon/internal/lazy"
)

// A lazy.Context behaves like a context of package context, whatever is asked of
// it first.
func TestLazyContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	mine, theirs := errors.New("mine"), errors.New("theirs")
	asks := map[string]func(context.Context){
		"nothing": func(context.Context) {},
		"done":    func(ctx context.Context) { ctx.Done() },
		"child":   func(ctx context.Context) { _, cancel := context.WithCancel(ctx); t.Cleanup(cancel) },
		"cause":   func(ctx context.Context) { _ = context.Cause(ctx) },
	}
	ends := map[string]struct {
		end   func(c *lazy.Context, parent context.CancelCauseFunc)
		cause error
	}{
		"not":    {func(*lazy.Context, context.CancelCauseFunc) {}, nil},
		"own":    {func(c *lazy.Context, _ context.CancelCauseFunc) { c.End(mine) }, mine},
		"parent": {func(_ *lazy.Context, end context.CancelCauseFunc) { end(theirs) }, theirs},
		"both":   {func(c *lazy.Context, end context.CancelCauseFunc) { c.End(mine); end(theirs) }, mine},
		"twice":  {func(c *lazy.Context, _ context.CancelCauseFunc) { c.End(mine); c.End(theirs) }, mine},
	}
	for asked, ask := range asks {
		for ended, e := range ends {
			t.Run(asked+"/"+ended, func(t *testing.T) {
				t.Parallel()
				parent, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, 1))
				defer end(nil)
				c := &lazy.Context{Parent: parent}
				if ask(c); c.Value(key{}) != 1 {
					t.Error("a value is missing")
				}
				told := make(chan struct{})
				if asked == "child" {
					context.AfterFunc(c, func() { close(told) })
				}
				e.end(c, end)
				if cause := context.Cause(c); cause != e.cause { //nolint:errorlint // the very one
					t.Errorf("cause %v, want %v", cause, e.cause)
				}
				if (c.Err() != nil) != (e.cause != nil) {
					t.Errorf("err %v", c.Err())
				}
				if e.cause == nil {
					return
				}
				<-c.Done()
				if asked == "child" {
					<-told
				}
				if c.Value(key{}) != 1 {
					t.Error("a value is missing")
				}
			})
		}
	}
}

func TestLazyContextAllocations(t *testing.T) { //nolint:paralleltest // it counts
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	contexts := make([]lazy.Context, 101)
	n := testing.AllocsPerRun(100, func() {
		c := &contexts[0]
		contexts = contexts[1:]
		c.Parent = parent
		_ = c.Err()
		_ = c.Value(t)
		c.End(errors.ErrUnsupported)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTell(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		act  func(c *lazy.Context, told func())
		want int
	}{
		"end":         {func(c *lazy.Context, told func()) { c.Tell(told); c.End(nil); c.End(nil) }, 1},
		"real":        {func(c *lazy.Context, told func()) { c.Done(); c.Tell(told); c.End(nil) }, 1},
		"taken back":  {func(c *lazy.Context, told func()) { c.Tell(told); c.Tell(nil); c.End(nil) }, 0},
		"ended first": {func(c *lazy.Context, told func()) { c.End(nil); c.Tell(told) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, n := &lazy.Context{Parent: t.Context()}, 0
			tt.act(c, func() { n++ })
			if n != tt.want {
				t.Errorf("told %d times, want %d", n, tt.want)
			}
		})
	}
	c := &lazy.Context{Parent: t.Context()}
	if !c.Tell(func() {}) {
		t.Error("nobody is told, though it has not ended")
	}
	c.End(nil)
	if c.Tell(func() {}) {
		t.Error("somebody is to be told of the past")
	}
}
