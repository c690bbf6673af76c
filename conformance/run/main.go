// Command run puts tenon through the official conformance suite: one server
// process, started with no flags, and one client program, against the two
// releases of the suite that package.json pins. Run it from the root of the
// repository, after npm ci in conformance:
//
//	go run ./conformance/run
//
// It prints one line for each set of scenarios, and a closing line with the
// sums. It exits with 1 when a scenario failed.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	repeat := flag.Int("repeat", 1, "how many times to run every set")
	only := flag.String("set", "", "a regular expression: run only the sets whose names match")
	verbose := flag.Bool("v", false, "name every scenario")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	filter, err := regexp.Compile(*only)
	if err == nil {
		err = run(ctx, filter, *repeat, *verbose)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, filter *regexp.Regexp, repeat int, verbose bool) error {
	if err := checkNode(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tenon-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir); err != nil {
		return err
	}
	url, stop, err := startServer(ctx, filepath.Join(dir, "server"))
	if err != nil {
		return err
	}
	defer stop()

	var sum tally
	s := suite{url: url, client: filepath.Join(dir, "client"), out: dir, verbose: verbose}
	for range repeat {
		for _, set := range sets {
			if !filter.MatchString(set.name) {
				continue
			}
			t, err := s.run(ctx, set)
			if err != nil {
				return fmt.Errorf("%s: %w", set.name, err)
			}
			fmt.Printf("%s: %s\n", set.name, t)
			sum.passed += t.passed
			sum.failed += t.failed
		}
	}
	fmt.Println(sum)
	if sum.failed > 0 {
		return errors.New("some scenarios failed")
	}
	if sum.passed == 0 {
		return errors.New("no scenario was run")
	}
	return nil
}

// minNode is the Node.js that the suite needs.
const minNode = 22

func checkNode(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < minNode {
		return fmt.Errorf("the suite needs Node.js %d, there is %q: make conformance brings it", minNode, strings.TrimSpace(string(out)))
	}
	return nil
}

func build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir, "./conformance/server", "./conformance/client")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the programs (run this from the root of the repository): %w", err)
	}
	return nil
}

// startServer starts the server and returns the URL that it prints first, and
// a function that stops it. What it logs goes to stderr.
func startServer(ctx context.Context, program string) (string, func(), error) {
	cmd := exec.CommandContext(ctx, program)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop := func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
		_ = cmd.Wait()                       // how it ended is of no interest
	}
	r := bufio.NewReader(stdout)
	line, err := r.ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the server did not print its URL: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // ends with the process
	return strings.TrimSpace(line), stop, nil
}
