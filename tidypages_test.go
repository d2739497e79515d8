package stoa_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page is a text file of the tree that people read: a page, or source whose
// comments name pages.
type page struct {
	path string // from the root, with slashes
	text string
}

// TestPagesLeadSomewhere holds what people read to naming only what is in the
// repository.
func TestPagesLeadSomewhere(t *testing.T) {
	there := func(name string) bool {
		_, err := os.Stat(filepath.FromSlash(name))
		return err == nil
	}
	for _, p := range readPages(t) {
		for _, finding := range append(deadLinks(p, there), absentPages(p, there)...) {
			t.Error(finding)
		}
	}
}

// TestArchitectureNamesEveryPackage holds the page to the table of who may import whom.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	for name := range below {
		if !strings.Contains(name+"/", "/internal/") {
			require.Contains(t, string(text), "`"+name, "the table of packages leaves it out")
		}
	}
}

// TestPagesNameWhatIsThere holds the pages, but for what changed when, to naming declarations,
// tests and files that there are.
func TestPagesNameWhatIsThere(t *testing.T) {
	known := declared(readTree(t))
	for _, p := range readPages(t) {
		if path.Ext(p.path) != ".md" || p.path == "CHANGELOG.md" {
			continue
		}
		for _, finding := range absentNames(p, known) {
			t.Error(finding)
		}
	}
}

// TestPageRulesFindOffences feeds each rule a text that breaks it and one like it
// that does not.
func TestPageRulesFindOffences(t *testing.T) {
	there := func(name string) bool { return name == "kv/README.md" || name == "kv/row.go" }
	for _, tc := range []struct{ path, bad, good string }{
		{"kv/README.md", "see [rows](rows.go)", "see [rows](row.go#L3)"},
		{"README.md", "see [kv](kv/NOTES.md)", "see [kv](kv/README.md), [Go](https://go.dev)"},
	} {
		require.NotEmpty(t, deadLinks(page{tc.path, tc.bad}, there), tc.bad)
		require.Empty(t, deadLinks(page{tc.path, tc.good}, there), tc.good)
	}
	for _, tc := range []struct{ path, bad, good string }{
		{"kv/row.go", "// as DESIGN has it", "// as the designer has it"},
		{"kv/row.go", "// by SCHEMA 6", "// by the schema, ERROR_KIND_SCHEMA"},
		{"kv/row.go", "// a row of the acceptance tables", "// an acceptance test"},
		{"kv/row.go", "// NOTES.md says why", "// README.md says why; so does kv/README.md"},
		{"keys/key.go", "// README.md says why", "// kv/README.md says why"},
	} {
		require.NotEmpty(t, absentPages(page{tc.path, tc.bad}, there), tc.bad)
		require.Empty(t, absentPages(page{tc.path, tc.good}, there), tc.good)
	}
}

// TestNameRuleFindsOffences is TestPageRulesFindOffences for names of declarations.
func TestNameRuleFindsOffences(t *testing.T) {
	text := "package p\ntype T struct{}\nfunc (t *T) m() {}\nfunc F() {}\nconst C = 1\ntype I interface{ M() }\n"
	known := declared([]source{parse(t, "p/p.go", []byte(text)), parse(t, "p/p_test.go", []byte("package p\nfunc TestF() {}\n"))})
	for _, good := range []string{"p.T", "p.T.m", "p.F", "p.C", "p.I.M", "TestF", "p/p.go", "stoa.clean", "other.Name", "p.F(x)"} {
		require.Empty(t, absentNames(page{"X.md", "see `" + good + "`."}, known), good)
	}
	for _, bad := range []string{"p.G", "p.T.n", "TestG", "p/q.go"} {
		require.NotEmpty(t, absentNames(page{"X.md", "see `" + bad + "`."}, known), bad)
	}
}

// mostTerms is how many terms the glossary has at most.
const mostTerms = 60

// TestGlossaryHasEachTermOnce holds the glossary to its order and its length, and to
// have each word that `stoa help concepts` explains.
func TestGlossaryHasEachTermOnce(t *testing.T) {
	text, err := os.ReadFile("GLOSSARY.md")
	require.NoError(t, err)
	var terms []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|*-][^|]*) \| .* \|$`).FindAllStringSubmatch(string(text), -1) {
		terms = append(terms, strings.ToLower(m[1]))
	}
	require.Equal(t, "term", terms[0])
	terms = terms[1:]
	require.LessOrEqual(t, len(terms), mostTerms)
	require.True(t, slices.IsSorted(terms), "not in order: %s", terms)
	require.Len(t, slices.Compact(slices.Clone(terms)), len(terms), "a term twice")

	source, err := os.ReadFile("cmd/stoa/internal/program/concepts.go")
	require.NoError(t, err)
	words := regexp.MustCompile(`(?m)^\t\t\{"([^"]+)", "`).FindAllStringSubmatch(string(source), -1)
	require.NotEmpty(t, words)
	for _, m := range words {
		require.Contains(t, terms, m[1], "`stoa help concepts` explains it")
	}
}

// declared returns what the tree declares: names as package.Name and
// package.Type.Method, names of tests, packages as package., and paths of files.
func declared(sources []source) map[string]bool {
	known := map[string]bool{}
	for _, s := range sources {
		name := s.ast.Name.Name + "."
		known[name], known[s.path] = true, true
		for _, decl := range s.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if s.test() {
					known[d.Name.Name] = true
				}
				if d.Recv != nil {
					known[name+receiver(d).Name+"."+d.Name.Name] = true
				} else {
					known[name+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					for _, n := range specNames(spec) {
						known[name+n] = true
					}
				}
			}
		}
	}
	return known
}

// specNames returns the names that a declaration of constants, variables or a type
// makes; of an interface its methods too, as Type.Method.
func specNames(spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			names = append(names, n.Name)
		}
	case *ast.TypeSpec:
		names = append(names, spec.Name.Name)
		if contract, ok := spec.Type.(*ast.InterfaceType); ok {
			for _, m := range contract.Methods.List {
				for _, n := range m.Names {
					names = append(names, spec.Name.Name+"."+n.Name)
				}
			}
		}
	}
	return names
}

// Names as a page has them between back quotes.
var (
	quoted     = regexp.MustCompile("`([^`\n]+)`")
	goName     = regexp.MustCompile(`^([a-z]\w*\.)[A-Z]\w*(\.\w+)?$`)
	testName   = regexp.MustCompile(`^Test[A-Z0-9]\w*$`)
	goFileName = regexp.MustCompile(`^[\w/]+/\w+\.go$`)
)

// absentNames finds names of declarations, tests and Go files that the tree does
// not have. What is of other modules is not looked at.
func absentNames(p page, known map[string]bool) []string {
	var findings []string
	for _, m := range quoted.FindAllStringSubmatch(p.text, -1) {
		name := m[1]
		of := goName.FindStringSubmatch(name)
		ours := of != nil && known[of[1]] || testName.MatchString(name) || goFileName.MatchString(name)
		if ours && !known[name] {
			findings = append(findings, fmt.Sprintf("%s: names %s, which the tree does not have", p.path, name))
		}
	}
	return findings
}

// link is the target of a link in Markdown.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// deadLinks finds links of a Markdown page to files that are not there.
func deadLinks(p page, there func(string) bool) []string {
	if path.Ext(p.path) != ".md" {
		return nil
	}
	var findings []string
	for _, m := range link.FindAllStringSubmatch(p.text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, "://") {
			continue
		}
		if !there(path.Join(path.Dir(p.path), target)) {
			findings = append(findings, fmt.Sprintf("%s: leads to %s, which is not there", p.path, m[1]))
		}
	}
	return findings
}

// outside are the names of documents that the house was built from and that are
// not in the repository. What they said stands in ARCHITECTURE.md, DECISIONS.md and
// the README of the package that it is about.
var outside = regexp.MustCompile(`\b(DESIGN|SCHEMA)\b|house-review|\bshared/(notes|seeds|sketch|vectors|acceptance)|acceptance (row|table)s?\b`)

// pageName is a Markdown page as a text names it.
var pageName = regexp.MustCompile(`[\w/.-]*\b[A-Za-z]\w*\.md\b`)

// absentPages finds names of documents that are not in the repository. A page is
// named from the root, or from the folder of the text or one above it.
func absentPages(p page, there func(string) bool) []string {
	var findings []string
	for _, name := range outside.FindAllString(p.text, -1) {
		findings = append(findings, fmt.Sprintf("%s: names %q, which is not in the repository; lead to what is", p.path, name))
	}
	if path.Ext(p.path) != ".go" {
		return findings
	}
	for _, name := range pageName.FindAllString(p.text, -1) {
		if !namesPage(p.path, name, there) {
			findings = append(findings, fmt.Sprintf("%s: names %s, which is not there", p.path, name))
		}
	}
	return findings
}

func namesPage(from, name string, there func(string) bool) bool {
	for folder := path.Dir(from); ; folder = path.Dir(folder) {
		if there(path.Join(folder, name)) {
			return true
		}
		if folder == "." {
			return false
		}
	}
}

// readPages reads every text of the tree, but for this file, which names what the
// others must not, and what git ignores.
func readPages(t *testing.T) []page {
	kinds := map[string]bool{".md": true, ".go": true, ".proto": true, ".sh": true, ".c": true, ".h": true}
	var pages []page
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (ignored[name] || entry.Name() == "testdata" || slices.Contains([]string{".git", "node_modules", "target", "dist"}, entry.Name())):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(name, ".pb.go") || !kinds[filepath.Ext(name)] || name == "tidypages_test.go":
			return nil
		}
		text, err := os.ReadFile(name)
		pages = append(pages, page{filepath.ToSlash(name), string(text)})
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	return pages
}
