package inspect

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryCodeOfVerifyIsExplained looks for the codes in the sources: those that
// verify reports here, and those of packages dag, kv and blob.
func TestEveryCodeOfVerifyIsExplained(t *testing.T) {
	explained := map[string]bool{}
	for _, c := range Codes {
		require.False(t, explained[c.Code], "%s stands there twice", c.Code)
		require.Contains(t, []string{"fast", "full"}, c.When, c.Code)
		require.NotEmpty(t, c.Means, c.Code)
		explained[c.Code] = true
	}
	used := map[string]bool{"open": true, "abort": true, "dag-damaged": true, "kv-value": true, "ledger-chain": true, "ledger-head": true} // the first two by cmd/stoa
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}
			if fn, ok := call.Fun.(*ast.SelectorExpr); !ok || fn.Sel.Name != "found" {
				return true
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				code, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				used[code] = true
			}
			return true
		})
	}
	require.Greater(t, len(used), 30)
	for _, c := range capabilities {
		used[c.code] = true
	}
	for prefix, of := range map[string]struct{ file, pattern string }{
		"dag-": {"../../dag/report.go", `FindingCode = "([a-z]+)"`},
		"kv-":  {"../../kv/check.go", `Code   string // ([a-z, ]+)`},
		"":     {"../../blob/layout.go", `Code\w+ += "([a-z-]+)"`},
		"dag":  {"../../namespace/content/verify.go", `Code\w+ += "dag([a-z-]+)"`},
	} {
		source, err := os.ReadFile(of.file)
		require.NoError(t, err)
		found := regexp.MustCompile(of.pattern).FindAllSubmatch(source, -1)
		require.NotEmpty(t, found, of.file)
		for _, m := range found {
			for code := range strings.SplitSeq(string(m[1]), ", ") {
				used[prefix+code] = true
			}
		}
	}
	require.Equal(t, used, explained)
}

// TestEveryCodeIsNamedInATestThatMakesIt looks for the codes in the tests here, in those
// and the scripts of cmd/stoa, and in those of the packages whose checks they are of.
func TestEveryCodeIsNamedInATestThatMakesIt(t *testing.T) {
	read := func(patterns ...string) (all string) {
		for _, pattern := range patterns {
			names, err := filepath.Glob(pattern)
			require.NoError(t, err)
			require.NotEmpty(t, names, pattern)
			for _, name := range names {
				text, err := os.ReadFile(name)
				require.NoError(t, err)
				if name != "codes_test.go" {
					all += string(text)
				}
			}
		}
		return all
	}
	here := read("*_test.go", "../stoa/*_test.go", "../stoa/testdata/script/*.txtar")
	deltas, values := read("../../dag/*_test.go"), read("../../kv/*_test.go")
	for _, c := range Codes {
		named := regexp.MustCompile(`(^|[^a-z-])` + c.Code + `([^a-z-]|$)`).MatchString(here)
		if of, ok := strings.CutPrefix(c.Code, "dag-"); ok {
			named = named || strings.Contains(deltas, "dag.Finding"+strings.ToUpper(of[:1])+of[1:])
		}
		if of, ok := strings.CutPrefix(c.Code, "kv-"); ok {
			named = named || strings.Contains(values, `"`+of+`"`)
		}
		require.True(t, named, "no test makes verify find %q", c.Code)
	}
}

func TestTheREADMEExplainsTheCodes(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(readme), "| Code | When | What is wrong |\n|---|---|---|\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	var want strings.Builder
	for _, c := range Codes {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", c.Code, c.When, c.Means)
	}
	require.Equal(t, strings.TrimSpace(want.String()), table)
}
