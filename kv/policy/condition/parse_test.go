package condition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	exprparser "github.com/expr-lang/expr/parser"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

// errLacks is of what the library's language has and conditions lack.
type errLacks string

func (e errLacks) Error() string { return "conditions have no " + string(e) }

// termOf returns a tree of the library as one of this package; it panics with errLacks.
func termOf(n ast.Node) term {
	if n == nil {
		panic(errLacks("nothing"))
	}
	at := place(n.Location().From)
	switch n := n.(type) {
	case *ast.NilNode:
		return &literal{at, nil}
	case *ast.BoolNode:
		return &literal{at, n.Value}
	case *ast.StringNode:
		return &literal{at, n.Value}
	case *ast.FloatNode:
		return &literal{at, n.Value}
	case *ast.IntegerNode:
		if n.Value > maxExact {
			panic(errLacks("large integers"))
		}
		return &literal{at, float64(n.Value)}
	case *ast.IdentifierNode:
		return &identifier{at, n.Value}
	case *ast.PointerNode:
		return &pointer{at, n.Name}
	case *ast.MemberNode:
		return &member{at, termOf(n.Node), termOf(n.Property), n.Optional}
	case *ast.ChainNode:
		return &chain{at, termOf(n.Node)}
	case *ast.UnaryNode:
		return &unary{at, n.Operator, termOf(n.Node)}
	case *ast.BinaryNode:
		return &binary{at, n.Operator, termOf(n.Left), termOf(n.Right)}
	case *ast.ConditionalNode:
		return &conditional{termOf(n.Cond), termOf(n.Exp1), termOf(n.Exp2)}
	case *ast.ArrayNode:
		a := &array{place: at}
		for _, one := range n.Nodes {
			a.elements = append(a.elements, termOf(one))
		}
		return a
	case *ast.PredicateNode:
		return &predicate{at, termOf(n.Node)}
	case *ast.VariableDeclaratorNode:
		return &let{at, n.Name, termOf(n.Value), termOf(n.Expr)}
	case *ast.BuiltinNode:
		c := &call{place: at, name: n.Name}
		if !slices.Contains(Functions(), n.Name) || n.Name == "sum" && len(n.Arguments) > 1 || n.Name == "count" && len(n.Arguments) < 2 {
			panic(errLacks("function " + n.Name))
		}
		for _, one := range n.Arguments {
			c.arguments = append(c.arguments, termOf(one))
		}
		return c
	}
	panic(errLacks(fmt.Sprintf("%T", n)))
}

// theirs is what the library's parser makes of a source.
func theirs(source string) (tree term, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case errLacks:
			tree, err = nil, p
		default:
			tree, err = nil, fmt.Errorf("the library panicked: %v", p)
		}
	}()
	t, err := exprparser.ParseWithConfig(source, &conf.Config{})
	if err != nil {
		return nil, err
	}
	return termOf(t.Node), nil
}

// requireSameTree demands that both parsers make the same of a source, with the same places.
func requireSameTree(t require.TestingT, source string) (parsed bool) {
	ours, err := parse(source)
	if err != nil && strings.Contains(err.Error(), "nodes") {
		return false
	}
	want, wrong := theirs(source)
	if lacks, ok := wrong.(errLacks); ok && err == nil { // and the compiler refuses it
		_, err = new(compiler).node(ours)
		require.Error(t, err, "%q: %v", source, lacks)
	}
	if wrong != nil {
		require.Error(t, err, "%q: the library: %v", source, wrong)
		return false
	}
	require.NoError(t, err, "%q", source)
	require.Equal(t, want, ours, "%q", source)
	return true
}

func TestSourcesAreReadAsTheLibraryReadsThem(t *testing.T) {
	for _, source := range []string{
		"a.b?.c?.d.e", "a?.[0].b[1]?.c", "a?.b ?? c ?? d", "(a ?? b) + c", "a ?? b + c", "a + b ?? c", "a ** b ** c ^ d", "-a ** b", "-a.b", "(-a).b", "!a.b == c",
		"not a in b", "a not in b and c", "a + b not in c", "a not contains b", "a not b", "not not a", "a < b < c <= d", "a < b == c", "a == b == c", "a..b in c",
		"a ? b : c ? d : e", "a ?: b", "a ? b ?: c : d", "a or b ? c : d", "let x = a; x + let y = b; y", "let x = a; let y = b; x + y", "if a {b} else {c}", "if a {b} else if c {d} else {e}",
		"all(a, # > 1)", "all(a, .b)", "all(a, {let x = #; x})", "all(a, #x)", "all(a, any(#, .b == 1),)", "a | len()", "a | filter(.b) | map(#.c) | len() > 1 and d", "::len(a)", "a | all(#)",
		"[a, b,]", "[]", "[a", "[,]", "len(a,)", "len(,)", "min(a, b, c)", "sum(a, .b)", "count(a)", "all(a)", "all(a, b, c)", "a.b()", "f(a)", "a[1:2]", "a[:2]", "{}", "{'a': 1}", "a; b", "a;", ";", "(a;)",
		"(a; b)", "1.", "1.5e3", "0x1F", "0b11", "0o17", "1_000", "1.x", "9007199254740993", "0xG", "'a'.b", "true.b", "1[0]", "b'x'", "`raw`", "\"q\\n\"", "a.not.in", "a.1", "a.", "a?.", "a?", "a ? b", "a ? : b",
		"#", ".a", "(a", "a)", "", "()", "a b", "a..", "+a", "+-a", "a - -b", "a = b", "let", "let a", "let a =", "let a = b", "if", "if a", "if a {b}", "nil", "nil.a", "nil == a",
		"all(a, {#; #})", "all(a, #; #)", "let in = a; in", "a.b.c[d.e[f]].g", "a matches 'b' == c", "a | b", "a | len", "|", "a || b && c", "a or b and not c", "1 + 2 * 3 - 4 / 5 % 6",
	} {
		requireSameTree(t, source)
	}
	pieces := []string{"a", "b", "in", "not", "and", "or", "??", "?.", ".", "[", "]", "(", ")", "{", "}", "#", "?", ":", "?:", "+", "-", "*", "**", "==", "<", "<=", "!", "..", "|", ",", ";", "1", "2.5", "'s'",
		"let x =", "if", "else", "all(", "len(", "true", "nil", "contains", "::"}
	parsed := 0
	enginetest.Check(t, 60_000, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 9).Draw(t, "pieces"), rapid.SampledFrom([]string{" ", " ", ""}).Draw(t, "between"))
		if _, err := lower(source); err == nil && requireSameTree(t, source) {
			parsed++
		}
	})
	enginetest.Check(t, 5000, func(t *rapid.T) {
		g := &grammar{t: t}
		source := g.boolean()
		if len(source) <= MaxSource {
			requireSameTree(t, source)
		}
	})
	t.Logf("%d of the pieces were parsed", parsed)
	require.Greater(t, parsed, enginetest.Scale(2000))
}
