package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A set is one run of the suite, of which some scenarios count.
type set struct {
	name    string
	release string   // the folder below node_modules
	args    []string // of the suite's program
	leg     string   // server or client

	revision string   // the requirement set whose scored scenarios count, or ""
	names    []string // scenarios that count besides
	count    int      // how many count where neither is given; those of auth/ do not
}

const (
	release       = "conformance"        // 0.2.0-alpha.12
	releaseActive = "conformance-active" // 0.1.16
)

// sets are everything that tenon is held to. The scenarios of auth/ and the
// extensions are not in it yet.
var sets = []set{
	{
		name: "server 2025-11-25", release: release, leg: "server", revision: "2025-11-25",
		args: []string{"--requirements", "2025-11-25"},
	},
	{
		name: "server 2025-11-25 unscored", release: release, leg: "server",
		args:  []string{"--requirements", "2025-11-25"},
		names: []string{"json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"},
	},
	{
		name: "server 2026-07-28", release: release, leg: "server", revision: "2026-07-28",
		args: []string{"--requirements", "2026-07-28"},
	},
	{
		name: "server 2026-07-28 unscored", release: release, leg: "server",
		args:  []string{"--requirements", "2026-07-28"},
		names: []string{"http-custom-header-server-validation", "http-header-validation", "json-schema-2020-12"},
	},
	{
		name: "server tasks extension", release: release, leg: "server",
		args: []string{"--requirements", "2026-07-28"},
		names: []string{
			"tasks-capability-negotiation", "tasks-dispatch-and-envelope", "tasks-lifecycle", "tasks-mrtr-composition", "tasks-mrtr-input",
			"tasks-request-headers", "tasks-request-state-removal", "tasks-required-task-error", "tasks-status-notifications", "tasks-wire-fields",
		},
	},
	{name: "server 0.1.16", release: releaseActive, leg: "server", count: 30},
	{
		name: "client 2025-11-25", release: release, leg: "client", revision: "2025-11-25",
		args:  []string{"--requirements", "2025-11-25"},
		names: []string{"json-schema-2020-12-preservation"},
	},
	{
		name: "client 2026-07-28", release: release, leg: "client", revision: "2026-07-28",
		args:  []string{"--requirements", "2026-07-28"},
		names: []string{"json-schema-2020-12-preservation"},
	},
	{name: "client 0.1.16", release: releaseActive, leg: "client", args: []string{"--suite", "core"}, count: 4},
}

// maxSaid is how much is shown of what the suite said: it prints its own source
// in front of an error.
const maxSaid = 2000

type tally struct{ passed, failed int }

func (t tally) String() string { return fmt.Sprintf("%d passed, %d failed", t.passed, t.failed) }

// A suite runs sets. Sets with the same arguments share one run.
type suite struct {
	url, client, out string
	verbose          bool

	last    string
	results map[string]result
}

// A result is what the suite wrote about one scenario.
type result struct {
	checks []check
	dir    string
}

type check struct {
	ID           string `json:"id"`
	Description  string `json:"description"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

func (s *suite) run(ctx context.Context, set set) (tally, error) {
	var t tally
	if err := s.execute(ctx, set); err != nil {
		return t, err
	}
	wanted, err := set.scenarios()
	if err != nil {
		return t, err
	}
	if set.count > 0 {
		for name := range s.results {
			if !strings.HasPrefix(name, "auth/") {
				wanted = append(wanted, name)
			}
		}
		t.failed = max(0, set.count-len(wanted)) // what is missing has failed
	}
	slices.Sort(wanted)
	for _, name := range wanted {
		if s.report(set, name) {
			t.passed++
			continue
		}
		t.failed++
	}
	return t, nil
}

// execute runs the suite's program and reads what it wrote.
func (s *suite) execute(ctx context.Context, set set) error {
	key := fmt.Sprint(set.release, set.leg, set.args)
	if s.last == key {
		return nil
	}
	out, err := os.MkdirTemp(s.out, "results-")
	if err != nil {
		return err
	}
	program := filepath.Join("conformance", "node_modules", set.release, "dist", "index.js")
	args := append([]string{"--require", "./conformance/loopback.cjs", program, set.leg, "-o", out}, set.args...)
	if set.leg == "server" {
		args = append(args, "--url", s.url)
	} else {
		args = append(args, "--command", s.client)
	}
	cmd := exec.CommandContext(ctx, "node", args...)
	said, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited { //nolint:errorlint // Run returns it unwrapped
		return fmt.Errorf("start the suite: %w", err)
	}
	s.results, err = readResults(out, set.leg)
	if err == nil && len(s.results) == 0 {
		err = fmt.Errorf("the suite left no results; it said: …%s", said[max(0, len(said)-maxSaid):])
	}
	if err != nil {
		return err
	}
	s.last = key
	return ctx.Err()
}

// report says whether the scenario passed, and prints what is worth knowing.
func (s *suite) report(set set, name string) bool {
	r, ran := s.results[name]
	passed := ran && len(r.checks) > 0
	var lines []string
	for _, c := range r.checks {
		if c.Status == "FAILURE" {
			passed = false
		}
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			lines = append(lines, fmt.Sprintf("    %s %s: %s: %s", strings.ToLower(c.Status), c.ID, c.Description, c.ErrorMessage))
		}
	}
	switch {
	case !ran:
		lines = append(lines, "    it did not run")
	case !passed:
		if b, err := os.ReadFile(filepath.Join(r.dir, "stderr.txt")); err == nil && len(b) > 0 {
			lines = append(lines, "    the client said: "+strings.TrimSpace(string(b)))
		}
	}
	if s.verbose || len(lines) > 0 {
		fmt.Printf("  %s %s: %s\n", map[bool]string{true: "ok  ", false: "FAIL"}[passed], set.name, name)
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	return passed
}

// scenarios returns the names that count.
func (set set) scenarios() ([]string, error) {
	names := slices.Clone(set.names)
	if set.revision == "" {
		return names, nil
	}
	f, err := os.Open(filepath.Join("conformance", "node_modules", set.release, "requirements", set.revision+".yaml"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The file is three lists of plain words: this much YAML needs no parser.
	section := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			section = strings.TrimSuffix(line, ":")
			continue
		}
		name, ok := strings.CutPrefix(line, "  - ")
		if ok && section == set.leg && !strings.HasPrefix(name, "auth/") {
			names = append(names, name)
		}
	}
	return names, nil
}

// stamp is the time that the suite puts behind the name of a scenario.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\dZ-]+$`)

func readResults(dir, leg string) (map[string]result, error) {
	results := map[string]result{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r := result{dir: filepath.Dir(path)}
		if err := json.Unmarshal(b, &r.checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, err := filepath.Rel(dir, r.dir)
		if err != nil {
			return err
		}
		name = stamp.ReplaceAllString(filepath.ToSlash(name), "")
		if leg == "server" {
			name = strings.TrimPrefix(name, "server-")
		}
		results[name] = r
		return nil
	})
	return results, err
}
