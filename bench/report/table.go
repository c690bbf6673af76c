package main

import (
	"fmt"
	"slices"
	"strings"
)

// table is one line for each scenario: what limit costs, then each contender as
// a ratio to it.
func table(rows []row) string {
	find := func(scenario, contender string) *row {
		k := slices.IndexFunc(rows, func(r row) bool { return r.Scenario == scenario && r.Contender == contender })
		if k < 0 {
			return nil
		}
		return &rows[k]
	}
	peers := contenders(rows)
	var b strings.Builder
	b.WriteString("| scenario | limit, µs CPU | tenon | bar |")
	for _, p := range peers {
		b.WriteString(" " + p + " |")
	}
	b.WriteString("\n|---|--:|--:|--:|" + strings.Repeat("--:|", len(peers)) + "\n")
	for _, bar := range bars {
		limit, ours := find(bar.scenario, "limit"), find(bar.scenario, "tenon")
		if ours == nil {
			ours = find(bar.scenario, "tenon-c")
		}
		if limit == nil || ours == nil {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %.1f%s | **%s** | %s |", bar.scenario, limit.CPU, extra(limit), cell(ours), bar.text(ours))
		for _, p := range peers {
			b.WriteString(" " + cell(find(bar.scenario, p)) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// contenders are the other implementations, in the order in which they come;
// the variants of limit are none.
func contenders(rows []row) []string {
	var names []string
	for _, r := range rows {
		if r.Scenario != "micro" && !strings.HasPrefix(r.Contender, "limit") && !r.ours() && !slices.Contains(names, r.Contender) {
			names = append(names, r.Contender)
		}
	}
	return names
}

// cell is a contender's ratio with what else the scenario counts.
func cell(r *row) string {
	switch {
	case r == nil:
		return "–"
	case r.CPU == 0:
		return "failed"
	}
	s := fmt.Sprintf("%.2f×%s", r.Ratio, extra(r))
	if r.Errors > 0 {
		s += fmt.Sprintf(", %d errors", r.Errors)
	}
	return s
}

func extra(r *row) string {
	switch {
	case r.KiB != 0:
		return fmt.Sprintf(", %.1f KiB", r.KiB)
	case r.Allocs != 0:
		return fmt.Sprintf(", %.0f allocs", r.Allocs)
	}
	return ""
}

// text is the bar as it stands in the table, beside the row it is for.
func (b *bar) text(r *row) string {
	var parts []string
	if b.ratio > 0 {
		parts = append(parts, fmt.Sprintf("%g×", b.ratio))
	}
	if b.amount > 0 && r.KiB != 0 {
		parts = append(parts, fmt.Sprintf("%g KiB", b.amount))
	}
	if b.amount > 0 && r.Allocs != 0 {
		parts = append(parts, fmt.Sprintf("%g allocs", b.amount))
	}
	return "≤ " + strings.Join(parts, ", ")
}

// micro is the table of the calls inside one process.
func micro(rows []row) string {
	var b strings.Builder
	for i := range rows {
		if r := &rows[i]; r.Scenario == "micro" {
			fmt.Fprintf(&b, "| %s | %.2f | %.0f |\n", r.Contender, r.CPU, r.Allocs)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nOne call inside one process:\n\n| benchmark | µs | allocs |\n|---|--:|--:|\n" + b.String()
}
