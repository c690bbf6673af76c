// Package trace_test holds every requirement of the specification, and every
// behaviour of the reference systems, to the tests that prove it.
//
// The files below rows have one row a line, "id | revisions | rule | proof",
// where a proof is one of
//
//	package.TestName, package.TestName/subtest, conformance:scenario
//	reason: why no test of tenon can or need prove it
//	todo: what is missing
//
// Tests are separated by commas; a package is its folder in the repository, and
// the folder of the root is tenon. docs/requirements.md is written from the
// rows by go test ./internal/trace -update.
package trace_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/requirements.md and lower rows/todo.max")

const (
	root    = "../.."
	page    = root + "/docs/requirements.md"
	todoMax = "rows/todo.max"
	maxRule = 100 // characters: a rule in short
)

// A section is one file of rows, in the order of the digests.
type section struct {
	file, title string
	rows        []row
}

type row struct{ id, revisions, rule, proof string }

func (r row) todo() bool   { return strings.HasPrefix(r.proof, "todo") }
func (r row) reason() bool { return strings.HasPrefix(r.proof, "reason: ") }

// reasons is the text of a reason, which may name tests too.
func (r row) reasons() string {
	if r.reason() {
		return r.proof
	}
	return ""
}

var namedTest = regexp.MustCompile(`[a-z][a-z/]*\.(Test|Fuzz)\w+`)

// names returns the tests that prove the row.
func (r row) names() []string {
	if r.todo() || r.reason() {
		return nil
	}
	return strings.Split(r.proof, ", ")
}

func TestRowsAreProved(t *testing.T) {
	t.Parallel()
	known, seen := readTests(t), map[string]bool{}
	for _, s := range sections(t) {
		for _, r := range s.rows {
			where := s.file + ": " + r.id
			switch {
			case seen[r.id]:
				t.Errorf("%s: the id is there twice", where)
			case r.rule == "" || r.revisions == "":
				t.Errorf("%s: has no revisions or no rule", where)
			case len([]rune(r.rule)) > maxRule:
				t.Errorf("%s: the rule is longer than %d characters", where, maxRule)
			case r.proof == "" || r.proof == "reason: ":
				t.Errorf("%s: has neither tests nor a reason", where)
			}
			seen[r.id] = true
			for _, name := range append(r.names(), namedTest.FindAllString(r.reasons(), -1)...) {
				if err := known.find(name); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			}
		}
	}
}

func TestTodosShrink(t *testing.T) {
	t.Parallel()
	limit, err := strconv.Atoi(strings.TrimSpace(read(t, todoMax)))
	if err != nil {
		t.Fatalf("%s: %v", todoMax, err)
	}
	n := count(sections(t)).todos
	if *update && n < limit {
		write(t, todoMax, fmt.Sprintln(n))
		return
	}
	if n > limit {
		t.Errorf("%d rows are todo, and %s allows %d: prove more, it may only shrink", n, todoMax, limit)
	}
	if n < limit {
		t.Errorf("%d rows are todo, and %s allows %d: run go test ./internal/trace -update", n, todoMax, limit)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	want := render(sections(t))
	if *update {
		write(t, page, want)
		return
	}
	if read(t, page) != want {
		t.Errorf("%s is not what the rows say: run go test ./internal/trace -update", page)
	}
}

type totals struct{ rows, proved, reasons, todos int }

func count(sections []section) totals {
	var t totals
	for _, s := range sections {
		for _, r := range s.rows {
			t.rows++
			switch {
			case r.todo():
				t.todos++
			case r.reason():
				t.reasons++
			default:
				t.proved++
			}
		}
	}
	return t
}

func render(all []section) string {
	var b strings.Builder
	n := count(all)
	fmt.Fprintf(&b, `# Requirements and their proof

<!-- Written by go test ./internal/trace -update from internal/trace/rows: do not edit. -->

Every requirement of the specification (sections 6.x) and every behaviour of the two reference systems (sections S and R), with
the tests that prove it. %d rows: %d proved by tests, %d with a reason why no test applies, %d to do.

Revisions: 24 is 2024-11-05, 2503 is 2025-03-26, 2506 is 2025-06-18, 2511 is 2025-11-25, 26 is 2026-07-28; L is all before 26, SH-L
those of them with Streamable HTTP, ext an extension.
`, n.rows, n.proved, n.reasons, n.todos)
	for _, s := range all {
		n := count([]section{s})
		fmt.Fprintf(&b, "\n## %s\n\n%d rows: %d proved, %d with a reason, %d to do.\n\n", s.title, n.rows, n.proved, n.reasons, n.todos)
		b.WriteString("| id | revisions | rule | proof |\n|---|---|---|---|\n")
		for _, r := range s.rows {
			proof := escape(r.proof)
			if names := r.names(); names != nil {
				proof = "`" + strings.Join(names, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.id, r.revisions, escape(r.rule), proof)
		}
	}
	return b.String()
}

func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(s)
}

// sections reads the rows. The name of a file is its place: "6.01.txt".
func sections(t *testing.T) []section {
	t.Helper()
	files, err := filepath.Glob("rows/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rows: %v", err)
	}
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	all := make([]section, 0, len(files))
	for _, file := range files {
		title, lines, _ := strings.Cut(read(t, file), "\n")
		s := section{file: file, title: strings.TrimPrefix(title, "# ")}
		for line := range strings.Lines(lines) {
			line = strings.TrimSuffix(line, "\n")
			cells := strings.Split(line, " | ")
			if len(cells) != 4 {
				t.Fatalf("%s: %q is not id | revisions | rule | proof", file, line)
			}
			s.rows = append(s.rows, row{cells[0], cells[1], cells[2], cells[3]})
		}
		all = append(all, s)
	}
	return all
}

// rank puts the specification before the reference systems.
func rank(file string) int {
	if strings.HasPrefix(filepath.Base(file), "6.") {
		return 0
	}
	return 1
}

// Where the digests are at hand, their rows and ours are the same.
func TestRowsAreComplete(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, d := range []struct {
		file string
		ids  func(string) []string
	}{
		{"spec.md", specIDs}, {"reference-systems.md", referenceIDs},
	} {
		b, err := os.ReadFile(filepath.Join(root, "..", "shared", d.file))
		if err != nil {
			t.Skipf("the digests are not beside the repository: %v", err)
		}
		for _, id := range d.ids(string(b)) {
			want[id] = true
		}
	}
	for _, s := range sections(t) {
		for _, r := range s.rows {
			if !want[r.id] {
				t.Errorf("%s: %s is in no digest", s.file, r.id)
			}
			delete(want, r.id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("%s has no row", id)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
