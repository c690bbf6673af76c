// report reads the results.json of the harness. It prints them as a table, or
// puts the table into a page; with -check it compares them with the gates of
// bars.go, and fails where one is passed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/bench/internal/page"
)

// A row is one contender in one scenario, as far as it is used here.
type row struct {
	Scenario  string  `json:"scenario"`
	Contender string  `json:"contender"`
	Unit      string  `json:"unit"`
	CPU       float64 `json:"cpu_us_per_op"`
	Ratio     float64 `json:"cpu_ratio"`
	KiB       float64 `json:"kib_per_stream"`
	Allocs    float64 `json:"allocs_per_op"`
	Errors    int     `json:"errors"`
	Note      string  `json:"note"`
}

// ours reports whether the row is tenon's, whose client is a contender of its
// own.
func (r *row) ours() bool { return r.Contender == "tenon" || r.Contender == "tenon-c" }

// amount is what a row has beside time.
func (r *row) amount() float64 {
	if r.KiB != 0 {
		return r.KiB
	}
	return r.Allocs
}

func main() {
	log.SetFlags(0)
	check := flag.Bool("check", false, "compare with the gates")
	file := flag.String("write", "", "Markdown page to put the table into, between <!-- table --> and <!-- end of table -->")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: report [-check | -write page.md] results.json")
	}
	if err := run(os.Stdout, flag.Arg(0), *check, *file); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, results string, check bool, file string) error {
	b, err := os.ReadFile(results)
	if err != nil {
		return err
	}
	var rows []row
	if err := json.Unmarshal(b, &rows); err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	switch {
	case check:
		return compare(out, rows)
	case file != "":
		return page.Replace(file, "table", page.Machine()+"\n\n"+table(rows)+micro(rows))
	}
	_, err = io.WriteString(out, table(rows)+micro(rows))
	return err
}

// compare prints each of tenon's rows that has a gate.
func compare(out io.Writer, rows []row) error {
	var errs []error
	seen := 0
	for i := range rows {
		r := &rows[i]
		k := slices.IndexFunc(bars, func(b bar) bool { return b.scenario == r.Scenario })
		if !r.ours() || k < 0 {
			continue
		}
		b := bars[k]
		seen++
		fmt.Fprintf(out, "%-11s %6.2f × limit (gate %.2f, bar %.2f)", r.Scenario, r.Ratio, b.ratioGate, b.ratio)
		if b.amountGate > 0 {
			fmt.Fprintf(out, ", %.1f (gate %.0f, bar %.0f)", r.amount(), b.amountGate, b.amount)
		}
		fmt.Fprintln(out)
		if r.Errors > 0 || r.Note != "" {
			errs = append(errs, fmt.Errorf("%s: %d errors %s", r.Scenario, r.Errors, r.Note))
		}
		if b.ratioGate > 0 && r.Ratio > b.ratioGate {
			errs = append(errs, fmt.Errorf("%s: %.2f × limit is over the gate of %.2f", r.Scenario, r.Ratio, b.ratioGate))
		}
		if b.amountGate > 0 && r.amount() > b.amountGate {
			errs = append(errs, fmt.Errorf("%s: %.1f is over the gate of %.0f", r.Scenario, r.amount(), b.amountGate))
		}
	}
	if seen == 0 {
		errs = append(errs, errors.New("no result of tenon's has a gate"))
	}
	return errors.Join(errs...)
}
