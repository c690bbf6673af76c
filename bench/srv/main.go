// srv is tenon's server for the benchmark: HTTP at -addr, or stdio.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"strconv"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/bench/internal/sample"
)

func main() {
	addr := flag.String("addr", "", "listen address; empty means stdio")
	profile := flag.String("pprof", "", "address of net/http/pprof; empty means none")
	flag.Parse()
	if *profile != "" {
		go func() { log.Fatal(http.ListenAndServe(*profile, nil)) }()
	}
	dummies, _ := strconv.Atoi(os.Getenv("BENCH_DUMMIES"))
	over := tenon.OverStdio()
	if *addr != "" {
		over = tenon.OverHTTP(*addr)
	}
	if err := tenon.Serve(context.Background(), sample.Server(dummies), over); err != nil {
		log.Fatal(err)
	}
}
