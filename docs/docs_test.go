// Package docs_test holds the guide's code to what it says: each Go block of
// a page is a region of a file that is compiled and run.
package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A block of a page is announced by the line before it:
//
//	<!-- code/hello_test.go: tool -->
//
// and a region of the file goes from "// tool {" to "// }". The region "file"
// is the whole file. With -update pages are written anew.
var block = regexp.MustCompile("(?ms)^<!-- (\\S+): (\\S+) -->\n```go\n(.*?)^```")

var update = flag.Bool("update", false, "write the code into the pages")

func TestBlocksAreCompiledCode(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range append(pages, "../README.md") {
		text := read(t, page)
		if *update {
			text = rewrite(t, page, text)
		}
		found := block.FindAllStringSubmatch(text, -1)
		if got, want := len(found), strings.Count(text, "\n```go\n"); got != want {
			t.Errorf("%s: %d Go blocks, of which %d name a region", page, want, got)
		}
		for _, m := range found {
			if diff := cmp.Diff(region(t, filepath.Join(filepath.Dir(page), m[1]), m[2]), m[3]); diff != "" {
				t.Errorf("%s: block differs from %s: %s (-code +page)\n%s", page, m[1], m[2], diff)
			}
		}
	}
}

func rewrite(t *testing.T, page, text string) string {
	text = block.ReplaceAllStringFunc(text, func(s string) string {
		m := block.FindStringSubmatch(s)
		return "<!-- " + m[1] + ": " + m[2] + " -->\n```go\n" + region(t, filepath.Join(filepath.Dir(page), m[1]), m[2]) + "```"
	})
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}

func region(t *testing.T, file, name string) string {
	if name == "file" {
		return read(t, file)
	}
	_, rest, ok := strings.Cut(read(t, file), "// "+name+" {\n")
	code, _, end := strings.Cut(rest, "// }\n")
	if !ok || !end {
		t.Fatalf("%s has no region %q", file, name)
	}
	return dedent(strings.Trim(strings.TrimRight(code, "\t"), "\n")) // the end marker may be indented
}

// dedent takes the indentation of the first line off all lines.
func dedent(s string) string {
	indent := s[:len(s)-len(strings.TrimLeft(s, "\t"))]
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, indent)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func read(t *testing.T, name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
