package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
)

// site is one mutant: a place in a file and the change that is made there.
type site struct {
	id       int
	file     string // from the root of the module, with slashes
	line     int
	function string // the declaration around it
	operator string // what is changed, one of those of operators
	source   string // the code that is changed, on one line
	changed  string // what it becomes
	nth      int    // among those of the declaration with the same change of the same code, from 1
	edits    []edit
	tests    []*test // those that reach it, set by the survey
}

// edit is text to be put in at a place of a file. The text holds %d where the
// number of the mutant goes.
type edit struct {
	at   int
	text string
}

// key names a site beyond edits of the file around it: what allow.txt has.
func (s *site) key() string {
	key := fmt.Sprintf("%s: %s: %s: %s", s.file, s.function, s.operator, s.source)
	if s.nth > 1 {
		key += fmt.Sprintf(" #%d", s.nth)
	}
	return key
}

// pkg is the package, by its folder from the root.
func (s *site) pkg() string { return path.Dir(s.file) }

// String is the place and the change, for whoever looks at it.
func (s *site) String() string {
	return fmt.Sprintf("%s:%d: %s\n\t%s -> %s\n", s.file, s.line, s.key(), s.source, s.changed)
}

// finder collects the sites of one file.
type finder struct {
	file     string
	set      *token.FileSet
	source   []byte
	function string
	sites    []*site
}

// sites finds every mutant of a file. name is its name from the root.
func sites(name string, source []byte) ([]*site, error) {
	f := &finder{file: name, set: token.NewFileSet(), source: source}
	parsed, err := parser.ParseFile(f.set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f.function = fn.Name.Name
		ast.Inspect(fn.Body, f.visit)
	}
	return f.sites, nil
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			f.answer(result)
		}
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	}
	return true
}

// ignored is the operator of errors that are not looked at. Most of them need a
// fault that is injected at one place, which fuzz/torture and engine/faulty do
// their own way: they are mutants only with -errors.
const ignored = "error ignored"

// condition has the mutants of what an if asks: never so, always so.
func (f *finder) condition(cond ast.Expr) {
	if e, ok := cond.(*ast.BinaryExpr); ok && e.Op == token.NEQ && f.text(e) == "err != nil" {
		f.wrap(ignored, cond, "false", "!stoamutant.On(%d) && (", ")")
		return
	}
	f.wrap("never", cond, "false", "!stoamutant.On(%d) && (", ")")
	f.wrap("always", cond, "true", "stoamutant.On(%d) || (", ")")
}

// boundary is the comparison that differs only where both sides are equal.
var boundary = map[token.Token]string{token.LSS: "<=", token.GTR: ">=", token.LEQ: "<", token.GEQ: ">"}

// binary has the mutants of a comparison at its boundary, and of one side of a
// conjunction or disjunction that is not asked.
func (f *finder) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LSS, token.GTR:
		if pure(e.X) && pure(e.Y) {
			f.wrap("boundary", e, f.text(e.X)+" "+boundary[e.Op]+" "+f.text(e.Y), "(", " || stoamutant.On(%d) && "+f.text(e.X)+" == "+f.text(e.Y)+")")
		}
	case token.LEQ, token.GEQ:
		if pure(e.X) && pure(e.Y) {
			f.wrap("boundary", e, f.text(e.X)+" "+boundary[e.Op]+" "+f.text(e.Y), "(", " && !(stoamutant.On(%d) && "+f.text(e.X)+" == "+f.text(e.Y)+"))")
		}
	case token.LAND:
		f.wrap("left side true", e.X, "true", "(stoamutant.On(%d) || ", ")")
		f.wrap("right side true", e.Y, "true", "(stoamutant.On(%d) || ", ")")
	case token.LOR:
		f.wrap("left side false", e.X, "false", "(!stoamutant.On(%d) && (", "))")
		f.wrap("right side false", e.Y, "false", "(!stoamutant.On(%d) && (", "))")
	}
}

// answer has the mutant of a constant truth that is returned.
func (f *finder) answer(result ast.Expr) {
	if name, ok := result.(*ast.Ident); ok && (name.Name == "true" || name.Name == "false") {
		f.wrap("other answer", result, map[string]string{"true": "false", "false": "true"}[name.Name], "(stoamutant.On(%d) != ", ")")
	}
}

// statements has the mutants of statements that are left out: calls for their
// effect, and assignments to fields and elements.
func (f *finder) statements(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && !holds(call) {
				f.wrap("left out", s, "nothing", "if !stoamutant.On(%d) { ", " }")
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && settable(s.Lhs) {
				f.wrap("left out", s, "nothing", "if !stoamutant.On(%d) { ", " }")
			}
		case *ast.IncDecStmt:
			if settable([]ast.Expr{s.X}) {
				f.wrap("left out", s, "nothing", "if !stoamutant.On(%d) { ", " }")
			}
		}
	}
}

// wrap adds a mutant that stands around a node and makes changed of it.
func (f *finder) wrap(operator string, n ast.Node, changed, before, after string) {
	start, end := f.set.Position(n.Pos()), f.set.Position(n.End())
	s := &site{
		file: f.file, line: start.Line, function: f.function, operator: operator, source: f.text(n), changed: changed, nth: 1,
		edits: []edit{{start.Offset, before}, {end.Offset, after}},
	}
	for _, other := range f.sites {
		if other.function == s.function && other.operator == s.operator && other.source == s.source {
			s.nth++
		}
	}
	f.sites = append(f.sites, s)
}

// text is the source of a node on one line.
func (f *finder) text(n ast.Node) string {
	start, end := f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
	return strings.Join(strings.Fields(string(f.source[start:end])), " ")
}

// pure reports whether an expression may be read twice.
func pure(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return pure(e.X)
	case *ast.ParenExpr:
		return pure(e.X)
	case *ast.BinaryExpr:
		return pure(e.X) && pure(e.Y)
	case *ast.CallExpr:
		name, ok := e.Fun.(*ast.Ident)
		return ok && (name.Name == "len" || name.Name == "cap") && len(e.Args) == 1 && pure(e.Args[0])
	}
	return false
}

// settable reports whether all that is assigned to are fields, elements or what
// a pointer points to: leaving out another assignment seldom compiles.
func settable(list []ast.Expr) bool {
	for _, e := range list {
		switch e.(type) {
		case *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
		default:
			return false
		}
	}
	return true
}

// holds reports whether leaving out a call would only hang or end the process:
// such mutants are all found, and take a time limit each.
func holds(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name == "panic"
	case *ast.SelectorExpr:
		switch fun.Sel.Name {
		case "Lock", "Unlock", "RLock", "RUnlock", "Wait", "Done", "Add", "Broadcast", "Signal":
			return true
		}
	}
	return false
}
