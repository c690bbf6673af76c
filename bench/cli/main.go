// cli is tenon's client for the benchmark: it calls the tool echo of a server
// and prints what that cost as a line of JSON.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/rpc"
	"github.com/tenon-mcp/tenon/stdio"
	"github.com/tenon-mcp/tenon/streamhttp"
)

type stats struct {
	Ops        int     `json:"ops"`
	Errors     int64   `json:"errors"`
	FirstError string  `json:"first_error,omitzero"`
	WallNS     int64   `json:"wall_ns"`
	CPUNS      int64   `json:"server_cpu_ns"` // its own
	P50        int64   `json:"p50_ns"`
	P95        int64   `json:"p95_ns"`
	P99        int64   `json:"p99_ns"`
	Allocs     float64 `json:"allocs_per_op"`
	Bytes      float64 `json:"bytes_per_op"`
}

func main() {
	url := flag.String("url", "", "endpoint; empty means the command behind --")
	era := flag.String("era", "handshake", "handshake or modern")
	n := flag.Int("n", 5000, "calls")
	callers := flag.Int("c", 1, "concurrent callers")
	warm := flag.Int("warm", 500, "calls before the measuring")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the measured calls")
	allocs := flag.String("memprofile", "", "file for a profile of every allocation, those before the measured calls included")
	flag.Parse()
	if *allocs != "" {
		runtime.MemProfileRate = 1
	}
	if err := run(*url, *era, flag.Args(), *n, *callers, *warm, *profile); err != nil {
		log.Fatal(err)
	}
	if *allocs != "" {
		writeAllocs(*allocs)
	}
}

func run(url, era string, command []string, n, callers, warm int, profile string) error {
	ctx := context.Background()
	opts := &client.Options{Version: mcp.V20260728}
	if era == "handshake" {
		opts.Version = mcp.V20251125
	}
	c, err := client.Connect(ctx, dialer(url, command), opts)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	l := loop{c: c, callers: callers}
	l.calls(ctx, warm)
	if l.first.Load() != nil {
		return errors.New(*l.first.Load())
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return json.MarshalWrite(os.Stdout, l.measure(ctx, n))
}

func writeAllocs(name string) {
	f, err := os.Create(name)
	if err == nil {
		err = pprof.Lookup("allocs").WriteTo(f, 0)
	}
	if err != nil {
		log.Print(err)
	}
}

func dialer(url string, command []string) rpc.Dialer {
	if url == "" {
		return &stdio.Command{Path: command[0], Args: command[1:], InheritEnv: true}
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConnsPerHost = 128 // the default of 2 would measure reconnects
	tr.DisableCompression = true // as in the client that the others are compared with
	return &streamhttp.Dialer{URL: url, Client: &http.Client{Transport: tr}}
}

type loop struct {
	c       *client.Client
	callers int
	took    []int64 // nanoseconds of each call
	failed  atomic.Int64
	first   atomic.Pointer[string]
}

func (l *loop) calls(ctx context.Context, n int) {
	l.took = make([]int64, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range l.callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				start := time.Now()
				if err := l.echo(ctx, int(i)); err != nil {
					text := err.Error()
					l.failed.Add(1)
					l.first.CompareAndSwap(nil, &text)
				}
				l.took[i] = time.Since(start).Nanoseconds()
			}
		})
	}
	wg.Wait()
}

type echoArgs struct {
	Text string `json:"text"`
}

var padding = strings.Repeat("x", 32)

func (l *loop) echo(ctx context.Context, i int) error {
	text := strconv.Itoa(i) + ":" + padding
	got, err := client.CallTool[string](ctx, l.c, "echo", echoArgs{text})
	if err == nil && got != text {
		return fmt.Errorf("echo returned %.60q", got)
	}
	return err
}

func (l *loop) measure(ctx context.Context, n int) *stats {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	l.calls(ctx, n)
	s := &stats{Ops: n, WallNS: time.Since(start).Nanoseconds(), CPUNS: cpuTime() - cpu, Errors: l.failed.Load()}
	runtime.ReadMemStats(&after)
	if first := l.first.Load(); first != nil {
		s.FirstError = *first
	}
	slices.Sort(l.took)
	s.P50, s.P95, s.P99 = l.took[n/2], l.took[n*95/100], l.took[n*99/100]
	s.Allocs = float64(after.Mallocs-before.Mallocs) / float64(n)
	s.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	return s
}

func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
