// Package stoa_test holds the whole tree to the rules of the house: who may
// import whom, where cgo may be, what is documented, how long a file may be.
// The rules are in tidyrules_test.go; here the tree is read and they are run.
package stoa_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is one Go file of the module, parsed whatever its build constraints.
type source struct {
	path  string // from the root, with slashes
	lines int
	fset  *token.FileSet
	ast   *ast.File
}

func (s source) folder() string  { return path.Dir(s.path) }
func (s source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool { return ast.IsGenerated(s.ast) }

// written tells whether the file is hand-written and part of the product: most
// rules are about those only.
func (s source) written() bool { return !s.test() && !s.generated() }

// at names a place for a message: path and line.
func (s source) at(pos token.Pos) string {
	return s.fset.Position(pos).String()
}

// TestTidy runs every rule on the whole tree.
func TestTidy(t *testing.T) {
	sources := readTree(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, finding := range r.check(sources) {
				t.Error(finding)
			}
		})
	}
	t.Run("only the folders of the house", func(t *testing.T) {
		for _, finding := range strangers(topFolders(t)) {
			t.Error(finding)
		}
	})
	t.Run("long functions", func(t *testing.T) {
		for _, remark := range longFunctions(sources) {
			t.Log(remark)
		}
	})
}

// TestTidyFindsOffences feeds each rule a file that breaks it and one like it
// that does not: a rule that finds nothing would hold nothing.
func TestTidyFindsOffences(t *testing.T) {
	const doc = "// Package p is documented.\n"
	long := doc + "package p\n" + strings.Repeat("\n", maxLines)
	for _, tc := range []struct {
		rule, path, bad, good string
	}{
		{"imports", "column/x.go", importing("codec"), importing("rpcx")},
		{"imports", "keys/x.go", importing("engine"), importing("column")},
		{"imports", "engine/mem/x.go", importing("engine/rocks"), importing("keys")},
		{"imports", "group/x.go", importing("namespace"), importing("dag")},
		{"imports", "kv/x.go", importing("dag"), importing("engine")},
		{"imports", "blob/x.go", importing("rpc"), importing("engine")},
		{"imports", "rpc/x.go", importing("rpc/server"), importing("rpc/stoav1")},
		{"imports", "bench/x.go", importing("cmd/stoa"), importing("engine/rocks")},
		{"imports", "cmd/stoa/internal/blobs/x.go", importing("cmd/stoa/internal/records"), importing("cmd/stoa/internal/cli")},
		{"cgo", "engine/x.go", "package p\nimport \"C\"\n", "package p\n"},
		{"grocksdb", "cmd/stoa/x.go", "package p\nimport _ \"" + grocksdb + "\"\n", "package p\n"},
		{"comments", "keys/x.go", "package p\nfunc F() {}\n", "package p\n// F does.\nfunc F() {}\n"},
		{"comments", "keys/x.go", "package p\ntype T int\n", "package p\ntype t int\n"},
		{"comments", "keys/x.go", "package p\nconst A = 1\n", "package p\nconst A = 1 // A is one.\n"},
		{"comments", "keys/x.go", "package p\nvar V int\n", "package p\n// What there is.\nvar (\n\tV int\n)\n"},
		{"comments", "keys/x.go", "package p\n// T is.\ntype T int\nfunc (*T) M() {}\n", "package p\ntype t int\nfunc (t) M() {}\n"},
		{"comments", "keys/x.go", "package p\n// T is.\ntype T[V any] int\nfunc (T[V]) M() {}\n", "package p\n// T is.\ntype T[V any] int\n// M does.\nfunc (T[V]) M() {}\n"},
		{"comments", "keys/x.go", "package p\n// I is.\ntype I interface{ M() }\n", "package p\n// I is.\ntype I interface{\n\t// M does.\n\tM()\n}\n"},
		{"pointers", "keys/x.go", "package p\n// F is other.T's.\nfunc F() {}\n", "package p\n// F returns what T does; see [other.T].\nfunc F() {}\n"},
		{"pointers", "keys/x.go", "package p\n// F implements [Key].\nfunc F() {}\n", "package p\n// F is the name of the key.\nfunc F() {}\n"},
		{"pointers", "keys/x.go", "package p\n// F is Space.F on the\n// view.\nfunc F() {}\n", "package p\n// f is other.T's.\nfunc f() {}\n"},
		{"drawers", "rpc/util/x.go", "package util\n", "package socket\n"},
		{"drawers", "rpc/x.go", "package testhelpers\n", "package rpc\n"},
		{"long files", "rpc/x.go", long + "\n", strings.TrimSuffix(long, "\n\n\n")},
		{"package comments", "rpc/x.go", "package rpc\n", doc + "package rpc\n"},
	} {
		check := ruleNamed(t, tc.rule)
		file := tc.path
		require.NotEmpty(t, check([]source{parse(t, file, []byte(tc.bad))}), "%s should refuse:\n%s", tc.rule, tc.bad)
		if tc.rule == "drawers" {
			file = "rpc/socket/x.go"
		}
		require.Empty(t, check([]source{parse(t, file, []byte(tc.good))}), "%s should accept:\n%s", tc.rule, tc.good)
	}
	full := make([]source, maxFiles, maxFiles+3)
	for i := range full {
		full[i] = parse(t, fmt.Sprintf("rpc/x%d.go", i), []byte("package p\n"))
	}
	full = append(full, parse(t, "rpc/x_test.go", []byte("package p\n")), parse(t, "rpc/socket/x.go", []byte("package p\n")))
	require.Empty(t, ruleNamed(t, "full folders")(full))
	require.NotEmpty(t, ruleNamed(t, "full folders")(append(full, parse(t, "rpc/x.go", []byte("package p\n")))))
	require.NotEmpty(t, ruleNamed(t, "imports")([]source{parse(t, "cmd/stoa/internal/other/x.go", []byte("package other\n"))}), "it has no place")
	require.NotEmpty(t, strangers([]string{"docs"}))
	require.Empty(t, strangers([]string{"engine", "bin", ".ci"}))
}

// importing is a file that imports a package of the house.
func importing(pkg string) string {
	return "package p\nimport _ \"" + module + "/" + pkg + "\"\n"
}

func ruleNamed(t *testing.T, name string) func([]source) []string {
	for _, r := range rules {
		if r.name == name {
			return r.check
		}
	}
	t.Fatalf("no rule is named %q", name)
	return nil
}

func parse(t *testing.T, name string, text []byte) source {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	require.NoError(t, err)
	return source{path: name, lines: strings.Count(string(text), "\n"), fset: fset, ast: file}
}

// readTree parses every Go file of this module. Other modules (a folder with a
// go.mod), test data and what git ignores are no part of it.
func readTree(t *testing.T) []source {
	var sources []source
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." {
			_, otherModule := os.Stat(filepath.Join(name, "go.mod"))
			if otherModule == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") || ignored[name] {
				return fs.SkipDir
			}
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		sources = append(sources, parse(t, filepath.ToSlash(name), text))
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	return sources
}

func topFolders(t *testing.T) []string {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, entry.Name())
		}
	}
	return folders
}
