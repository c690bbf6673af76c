// growth measures what a call costs while a server has more and more tools,
// sessions, subscriptions and calls in flight, and what a session costs that
// does nothing. Nothing of it should grow. It writes one plot for each and a
// table of them all, and fails where something does.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/bench/internal/page"
)

// tolerated is how many times more the end of a line may cost than its
// beginning: caches of the processor get cold, and the machine has other work.
const tolerated = 2

// A plot is what is measured over one thing that grows.
type plot struct {
	name  string // of the file
	title string
	x, y  string // what the axes count
	lines []line
	bound float64 // what the last value may be at most; 0 = only its growth is bounded
}

// A line has a value for each x.
type line struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// add appends a point to the line with that name.
func (p *plot) add(name string, x int, y float64) {
	k := slices.IndexFunc(p.lines, func(l line) bool { return l.name == name })
	if k < 0 {
		k = len(p.lines)
		p.lines = append(p.lines, line{name: name})
	}
	p.lines[k].points = append(p.lines[k].points, point{float64(x), y})
}

// measured are the plots.
var measured = []struct {
	name string
	run  func() (*plot, error)
}{{"tools", tools}, {"sessions", sessions}, {"memory", memory}, {"subscriptions", subscriptions}, {"listeners", listeners}, {"inflight", inFlight}}

func main() {
	log.SetFlags(0)
	out := flag.String("out", "docs/performance", "folder for the plots")
	doc := flag.String("write", "", "Markdown page to put the table into, between <!-- growth --> and <!-- end of growth -->")
	only := flag.String("only", "", "measure only the plot of this name")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the measuring")
	flag.Parse()
	if err := profiled(*profile, func() error { return run(*out, *doc, *only) }); err != nil {
		log.Fatal(err)
	}
}

// profiled runs f with a CPU profile, unless file is empty.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	w, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, w.Close())
}

func run(out, doc, only string) error {
	var plots []*plot
	var grown []string
	for _, measure := range measured {
		if only != "" && only != measure.name {
			continue
		}
		p, err := measure.run()
		if err == nil && len(p.grown()) > 0 { // once more, as other work on the machine may have disturbed it
			p, err = measure.run()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", measure.name, err)
		}
		p.name = measure.name
		plots = append(plots, p)
		grown = append(grown, p.grown()...)
		if err := os.WriteFile(filepath.Join(out, p.name+".svg"), []byte(p.svg()), 0o644); err != nil {
			return err
		}
		fmt.Print(table(plots[len(plots)-1:]))
	}
	if doc != "" {
		if err := page.Replace(doc, "growth", page.Machine()+"\n\n"+table(plots)); err != nil {
			return err
		}
	}
	if len(grown) > 0 {
		return fmt.Errorf("what should not grow does:\n%s", strings.Join(grown, "\n"))
	}
	return nil
}

// grown names the lines that are steeper than is tolerated.
func (p *plot) grown() []string {
	var names []string
	for _, l := range p.lines {
		first, last := l.points[0], l.points[len(l.points)-1]
		switch {
		case p.bound > 0 && last.y > p.bound:
			names = append(names, fmt.Sprintf("%s, %s: %.0f %s at %.0f, over %.0f", p.title, l.name, last.y, p.y, last.x, p.bound))
		case p.bound == 0 && last.y > tolerated*first.y:
			names = append(names, fmt.Sprintf("%s, %s: %.2f %s at %.0f, %.2f at %.0f", p.title, l.name, first.y, p.y, first.x, last.y, last.x))
		}
	}
	return names
}

// table has a row for each line.
func table(plots []*plot) string {
	var b strings.Builder
	b.WriteString("| what | over | first | last | × |\n|---|---|--:|--:|--:|\n")
	for _, p := range plots {
		for _, l := range p.lines {
			first, last := l.points[0], l.points[len(l.points)-1]
			fmt.Fprintf(&b, "| %s: %s | %.0f to %.0f %s | %.2f %s | %.2f | %.2f |\n", p.title, l.name, first.x, last.x, p.x, first.y, p.y, last.y, last.y/first.y)
		}
	}
	return b.String()
}

// cost returns the microseconds that one run of f takes: the fastest of some
// batches, which other work on the machine disturbs least.
func cost(f func() error) (float64, error) {
	const batches, length = 7, 40 * time.Millisecond
	best := time.Duration(1<<63 - 1)
	for range batches {
		start, n := time.Now(), 0
		for ; time.Since(start) < length; n++ {
			if err := f(); err != nil {
				return 0, err
			}
		}
		best = min(best, time.Since(start)/time.Duration(n))
	}
	return float64(best.Nanoseconds()) / 1000, nil
}
