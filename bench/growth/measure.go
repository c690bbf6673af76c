package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/bench/internal/direct"
	"github.com/tenon-mcp/tenon/bench/internal/sample"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/streamhttp"
)

const echoArguments = `{"text":"hello world, this is a tiny echo"}`

// eras are the ways to call a server.
var eras = []struct {
	name    string
	version mcp.Version
}{{"legacy", mcp.V20251125}, {"modern", mcp.V20260728}}

// serve returns the handler of s, without the limits on how much there is.
func serve(s *server.Server) *streamhttp.Handler {
	return streamhttp.NewHandler(s, &streamhttp.Options{Limits: streamhttp.Limits{Sessions: -1, Streams: -1, SessionRequests: -1}})
}

// calls adds to a plot what one call costs now, in each era.
func calls(p *plot, h *streamhttp.Handler, n int) error {
	for _, era := range eras {
		c, err := direct.New(h, era.version)
		if err != nil {
			return err
		}
		text := c.Call("echo", echoArguments)
		y, err := cost(func() error { _, err := c.Post(text); return err })
		if err != nil {
			return err
		}
		p.add("a call, "+era.name, n, y)
	}
	return nil
}

func tools() (*plot, error) {
	p := &plot{title: "tools of the server", x: "tools", y: "µs"}
	for _, n := range []int{1, 10, 50, 200, 1000, 2000} {
		h := serve(sample.Server(n))
		err := calls(p, h, n)
		if err := h.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// sessions opens more and more of them on one server.
func sessions() (*plot, error) {
	p := &plot{title: "legacy sessions", x: "sessions", y: "µs"}
	h := serve(sample.Server(0))
	defer func() { _ = h.Close() }()
	open := func() error { _, err := direct.New(h, mcp.V20251125); return err }
	there := 0
	for _, n := range []int{10, 100, 1000, 5000, 20_000} {
		for ; there < n; there++ {
			if err := open(); err != nil {
				return nil, err
			}
		}
		if err := calls(p, h, n); err != nil {
			return nil, err
		}
		y, err := cost(func() error { there++; return open() })
		if err != nil {
			return nil, err
		}
		p.add("opening a session", n, y)
	}
	return p, nil
}

// memory is that of sessions without a stream.
func memory() (*plot, error) {
	p := &plot{title: "an idle legacy session", x: "sessions", y: "bytes", bound: 2 << 10}
	for _, n := range []int{100, 1000, 5000, 20_000} {
		h := serve(sample.Server(0))
		if _, err := direct.New(h, mcp.V20251125); err != nil {
			return nil, err
		}
		before := heap()
		for range n {
			if _, err := direct.New(h, mcp.V20251125); err != nil {
				return nil, err
			}
		}
		p.add("memory", n, float64(heap()-before)/float64(n))
		if err := h.Close(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// subscriptions are those of legacy sessions, each to a resource of its own.
func subscriptions() (*plot, error) {
	p := &plot{title: "subscribed legacy sessions", x: "sessions", y: "µs"}
	s := sample.Server(0)
	h := serve(s)
	defer func() { _ = h.Close() }()
	there := 0
	for _, n := range []int{10, 100, 1000, 10_000} {
		for ; there < n; there++ {
			c, err := direct.New(h, mcp.V20251125)
			if err != nil {
				return nil, err
			}
			uri := "bench://" + strconv.Itoa(there)
			if there == 0 {
				uri = sample.Fan
			}
			if _, err := c.Post(c.Request(mcp.MethodResourcesSubscribe, `"uri":"`+uri+`"`)); err != nil {
				return nil, err
			}
		}
		if err := calls(p, h, n); err != nil {
			return nil, err
		}
		y, err := cost(func() error { return s.ResourceUpdated(context.Background(), sample.Fan) })
		if err != nil {
			return nil, err
		}
		p.add("a change that one watches", n, y)
	}
	return p, nil
}

// listeners are modern requests that listen, each to a resource of its own.
func listeners() (*plot, error) {
	p := &plot{title: "listening modern clients", x: "listeners", y: "µs"}
	s := sample.Server(0)
	h := serve(s)
	defer func() { _ = h.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	there := 0
	for _, n := range []int{10, 100, 1000, 9_000} { // the server's own limit is 10,000
		for ; there < n; there++ {
			c, err := direct.New(h, mcp.V20260728)
			if err != nil {
				return nil, err
			}
			c.Name(mcp.MethodListen, "")
			text := c.Request(mcp.MethodListen, fmt.Sprintf(`"notifications":{"resourceSubscriptions":["bench://%d"]}`, there))
			begun := make(chan error, 2)
			listening.Go(func() { begun <- c.Stay(ctx, text, func() { begun <- nil }) })
			if err := <-begun; err != nil {
				return nil, err
			}
		}
		if err := calls(p, h, n); err != nil {
			return nil, err
		}
		y, err := cost(func() error { return s.ResourceUpdated(ctx, sample.Fan) })
		if err != nil {
			return nil, err
		}
		p.add("a change that none watches", n, y)
	}
	return p, nil
}

// inFlight is calls that wait, of one session, of the modern era, and of one
// client over a pipe.
func inFlight() (*plot, error) {
	p := &plot{title: "calls in flight", x: "calls", y: "µs"}
	for _, n := range []int{1, 10, 100, 1000, 10_000} {
		if err := inFlightOver(p, n); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func inFlightOver(p *plot, n int) error {
	ctx := context.Background()
	s := sample.Server(0)
	began, release := make(chan struct{}), make(chan struct{})
	server.AddTool(s, mcp.Tool{Name: "wait"}, func(context.Context, struct{}) (string, error) {
		began <- struct{}{}
		<-release
		return "done", nil
	})
	h := serve(s)
	defer func() { _ = h.Close() }()
	near, far := rpc.Pipe()
	opts := &rpc.DuplexOptions{Limits: rpc.Limits{InFlight: -1}}
	end := rpc.NewDuplex(ctx, far, s, opts)
	defer func() { _ = end.Close() }()
	c, err := client.Connect(ctx, rpc.StreamDialer{Open: func(context.Context) (rpc.Stream, error) { return near, nil }, Options: opts}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()

	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer close(release)
	for range n {
		waiting.Go(func() { _, _ = client.CallTool[string](ctx, c, "wait", struct{}{}) })
		waiting.Go(func() { // the answer is of no interest, and comes
			if p, err := direct.New(h, mcp.V20251125); err == nil {
				_, _ = p.Post(p.Call("wait", "{}"))
			}
		})
		<-began
		<-began
	}
	if err := calls(p, h, n); err != nil {
		return err
	}
	y, err := cost(func() error {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: []byte(echoArguments)})
		return err
	})
	p.add("a call, pair in memory", n, y)
	return err
}
