package natskv_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notHere are the tests of nats.go that are about what Stoa has not.
var notHere = map[string]string{
	"TestKeyValueCrossAccounts":      "accounts",
	"TestKeyValueDuplicatesWindow":   "the window of a stream",
	"TestKeyValueMirrorCrossDomains": "mirrors",
	"TestKeyValueRePublish":          "republishing",
	"TestKeyValueMirrorDirectGet":    "mirrors",
	"TestKeyValueReusesSourceConfig": "sources",
	"TestKeyValueWithSources":        "sources",
}

// notHereOf are parts of them.
var notHereOf = map[string]string{"purge with TTL": "times to live of markers"}

// nats.go's own tests of key-values hold on Stoa, but for what they say of streams, accounts and
// mirrors: those statements are taken out, and the functions that are about nothing else.
func TestT70TheTestsOfNATSHold(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nats-io/nats.go").Output()
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "jetstream", "test", "kv_test.go"))
	require.NoError(t, err)
	text, names := adapt(t, source)
	require.Len(t, names, 28, "functions that are run")

	scratch := t.TempDir()
	here, err := filepath.Abs("suite")
	require.NoError(t, err)
	file, overlay := filepath.Join(scratch, "kv_test.go"), filepath.Join(scratch, "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, "kv_test.go"): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-overlay", overlay, "./suite").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range names {
		require.Regexp(t, `(?m)^--- PASS: `+name+` `, string(out))
	}
}

// adapt returns the tests as they run on Stoa, and the names of their functions.
func adapt(t *testing.T, source []byte) (text []byte, names []string) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "kv_test.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	f.Name.Name = "suite"
	f.Comments = nil
	gone := map[string]string{}
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			return false
		}
		if why := notHere[fn.Name.Name]; why != "" {
			gone[fn.Name.Name] = why
			return true
		}
		if strings.HasPrefix(fn.Name.Name, "Test") {
			names = append(names, fn.Name.Name)
		}
		(&stripper{tainted: map[string]bool{}}).function(fn)
		return false
	})
	require.Equal(t, notHere, gone)
	var b bytes.Buffer
	require.NoError(t, format.Node(&b, set, f))
	out := regexp.MustCompile(`\bjs jetstream\.JetStream\b`).ReplaceAll(b.Bytes(), []byte("js *natskv.Manager"))
	out = regexp.MustCompile(`(?m)^\t*MaxBytes:.*\n`).ReplaceAll(out, nil)
	out = bytes.ReplaceAll(out, []byte(", MaxBytes: 1024"), nil)
	return imports(t, out), names
}

// imports has the imports be those that are used.
func imports(t *testing.T, text []byte) []byte {
	i := bytes.Index(text, []byte("import ("))
	j := i + bytes.IndexByte(text[i:], ')') + 1
	body := text[j:]
	var b bytes.Buffer
	b.Write(text[:i])
	b.WriteString("import (\n")
	for _, path := range []string{"context", "errors", "fmt", "reflect", "strconv", "strings", "testing", "time", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream", "github.com/stoadb/stoa/kv/bucket/natskv"} {
		name := strings.TrimSuffix(filepath.Base(path), ".go")
		if regexp.MustCompile(`\b` + name + `\.`).Match(body) {
			b.WriteString("\t\"" + path + "\"\n")
		}
	}
	b.WriteString(")\n")
	b.Write(body)
	out, err := format.Source(b.Bytes())
	require.NoError(t, err, "%s", b.Bytes())
	return out
}

// stripper takes out statements about streams, and those that use what they assign.
type stripper struct{ tainted map[string]bool }

func (s *stripper) function(fn *ast.FuncDecl) {
	for {
		before := len(s.tainted)
		s.block(&fn.Body.List)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				s.block(&n.List)
			case *ast.CommClause:
				s.block(&n.Body)
			}
			return true
		})
		if len(s.tainted) == before {
			return
		}
	}
}

func (s *stripper) block(list *[]ast.Stmt) {
	var left []ast.Stmt
	for _, stmt := range *list {
		if !s.gone(stmt) {
			left = append(left, stmt)
			continue
		}
		a, ok := stmt.(*ast.AssignStmt)
		if !ok {
			continue
		}
		for _, l := range a.Lhs {
			id, ok := l.(*ast.Ident)
			if !ok {
				continue
			}
			switch {
			case id.Name == "_":
			case id.Name != "err":
				s.tainted[id.Name] = true
			case a.Tok == token.DEFINE && !slices.ContainsFunc(left, declaresErr): // what follows uses it
				left = append(left, &ast.DeclStmt{Decl: &ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{&ast.ValueSpec{Names: []*ast.Ident{ast.NewIdent("err")}, Type: ast.NewIdent("error")}}}})
			}
		}
	}
	*list = left
}

// declaresErr reports whether a statement declares err in its block.
func declaresErr(stmt ast.Stmt) bool {
	switch n := stmt.(type) {
	case *ast.AssignStmt:
		return n.Tok == token.DEFINE && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { id, ok := e.(*ast.Ident); return ok && id.Name == "err" })
	case *ast.DeclStmt:
		return true
	}
	return false
}

// gone reports whether a statement, or the condition of one, is about streams.
func (s *stripper) gone(stmt ast.Stmt) bool {
	switch n := stmt.(type) {
	case *ast.IfStmt:
		return s.mentions(n.Cond) || n.Init != nil && s.mentions(n.Init)
	case *ast.ForStmt, *ast.RangeStmt, *ast.BlockStmt, *ast.SelectStmt, *ast.SwitchStmt, *ast.GoStmt, *ast.DeferStmt:
		return false
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Run" && len(call.Args) == 2 {
			name, ok := call.Args[0].(*ast.BasicLit)
			return ok && notHereOf[strings.Trim(name.Value, `"`)] != ""
		}
		if slices.ContainsFunc(call.Args, func(e ast.Expr) bool { _, ok := e.(*ast.FuncLit); return ok }) {
			return false
		}
		return s.mentions(n)
	case *ast.AssignStmt:
		if f, ok := n.Rhs[0].(*ast.FuncLit); ok {
			return s.mentions(f.Body) && strings.HasPrefix(n.Lhs[0].(*ast.Ident).Name, "checkMsg")
		}
		return s.mentions(n)
	}
	return s.mentions(stmt)
}

// mentions reports whether a node has a call about streams, what is known of the configuration
// of one, or something that a statement that is gone has assigned.
func (s *stripper) mentions(node ast.Node) (found bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == "js" && strings.HasSuffix(n.Sel.Name, "Stream") {
				found = true
			}
			if slices.Contains([]string{"StreamConfig", "KeyValueBucketStatus", "MaxBytes", "ErrBadBucket"}, n.Sel.Name) {
				found = true
			}
		case *ast.Ident:
			found = found || s.tainted[n.Name]
		}
		return !found
	})
	return found
}
