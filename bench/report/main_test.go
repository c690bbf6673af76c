package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	begin = "<!-- table -->\n"
	end   = "<!-- end of table -->\n"
)

const results = `[
 {"scenario":"h.echo","contender":"limit","unit":"call","cpu_us_per_op":15.7,"cpu_ratio":1},
 {"scenario":"h.echo","contender":"tenon","unit":"call","cpu_us_per_op":18.1,"cpu_ratio":1.15},
 {"scenario":"h.echo","contender":"peer","unit":"call","cpu_us_per_op":157,"cpu_ratio":10},
 {"scenario":"c.http1","contender":"limit","unit":"call","cpu_us_per_op":50,"cpu_ratio":1,"allocs_per_op":54},
 {"scenario":"c.http1","contender":"tenon-c","unit":"call","cpu_us_per_op":55,"cpu_ratio":1.1,"allocs_per_op":60},
 {"scenario":"micro","contender":"InMemory_Limit","unit":"call","cpu_us_per_op":0.43,"cpu_ratio":0}]`

func report(t *testing.T, text string, check bool, page string) (string, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := run(&out, name, check, page)
	return out.String(), err
}

func TestTable(t *testing.T) {
	t.Parallel()
	got, err := report(t, results, false, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| scenario | limit, µs CPU | tenon | bar | peer |\n",
		"| `h.echo` | 15.7 | **1.15×** | ≤ 1.15× | 10.00× |\n",
		"| `c.http1` | 50.0, 54 allocs | **1.10×, 60 allocs** | ≤ 1.15×, 65 allocs | – |\n",
		"| InMemory_Limit | 0.43 | 0 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n\n"+begin+"old\n"+end+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := report(t, results, false, page); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(page)
	got := string(b)
	if err != nil || !strings.HasPrefix(got, "before\n\n"+begin) || !strings.HasSuffix(got, end+"\nafter\n") || strings.Contains(got, "old") || strings.Count(got, "h.echo") != 1 {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"good", results, ""},
		{"slow", strings.ReplaceAll(results, `"cpu_ratio":1.15`, `"cpu_ratio":115`), "h.echo: 115.00 × limit is over"},
		{"big", strings.ReplaceAll(results, `"allocs_per_op":60`, `"allocs_per_op":600`), "c.http1: 600.0 is over"},
		{"wrong", strings.ReplaceAll(results, `18.1,`, `18.1,"errors":2,`), "h.echo: 2 errors"},
		{"failed", strings.ReplaceAll(results, `18.1,`, `0,"note":"failed: no",`), "failed: no"},
		{"nothing", "[]", "no result"},
	} {
		out, err := report(t, tt.text, true, "")
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q\n%s", tt.name, err, tt.want, out)
		}
	}
}
