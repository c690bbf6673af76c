package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon/rpc"
)

// An actor is one end of a connection in TestDuplexChaos. It counts what it sent
// and what it got.
type actor struct {
	t    *rapid.T
	conn rpc.Conn

	sent, received atomic.Int64 // notifications
	handling       atomic.Int64
	next           int64 // number of the next notification wanted

	late sync.WaitGroup // senders that outlive their request
}

func (a *actor) Bind(_ context.Context, conn rpc.Conn) rpc.Handler {
	a.conn = conn
	return a
}

// Handle does what the method says; nested requests go back and forth.
func (a *actor) Handle(ctx context.Context, req *rpc.Request, peer rpc.Peer) (any, error) {
	switch req.Method {
	case "note":
		a.received.Add(1)
		if want := strconv.FormatInt(a.next, 10); string(req.Param("n")) != want {
			a.t.Errorf("notification %s, want %s", req.Params, want)
		}
		a.next++
		return nil, nil
	case "late":
		return nil, nil
	case "cancel":
		id, _ := rpc.ParseID(req.Param("id"))
		a.conn.Cancel(id, errors.New("cancelled"))
		return nil, nil
	}
	a.handling.Add(1)
	defer a.handling.Add(-1)
	switch req.Method {
	case "wait":
		select {
		case <-time.After(time.Duration(len(req.Params)) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "nest":
		var got struct {
			N int `json:"n"`
		}
		// All places of both ends may be taken by such calls.
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if err := peer.Call(ctx, &rpc.Request{Method: "echo", Params: []byte(`{"n":7}`)}, &got); err != nil {
			return nil, err
		}
		if got.N != 7 {
			a.t.Errorf("nested call returned %v", got)
		}
	case "stray":
		a.late.Go(func() {
			for peer.Notify(context.Background(), &rpc.Request{Method: "late"}) == nil {
				<-time.After(time.Millisecond) // of the bubble
			}
		})
		<-time.After(3 * time.Millisecond)
	case "panic":
		panic("as asked")
	}
	return req.Params, nil
}

// act makes one call of the kind k and checks how it ends.
func (a *actor) act(ctx context.Context, k, n int) {
	methods := []string{"echo", "wait", "nest", "stray", "panic", "wait"}
	method := methods[k%len(methods)]
	params := fmt.Sprintf(`{"n":%d}`, n)
	var got struct {
		N int `json:"n"`
	}
	req := &rpc.Request{Method: method, Params: []byte(params)}
	if k%7 == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(n%5)*time.Millisecond)
		defer cancel()
	}
	err := a.conn.Call(ctx, req, &got)
	switch {
	case err == nil && (method == "panic" || got.N != n):
		a.t.Errorf("%s returned %d, want %d", method, got.N, n)
	case errors.Is(err, context.DeadlineExceeded):
		_ = a.conn.Notify(context.Background(), &rpc.Request{Method: "cancel", Params: fmt.Appendf(nil, `{"id":%s}`, req.ID)})
	case errors.Is(err, rpc.ErrClosed), errors.Is(err, &rpc.Error{Code: rpc.CodeInternalError}):
	case err != nil:
		a.t.Errorf("%s: %v", method, err)
	}
}

// Both ends call, notify, cancel and close as they like. Every call ends, with
// its own answer or with an error that fits; no notification is lost or
// overtaken while the connection lasts; Close leaves nothing behind.
func TestDuplexChaos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		actors := rapid.IntRange(1, 12).Draw(r, "actors")
		steps := rapid.IntRange(1, 30).Draw(r, "steps")
		stream := rapid.SampledFrom([]string{"pipe", "lines"}).Draw(r, "stream")
		closeAt := rapid.IntRange(-1, 20).Draw(r, "close") // in milliseconds
		lim := rpc.Limits{
			InFlight:        rapid.IntRange(1, 8).Draw(r, "in flight"),
			WaitingRequests: rapid.IntRange(1, 500).Draw(r, "waiting"),
			QueuedBytes:     rapid.IntRange(1, 2000).Draw(r, "queued"),
		}
		seed := rapid.Uint64().Draw(r, "seed")
		synctest.Test(t, func(*testing.T) { chaos(r, streams[stream], lim, actors, steps, closeAt, seed) })
	})
}

func chaos(r *rapid.T, pair func() (rpc.Stream, rpc.Stream), lim rpc.Limits, actors, steps, closeAt int, seed uint64) {
	s, p := pair()
	ends := [2]*actor{{t: r}, {t: r}}
	conns := [2]*rpc.Duplex{
		rpc.NewDuplex(context.Background(), s, ends[0], &rpc.DuplexOptions{Limits: lim}),
		rpc.NewDuplex(context.Background(), p, ends[1], &rpc.DuplexOptions{Limits: lim, Drain: time.Second}),
	}
	var wg sync.WaitGroup
	for side, a := range ends {
		for k := range actors {
			random := rand.New(rand.NewPCG(seed, uint64(side*100+k)))
			wg.Go(func() {
				for range steps {
					a.act(context.Background(), random.IntN(100), random.IntN(50))
				}
			})
		}
		wg.Go(func() {
			for n := range steps * 10 {
				if a.conn.Notify(context.Background(), &rpc.Request{Method: "note", Params: fmt.Appendf(nil, `{"n":%d}`, n)}) != nil {
					return
				}
				a.sent.Add(1)
			}
		})
	}
	if closeAt >= 0 {
		<-time.After(time.Duration(closeAt) * time.Millisecond)
		_ = conns[seed%2].Close()
	}
	wg.Wait()
	if closeAt < 0 {
		synctest.Wait()
		for k, a := range ends {
			if sent, got := a.sent.Load(), ends[1-k].received.Load(); sent != got {
				r.Errorf("%d notifications of %d came", got, sent)
			}
		}
	}
	for _, d := range conns {
		if err := d.Close(); err != nil {
			r.Errorf("close: %v", err)
		}
	}
	for _, a := range ends {
		a.late.Wait()
		if n := a.handling.Load(); n != 0 {
			r.Errorf("%d handlers run", n)
		}
	}
}
