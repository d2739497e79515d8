package stoa_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
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
		case entry.IsDir() && name != "." && (ignored[name] || entry.Name() == "testdata" || entry.Name() == ".git"):
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
