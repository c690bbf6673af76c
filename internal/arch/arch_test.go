// Package arch_test holds the architecture in place: who may import whom,
// where revisions may differ, and how long a file and a function may be.
// ARCHITECTURE.md, sections 2, 3 and 6, says why.
package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tenon-mcp/tenon"

// imports lists, for each package of the SDK, what it may import besides the
// standard library. A package that is not here fails the test: decide its
// layer first.
var imports = map[string]struct{ own, others []string }{
	// Layer 0: JSON-RPC, which knows nothing of MCP.
	"rpc": {[]string{"internal/lazy"}, []string{jsonV2}},
	// Layer 1: vocabulary and tables. mcp uses rpc for the wire form of errors.
	"mcp": {[]string{"rpc"}, []string{jsonV2}},
	// What two siblings share and users must not see.
	"internal/schema": {nil, []string{jsonV2}},
	"internal/lazy":   {nil, nil},
	"internal/infer":  {[]string{"internal/schema"}, []string{jsonV2}},
	// Layer 2: siblings, which never import each other.
	"server": {
		[]string{"rpc", "mcp", "internal/"},
		[]string{jsonV2, uriTemplate},
	},
	"client":     {[]string{"rpc", "mcp", "internal/"}, []string{jsonV2, uriTemplate}},
	"stdio":      {[]string{"rpc", "internal/"}, []string{jsonV2}},
	"streamhttp": {[]string{"rpc", "mcp", "internal/"}, []string{jsonV2}},
	// Beside the layers: nothing of ours below it, nothing of ours above it.
	"auth": {nil, []string{jsonV2}},
	// Layer 3: the front door, and testing.
	"":        {[]string{"rpc", "mcp", "server", "client", "stdio", "streamhttp", "internal/"}, []string{jsonV2}},
	"mcptest": {[]string{"rpc", "mcp", "server", "client", "stdio", "streamhttp", "internal/"}, []string{jsonV2, goCmp}},
	// Programs: only the public API below them.
	"conformance/server": {[]string{"rpc", "mcp", "server", "streamhttp"}, []string{jsonV2}},
	"conformance/client": {[]string{"", "rpc", "mcp", "client", "streamhttp"}, []string{jsonV2}},
	"conformance/run":    {nil, nil},
	// The benchmark's contenders.
	"bench/srv":             {[]string{"", "bench/internal/sample"}, nil},
	"bench/cli":             {[]string{"rpc", "mcp", "client", "stdio", "streamhttp"}, []string{jsonV2}},
	"bench/internal/sample": {[]string{"mcp", "server"}, nil},
}

// isProgram reports whether pkg is a program beside the SDK, which may use all
// that is public.
func isProgram(pkg string) bool {
	return slices.ContainsFunc([]string{"bench/", "docs/", "examples/"}, func(dir string) bool { return strings.HasPrefix(pkg, dir) })
}

// Third-party modules, each with its reason in DEPENDENCIES.md.
const (
	jsonV2      = "github.com/go-json-experiment/json"
	uriTemplate = "github.com/yosida95/uritemplate/v3"
	goCmp       = "github.com/google/go-cmp"
)

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		allowed, known := imports[f.pkg]
		if !known && !isProgram(f.pkg) {
			t.Errorf("%s: package %q has no layer; add it to the table in this test", f.name, f.pkg)
			continue
		}
		for _, imp := range f.ast.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			if !mayImport(f.pkg, p, allowed.own, allowed.others) {
				t.Errorf("%s: imports %s, which its layer must not know", f.name, p)
			}
		}
	}
}

func mayImport(pkg, p string, own, others []string) bool {
	if isProgram(pkg) {
		return !strings.HasPrefix(p, module+"/internal/")
	}
	if rest, ok := strings.CutPrefix(p, module); ok && (rest == "" || rest[0] == '/') {
		rest = strings.TrimPrefix(rest, "/")
		return slices.ContainsFunc(own, func(o string) bool {
			return o == rest || o != "" && strings.HasSuffix(o, "/") && strings.HasPrefix(rest, o)
		})
	}
	first, _, _ := strings.Cut(p, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(others, func(o string) bool { return p == o || strings.HasPrefix(p, o+"/") })
}

// Where differences between revisions and eras may live.
var eraFiles = []string{
	"mcp/version.go", "mcp/methods.go", "mcp/compat.go",
	"server/era*.go", "client/era*.go", "streamhttp/era*.go",
	"streamhttp/session.go", "streamhttp/replay.go", "streamhttp/dialer_legacy.go", "streamhttp/sse2024.go",
	// Programs that choose a revision, as a user's would.
	"conformance/*/*.go", "mcptest/*.go", "examples/*/*.go", "bench/*/*.go",
}

func TestErasLiveInTheirFiles(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if isProgram(f.pkg) || slices.ContainsFunc(eraFiles, func(p string) bool { ok, _ := path.Match(p, f.name); return ok }) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "mcp" && knowsEra(n.Sel.Name) || asksEra(n.Sel.Name) {
					t.Errorf("%s: .%s belongs into the files of the era seam", f.at(n), n.Sel.Name)
				}
			case *ast.Ident:
				if f.pkg == "mcp" && isRevision(n.Name) {
					t.Errorf("%s: %s belongs into version.go, methods.go or compat.go", f.at(n), n.Name)
				}
			}
			return true
		})
	}
}

func knowsEra(name string) bool { return isRevision(name) || name == "Legacy" || name == "Modern" }

// asksEra reports whether name is what tells the era of a revision.
func asksEra(name string) bool { return name == "Era" || name == "Modern" }

// isRevision reports whether name is a revision constant, such as V20251125.
func isRevision(name string) bool {
	digits, ok := strings.CutPrefix(name, "V20")
	return ok && len(digits) == 6 && strings.Trim(digits, "0123456789") == ""
}

const (
	maxFileLines = 600
	maxFuncLines = 60
)

func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.fset.File(f.ast.Pos()).LineCount() > maxFileLines {
			t.Errorf("%s: over %d lines: find the missing file", f.name, maxFileLines)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > maxFuncLines {
				t.Errorf("%s: %s has %d lines, over %d: find the missing function", f.at(fn), fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

// A source is one Go file of the root module that is neither a test nor
// generated.
type source struct {
	name string // relative to the root of the module
	pkg  string // the package's path below the module's
	ast  *ast.File
	fset *token.FileSet
}

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

func (s source) at(n ast.Node) string { return s.name + ":" + strconv.Itoa(s.line(n.Pos())) }

func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var found []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		if d.IsDir() {
			return skipDir(root, name, d)
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(f) {
			found = append(found, source{name: rel, pkg: strings.TrimPrefix(path.Dir("/"+rel), "/"), ast: f, fset: fset})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no source file found")
	}
	return found
}

// skipDir leaves out what is not the root module's.
func skipDir(root, name string, d fs.DirEntry) error {
	if name == root {
		return nil
	}
	if strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}
