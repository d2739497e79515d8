package stoa_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryDependencyHasItsReason holds the README's table of dependencies to go.mod.
func TestEveryDependencyHasItsReason(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(readme), "\n| Dependency | Why |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	direct := directDependencies(string(mod))
	require.NotEmpty(t, direct)
	for _, name := range direct {
		require.Regexp(t, `\b`+regexp.QuoteMeta(name)+`\b`, table, "the README's table of dependencies does not say why there is %s", name)
	}
	require.Equal(t, []string{"b", "sys", "c", "f"}, directDependencies("require (\n\tgithub.com/a/b/d/v2 v2.0.0\n\tgolang.org/x/sys v1.0.0\n\ta.org/c v1.0.0\n\ta.org/v1/f v1.0.0\n\ta.org/e v1.0.0 // indirect\n)\n"))
}

// directDependencies returns the names of the repositories of what go.mod requires, but
// for what others need.
func directDependencies(mod string) (names []string) {
	for _, found := range regexp.MustCompile(`(?m)^\t(?:github\.com/[^/]+|golang\.org/x|[^/]+)(?:/v\d+)?/([^/\s]+)\S* v\S+$`).FindAllStringSubmatch(mod, -1) {
		names = append(names, found[1])
	}
	return names
}

// TestNestedModulesRequireWhatTheyBuild holds the modules within this one, which CI does not build, to
// what their builds need of this one: for want of that a new dependency here breaks them
// (go: updates to go.mod needed).
func TestNestedModulesRequireWhatTheyBuild(t *testing.T) {
	mods, err := filepath.Glob("*/*/go.mod")
	require.NoError(t, err)
	deeper, err := filepath.Glob("*/*/*/go.mod")
	require.NoError(t, err)
	mods = append(mods, deeper...)
	require.NotEmpty(t, mods)
	for _, mod := range mods {
		if mod == "fuzz/cluster/pd/go.mod" { // it builds a program of another module, and nothing of this one
			continue
		}
		text, err := os.ReadFile(mod)
		require.NoError(t, err)
		for _, need := range needed(t, filepath.Dir(mod), mods) {
			path, version, _ := strings.Cut(need, " ")
			found := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(path) + ` (v\S+)`).FindStringSubmatch(string(text))
			require.NotNil(t, found, "%s needs %s: run `go -C %s mod tidy`", mod, need, filepath.Dir(mod))
			require.GreaterOrEqual(t, slices.Compare(numbersOf(found[1]), numbersOf(version)), 0, "%s needs %s, and has %s: run `go -C %s mod tidy`", mod, need, found[1], filepath.Dir(mod))
		}
	}
	require.Equal(t, 1, slices.Compare(numbersOf("v1.10.0"), numbersOf("v1.9.2")))
	require.Equal(t, 0, slices.Compare(numbersOf("v1.10.0-rc1"), numbersOf("v1.10.0-rc1")))
}

// needed returns the modules, with their versions, of all that the packages of this module are
// built of which dir imports. Those of mods are not of this module.
func needed(t *testing.T, dir string, mods []string) []string {
	imported := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			nested := slices.ContainsFunc(mods, func(mod string) bool {
				return strings.HasPrefix(name+"/", "github.com/stoadb/stoa/"+filepath.ToSlash(filepath.Dir(mod))+"/")
			})
			if strings.HasPrefix(name, "github.com/stoadb/stoa/") && !nested {
				imported[name] = true
			}
		}
		return nil
	}))
	require.NotEmpty(t, imported, dir)
	args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}"}, slices.Sorted(maps.Keys(imported))...)
	out, err := exec.Command("go", args...).Output()
	require.NoError(t, err, "go list for %s", dir)
	list := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(list)
	return slices.Compact(list)
}

// numbersOf returns the numbers in a version, to compare it with another of the module.
func numbersOf(version string) (list []int) {
	for _, digits := range regexp.MustCompile(`\d+`).FindAllString(version, -1) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			break // a time, or a hash
		}
		list = append(list, n)
	}
	return list
}
