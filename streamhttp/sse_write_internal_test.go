package streamhttp

import (
	"testing"
	"testing/synctest"
	"time"
)

// unread is the output to a client that does not read. Its first write succeeds.
type unread struct {
	written int
	reads   chan struct{} // closed when the client reads
}

func (o *unread) Write(b []byte) (int, error) {
	if o.written++; o.written > 1 {
		<-o.reads
	}
	return len(b), nil
}

func (o *unread) Flush() error                     { return nil }
func (o *unread) SetWriteDeadline(time.Time) error { return nil }

// A client that does not read in the middle of a burst must not hold the one
// goroutine that keeps all streams alive.
func TestKeepAliveDoesNotWaitForABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &unread{reads: make(chan struct{})}
		s := newSSE(o, 0)
		for range 2 {
			if err := s.raw([]byte("data: 1\n\n")); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		for range 3 {
			s.keepAlive()
		}
		close(o.reads)
		s.close()
		if o.written != 2 {
			t.Errorf("%d writes", o.written)
		}
	})
}
