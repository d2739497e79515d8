package condition

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

// Every function of the library is allowed or refused by name, in README.md too: one that a
// new version brings is neither, and fails here.
func TestB31EveryFunctionOfTheLibraryIsAllowedOrRefused(t *testing.T) {
	refused := strings.Fields(`
		now date duration timezone
		keys values toPairs fromPairs
		repeat replace join splitAfter trimPrefix trimSuffix indexOf lastIndexOf
		reduce groupBy sortBy sort reverse uniq concat flatten take findIndex findLast findLastIndex
		mean median get int float string
		toJSON fromJSON toBase64 fromBase64
		bitand bitor bitxor bitnand bitnot bitshl bitshr bitushr`)
	allowed := Functions()
	all := slices.Concat(allowed, refused)
	require.ElementsMatch(t, builtin.Names, all)
	require.True(t, slices.IsSorted(allowed))
	for _, name := range refused {
		_, err := Compile(name + "(x, true) == 1")
		require.Error(t, err, name)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for title, names := range map[string][]string{"Functions": allowed, "Refused": refused} {
		row := regexp.MustCompile(`(?m)^\| ` + title + ` \| (.*) \|$`).FindSubmatch(readme)
		require.NotNil(t, row, title)
		var listed []string
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllSubmatch(row[1], -1) {
			listed = append(listed, string(m[1]))
		}
		require.ElementsMatch(t, names, listed, title)
	}
}

// library is what the library itself makes of a source with its keywords in lower case.
func library(source string, env map[string]any) (any, error) {
	p, err := expr.Compile(source, expr.AsBool())
	if err != nil {
		return nil, err
	}
	return expr.Run(p, env)
}

// grammar draws conditions that both understand in the same way: of numbers that are
// floats, and without what only one of them takes for a failure.
type grammar struct {
	t     *rapid.T
	depth int
	lets  int
	loop  []string // what # is in the loops around
}

func (g *grammar) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.t, what)
}

// some draws one of several forms; the first ones where it has become deep.
func (g *grammar) some(what string, shallow int, forms ...func() string) string {
	if g.depth++; g.depth > 6 {
		forms = forms[:shallow]
	}
	defer func() { g.depth-- }()
	return forms[rapid.IntRange(0, len(forms)-1).Draw(g.t, what)]()
}

func (g *grammar) element(kind, otherwise string) string {
	if n := len(g.loop); n > 0 && g.loop[n-1] == kind {
		return "#"
	}
	return otherwise
}

func (g *grammar) boolean() string {
	compare := func() string { return g.pick("order", "==", "!=", "<", "<=", ">", ">=") }
	both := func(operator string) func() string {
		return func() string { return "(" + g.boolean() + " " + operator + " " + g.boolean() + ")" }
	}
	return g.some("boolean", 4,
		func() string { return g.pick("constant", "true", "false", "yes", "no") },
		func() string { return g.number() + " " + compare() + " " + g.number() },
		func() string { return g.text() + " " + compare() + " " + g.text() },
		func() string { return g.text() + g.pick("in", " in ", " not in ") + g.texts() },
		both("and"), both("or"), both("&&"), both("||"),
		func() string { return "not (" + g.boolean() + ")" },
		func() string { return "!(" + g.boolean() + ")" },
		func() string {
			return g.text() + " " + g.pick("search", "contains", "startsWith", "endsWith", "not contains") + " " + g.text()
		},
		func() string { return g.text() + ` matches "^[ab]+$"` },
		func() string { return g.text() + g.pick("in", " in ", " not in ") + "m" },
		func() string { return g.number() + g.pick("in", " in ", " not in ") + g.numbers() },
		func() string {
			return g.pick("a nil", "m.none", "m.s", "m?.s", "nothing?.s") + g.pick("is", " == ", " != ") + "nil"
		},
		func() string { return "(" + g.boolean() + " ? " + g.boolean() + " : " + g.boolean() + ")" },
		func() string { return g.over("all", "any", "none", "one") },
		func() string { return g.texts() + g.pick("same", " == ", " != ") + g.texts() },
		func() string {
			g.lets++
			x := fmt.Sprint("x", g.lets)
			return "(let " + x + " = " + g.number() + "; " + x + " > 0 and " + g.boolean() + ")"
		},
	)
}

// over draws a question of each element of a list.
func (g *grammar) over(names ...string) string {
	name, kind := g.pick("loop", names...), g.pick("of", "text", "number")
	list := g.texts
	if kind == "number" {
		list = g.numbers
	}
	of := list()
	g.loop = append(g.loop, kind)
	defer func() { g.loop = g.loop[:len(g.loop)-1] }()
	return name + "(" + of + ", " + g.boolean() + ")"
}

func (g *grammar) number() string {
	return g.some("number", 3,
		func() string { return g.pick("number", "0.0", "1.0", "2.5", "-1.0", "n", "f", "m.n", "ln[0]") },
		func() string { return g.element("number", "n") },
		func() string { return "(-f)" },
		func() string { return "(" + g.number() + g.pick("op", " + ", " - ", " * ") + g.number() + ")" },
		func() string { return "(len(" + g.text() + ") + 0.0)" },
		func() string { return "(" + g.over("count") + " + 0.0)" },
		func() string { return g.pick("round", "abs", "ceil", "floor", "round") + "(" + g.number() + ")" },
		func() string { return g.pick("extreme", "min", "max") + "(" + g.number() + ", " + g.number() + ")" },
		func() string { return "sum(" + g.numbers() + ")" },
		func() string { return "(nothing ?? " + g.number() + ")" },
	)
}

func (g *grammar) text() string {
	return g.some("text", 3,
		func() string {
			return g.pick("text", `""`, `"a"`, `'ab'`, `"b B"`, "s", "e", "m.s", `m["s"]`, "ls[-1]")
		},
		func() string { return g.element("text", "s") },
		func() string { return `first(ls)` },
		func() string { return "(" + g.text() + " + " + g.text() + ")" },
		func() string { return g.pick("case", "lower", "upper", "trim") + "(" + g.text() + ")" },
		func() string { return "(" + g.boolean() + " ? " + g.text() + " : " + g.text() + ")" },
		func() string { return "type(" + g.pick("of", "s", "m", "nil", "yes", "f", "ls") + ")" },
	)
}

func (g *grammar) texts() string {
	return g.some("texts", 2,
		func() string { return g.pick("texts", "ls", `["a", "b"]`, `[]`, `["ab"]`) },
		func() string { return "[" + g.text() + ", " + g.text() + "]" },
		func() string { return "filter(ls, " + `# != "a")` },
		func() string { return `map(ls, # + "x")` },
		func() string { return "split(" + g.text() + ", " + g.pick("by", `"b"`, `" "`) + ")" },
	)
}

func (g *grammar) numbers() string {
	return g.some("numbers", 2,
		func() string { return g.pick("numbers", "ln", "[1.0, 2.5]", "[0.0]") },
		func() string { return "[" + g.number() + ", " + g.number() + "]" },
		func() string { return "filter(ln, # > 1.0)" },
		func() string { return "map(ln, # * 2.0)" },
	)
}

// What is drawn is true, false or refused by both.
func TestTheLibraryAgrees(t *testing.T) {
	context := contextOf(t, `{"yes": true, "no": false, "n": 1, "f": 2.5, "s": "ab", "e": "", "nothing": null,
		"m": {"s": "b", "n": -1, "none": null}, "ls": ["a", "ab", "b"], "ln": [0, 1, 2.5]}`)
	answers := map[string]int{}
	enginetest.Check(t, 20_000, func(t *rapid.T) {
		g := &grammar{t: t}
		source := g.boolean()
		p, err := Compile(source)
		if err != nil && strings.Contains(err.Error(), "nodes") || len(source) > MaxSource {
			return
		}
		want, wrong := library(source, context)
		if err == nil {
			var is bool
			if is, err = p.Eval(&Env{Context: context}); err == nil {
				answers[fmt.Sprint(is)]++
				if wrong != nil || want != is {
					t.Fatalf("%s: %v; of the library %v, %v", source, is, want, wrong)
				}
				return
			}
		}
		answers["error"]++
		if wrong == nil {
			t.Fatalf("%s: %v; of the library %v", source, err, want)
		}
	})
	for _, answer := range []string{"true", "false"} {
		require.Greater(t, answers[answer], enginetest.Scale(4000), "%v", answers)
	}
	t.Log(answers)
}

// Lowering changes keywords and nothing else: the library reads the same tokens, but for those.
func TestB26LoweringLeavesTheRestAsItIs(t *testing.T) {
	pieces := []string{"NOT", "IN", "AND", "OR", "not", "in", " ", " ", "\n", "x", "xIN", "é", "'a AND b'", `"NOT \" IN"`, "`OR`", "// NOT\n", "/* IN */", ".", "?.", "(", ")", "[", "]", "1", "1.5", ",", "== ", "#", "b'AND'"}
	enginetest.Check(t, 5000, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "")
		lowered, err := lower(source)
		if err != nil {
			return
		}
		before, err := lexer.Lex(file.NewSource(source))
		require.NoError(t, err)
		after, err := lexer.Lex(file.NewSource(lowered))
		require.NoError(t, err)
		require.Len(t, after, len(before), "%q became %q", source, lowered)
		for i, b := range before {
			a := after[i]
			require.Equal(t, b.Location, a.Location, "%q became %q", source, lowered)
			if word := keywords[b.Value]; b.Kind == lexer.Identifier && word != "" && (i == 0 || !names(before[i-1], b)) {
				require.Equal(t, lexer.Token{Location: b.Location, Kind: lexer.Operator, Value: word}, a, "%q became %q", source, lowered)
			} else {
				require.Equal(t, b, a, "%q became %q", source, lowered)
			}
		}
	})
}

// No source and no context makes it panic, or run on; and the answer is the same each time.
func FuzzCondition(f *testing.F) {
	for _, source := range []string{
		"recipient.domain NOT IN approved_domains", "true", "a.b?.c ?? 'x' == \"y\"", "all(l, any(l, # in l))", "let x = l[0]; x + 1 < -2 ? x : !x",
		"if a {b} else {c}", "map(l, [#, s])[1][0] == `x`", "l | filter(# > 1) | len() == 2", "s matches '^(a|b)*$' and s contains 'a'", "((((", "b'\\xff' == #", "1..2", "max(1, l) / 0 % 3 == sum(l)",
	} {
		f.Add(source, `{"l": [1, "x", [2], null], "s": "ab", "a": {"b": {"c": true}}}`)
	}
	f.Fuzz(func(t *testing.T, source, context string) {
		p, err := Compile(source)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		env := &Env{Agent: "a", Action: "b.c"}
		if !readContext(context, &env.Context) {
			return
		}
		first, failed := p.Eval(env)
		again, failedAgain := p.Eval(env)
		require.Equal(t, first, again)
		require.Equal(t, failed == nil, failedAgain == nil)
		require.False(t, first && failed != nil)
	})
}
