package trace_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tests are what a proof may name.
type tests struct {
	funcs     map[string]bool            // by package.TestName
	strings   map[string]map[string]bool // what a subtest may be called, by package
	scenarios map[string]bool            // of the conformance suite
	installed bool                       // whether the suite's own lists were at hand
}

// find reports why there is no test of the name. The names of subtests are
// often put together: it is enough that the test's package has the string.
func (k *tests) find(name string) error {
	if scenario, ok := strings.CutPrefix(name, "conformance:"); ok {
		if k.scenarios[scenario] || !k.installed {
			return nil
		}
		return fmt.Errorf("the conformance suite has no scenario %q", scenario)
	}
	pkg, test, ok := strings.Cut(name, ".")
	if !ok {
		return fmt.Errorf("%q is not package.TestName", name)
	}
	test, subtest, _ := strings.Cut(test, "/")
	if !k.funcs[pkg+"."+test] {
		return fmt.Errorf("there is no test %s.%s", pkg, test)
	}
	if subtest != "" && !k.strings[pkg][strings.ReplaceAll(subtest, " ", "_")] {
		return fmt.Errorf("package %s has no subtest %q", pkg, subtest)
	}
	return nil
}

// readTests parses the tests of every module of the repository.
func readTests(t *testing.T) *tests {
	t.Helper()
	k := &tests{map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}, false}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		if rel == "." {
			rel = "tenon"
		}
		k.add(filepath.ToSlash(rel), f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	k.readScenarios(t)
	return k
}

func (k *tests) add(pkg string, f *ast.File) {
	if k.strings[pkg] == nil {
		k.strings[pkg] = map[string]bool{}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil {
				k.funcs[pkg+"."+n.Name.Name] = true
			}
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				k.strings[pkg][strings.ReplaceAll(s, " ", "_")] = true
			}
		}
		return true
	})
}

// readScenarios reads the lists that the suite brings, where it is installed.
func (k *tests) readScenarios(t *testing.T) {
	t.Helper()
	lists, err := filepath.Glob(root + "/conformance/node_modules/*/requirements/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k.installed = len(lists) > 0
	entry := regexp.MustCompile(`(?m)^  - (\S+)`)
	for _, list := range lists {
		for _, m := range entry.FindAllStringSubmatch(read(t, list), -1) {
			k.scenarios[m[1]] = true
		}
	}
	// Those that are run besides.
	run := read(t, root+"/conformance/run/suite.go")
	for _, m := range regexp.MustCompile(`"([a-z0-9]+(?:-[a-z0-9]+)+)"`).FindAllStringSubmatch(run, -1) {
		k.scenarios[m[1]] = true
	}
}

// specIDs returns the ids of the requirement table, section 6.
func specIDs(text string) []string {
	_, text, _ = strings.Cut(text, "\n## 6. ")
	text, _, _ = strings.Cut(text, "\n## 7. ")
	return firstCells(text)
}

var firstCell = regexp.MustCompile(`(?m)^\| ([A-Z][A-Z0-9]*-\d+) \|`)

func firstCells(text string) []string {
	var ids []string
	for _, m := range firstCell.FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// referenceIDs returns the ids of section 1, and those of the behaviours of
// section 4, which have no id there: their section and place in it.
func referenceIDs(text string) []string {
	_, text, _ = strings.Cut(text, "\n## 1. ")
	statements, text, _ := strings.Cut(text, "\n## 2. ")
	ids := firstCells(statements)
	_, text, _ = strings.Cut(text, "\n## 4. ")
	text, _, _ = strings.Cut(text, "\n## 5. ")
	section, n := "", 0
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(line, "#### "); ok {
			section, _, _ = strings.Cut(heading, " ")
			n = 0
		}
		if strings.HasPrefix(line, "- ") && section != "" {
			n++
			ids = append(ids, fmt.Sprintf("R%s-%d", section, n))
		}
	}
	return ids
}
