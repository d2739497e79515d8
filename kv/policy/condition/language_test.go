package condition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
)

const people = `{"recipient": {"domain": "evil.com"}, "approved_domains": ["a.io"], "amount": 12.5, "who": "bob", "ok": true, "none": null}`

func TestB24TrueAndFalse(t *testing.T) {
	for _, context := range []string{`{}`, people, `{"true": false, "false": true}`} {
		is, err := ask(t, "true", context)
		require.NoError(t, err)
		require.True(t, is)
		is, err = ask(t, "false", context)
		require.NoError(t, err)
		require.False(t, is)
	}
}

func TestB25NotIn(t *testing.T) {
	const source = "recipient.domain NOT IN approved_domains"
	is, err := ask(t, source, people)
	require.NoError(t, err)
	require.True(t, is)
	is, err = ask(t, source, `{"recipient": {"domain": "a.io"}, "approved_domains": ["a.io"]}`)
	require.NoError(t, err)
	require.False(t, is)
}

func TestB26KeywordsInEitherCase(t *testing.T) {
	for _, source := range []string{
		"who NOT IN approved_domains AND (ok OR who IN approved_domains) AND NOT false",
		"who not in approved_domains and (ok or who in approved_domains) and not false",
		"who NOT in approved_domains AND (ok or who IN approved_domains) and NOT\tfalse",
		"who NOT /* AND NOT */ IN approved_domains AND ok // OR NOT IN",
	} {
		is, err := ask(t, source, people)
		require.NoError(t, err, source)
		require.True(t, is, source)
	}
	for source, context := range map[string]string{
		`x == 'a AND b'`:                       `{"x": "a AND b"}`,
		`x == "NOT IN"`:                        `{"x": "NOT IN"}`,
		"x == `a OR b`":                        `{"x": "a OR b"}`,
		`x == 'it\'s AND'`:                     `{"x": "it's AND"}`,
		`x == "\"" AND x != ' AND '`:           `{"x": "\""}`,
		`'#'NOT IN ['a']`:                      `{}`,
		`state.OR == 1 AND state?.IN == 2`:     `{"state": {"OR": 1, "IN": 2}}`,
		`BRAND == 1 AND MANDATE == 2 and aNOT`: `{"BRAND": 1, "MANDATE": 2, "aNOT": true}`,
		`all([1], # NOT IN [2] AND # IN [1])`:  `{}`,
		`'ä AND ö' == x AND x NOT IN ['ä']`:    `{"x": "ä AND ö"}`,
	} {
		is, err := ask(t, source, context)
		require.NoError(t, err, source)
		require.True(t, is, source)
	}
}

// Each is true of the context.
func TestB27Operators(t *testing.T) {
	context := `{"n": 3, "f": 2.5, "neg": -1, "s": "abc", "t": "b", "l": [1, "x", null, [2]], "m": {"k": 1, "deep": {"er": [10, 20]}}, "nil": null, "empty": {}, "m1": {"a": 1}, "m6": {"a": 1}, "m2": {"a": 1, "b": 2}, "m3": {"a": 2}, "m4": {"a": 2, "b": 2}, "m5": {"a": 1, "b": 3}, "a1": {"a": null, "c": 1}, "b1": {"b": null, "c": 1}, "yes": true, "no": false}`
	for _, source := range []string{
		`n == 3 and n == 3.0 and n != 4`,
		`n < 4 and n <= 3 and n > 2 and n >= 3`,
		`2 < n and f < n and neg < 0 and -n == -3`,
		`s == "abc" and s != 'abd'`,
		`s < "abd" and s <= "abc" and s > "abb" and s >= "abc" and "Z" < "a"`,
		`yes and not no and !no && (no || yes)`,
		`no and missing == 1 or yes or missing == 1`,
		`not (yes and no) and (no or yes)`,
		`1 in l and "x" in l and nil in l and [2] in l and 2 not in l`,
		`t in ["a", "b"] and t not in ["a", "c"]`,
		`"k" in m and "z" not in m`,
		`s contains "bc" and s startsWith "ab" and s endsWith "c" and s not contains "z"`,
		`s matches "^[a-c]{3}$" and not (s matches "^b")`,
		`m.k == 1 and m["k"] == 1 and m.deep.er[0] == 10 and m.deep.er[-1] == 20`,
		`n + 1 == 4 and n - 1 == 2 and n * 2 == 6 and n / 2 == 1.5 and n % 2 == 1 and s + t == "abcb"`,
		`(yes ? n : s) == 3 and (no ? n : s) == "abc"`,
		`(missing ?? 7) == 7 and (m.none ?? 8) == 8 and (context.nil ?? 9) == 9 and (n ?? 9) == 3`,
		`m?.k == 1 and m?.none == nil and missing?.a.b.c == nil and context.nil?.a.b == nil`,
		`all([1, 2], # < n) and any(l, # == "x") and none(l, # == 5) and one(l, # == 1) and count(l, # != nil) == 3`,
		`len(filter(l, # == 1)) == 1 and map([1, 2], # * 2) == [2, 4] and find(l, # != 1) == "x" and find(l, # == 9) == nil`,
		`len(s) == 3 and len(l) == 4 and len(m) == 2 and len("äö") == 2 and type(l) == "array" and type(nil) == "nil"`,
		`lower("ÄB") == "äb" and upper(s) == "ABC" and trim(" a ") == "a" and hasPrefix(s, "ab") and hasSuffix(s, "bc")`,
		`split("a@b.io", "@")[1] == "b.io" and last(split("a.b", ".")) == "b" and first(l) == 1`,
		`abs(neg) == 1 and ceil(f) == 3 and floor(f) == 2 and round(f) == 3 and min(n, f) == 2.5 and max([1, 5], n) == 5 and sum([1, 2]) == 3`,
		`let d = m.deep; d.er[0] < d.er[1] and (let n = 5; n == 5)`,
		`1 < n <= 3`,
		`yes != no and yes == true and 0 != s and 0 != nil and "" != n and no != 0 and [0] != [s]`,
		`+n == 3 and -n == -3 and +1 == 1 and n in [-1, +3]`,
		`(let n = 5; n == 5) and n == 3`,
		`9007199254740992 == 9007199254740992.0`,
		`filter(l, # == 9) == [] and len(map([], #)) == 0`,
		`m1 == m6 and m1 != m2 and m2 != m1 and m1 != m3 and m2 != m4 and m4 != m2 and m2 != m5 and m5 != m2 and m1 != n and m1 != l and n != m1 and empty != n and empty != nil and empty == context.empty`,
		`min(1, 2, 3) == 1 and max(1, 2, 3) == 3`,
		`a1 != b1 and a1 == a1`,
		`agent == "cece" and action startsWith "email." and context.n == 3`,
		`[n, s] == [3, "abc"] and m == context.m and l != m and n != s and nil != no`,
		`s | lower() == "abc" and ([1, 2] | all(# > 0))`,
		`if n > 2 { yes } else { no }`,
		`any(l, let x = #; x == 1) and all([[1], [2]], any(#, # > 0))`,
	} {
		for range 20 { // maps are gone through in any order
			is, err := ask(t, source, context)
			require.NoError(t, err, source)
			require.True(t, is, source)
		}
	}
}

func TestB28MistakesHaveTheirPlace(t *testing.T) {
	for source, want := range map[string]string{
		"":                      "1:1: unexpected token EOF",
		"a ==":                  "1:4: unexpected token EOF",
		"a == 1 AND\n  b = = 2": `2:5: unexpected token Operator("=")`,
		"a NOT IN":              "1:8: unexpected token EOF",
		"'ä' == x)":             `1:9: unexpected token Bracket(")")`,
		"'abc":                  "1:5: literal not terminated",
		"a == 'x' AND § == 1":   "1:14: unrecognized character: U+00A7 '§'",
		"1 + 1":                 "1:3: a number where a boolean is wanted",
		"'yes'":                 "1:1: a string where a boolean is wanted",
		"a and 'b'":             "1:7: a string where a boolean is wanted",
		"1 < 'b'":               "1:5: a string where a number is wanted",
		"1 + 'b' == 2":          "1:5: a string where a number is wanted",
		"a in 'abc'":            "1:6: a string where a list or map is wanted",
		"a contains 1":          "1:12: a number where a string is wanted",
		"len() == 1":            "1:1: len does not take 0 arguments",
		"lower(1) == 'a'":       "1:7: a number where a string is wanted",
		"all('abc', true)":      "1:5: a string where a list is wanted",
		"len(a, b) == 1":        "1:1: len does not take 2 arguments",
		"a == 1e999":            "1:6: invalid float literal",
		"a == 9007199254740993.5e0 or count(a) == 1": "count takes a list and what to ask of each element",
		"all(a, 1)":                 "1:8: a number where a boolean is wanted",
		"a matches 1":               "a pattern of matches stands in the condition, in quotes",
		"a ? 1 : 2":                 "1:1: a number where a boolean is wanted",
		"-(not a) == 1":             "a boolean where a number is wanted",
		"not -a":                    "a number where a boolean is wanted",
		"x + 1":                     "1:3: a number where a boolean is wanted",
		"1 + x":                     "1:3: a number where a boolean is wanted",
		"x + 'a'":                   "1:3: a string where a boolean is wanted",
		"a matches b":               "1:11: a pattern of matches stands in the condition, in quotes",
		"a matches '['":             "1:11: error parsing regexp: missing closing ]: `[`",
		"a.b()":                     "1:3: values have no methods",
		"sendmail(a)":               "1:1: conditions have no function sendmail",
		"a[1:2] == b":               "1:2: conditions have no slices",
		"a == {'b': 1}":             "1:6: conditions write no maps",
		"a == b'x'":                 "1:6: conditions have no bytes",
		"2 ** 3 == 8":               "1:3: conditions have no operator **",
		"a == 9007199254740993":     "an integer over 2^53, which numbers don't hold exactly",
		"let agent = 'x'; true":     "1:5: agent is what the decision is about, and no name for something else",
		"true; true":                "1:5: conditions have one expression",
		"any(a, #index == 1)":       "1:8: conditions have no #index",
		"# == 1":                    "1:1: unexpected token",
		"a == \xff":                 "1:1: a condition is UTF-8",
		"x > 1 and reduce(l, #acc)": "1:11: conditions have no function reduce",
	} {
		_, err := Compile(source)
		var e *Error
		require.ErrorAs(t, err, &e, source)
		require.Contains(t, e.Error(), want, source)
	}
}

func TestB29FailuresAreErrors(t *testing.T) {
	for source, want := range map[string]string{
		"missing == 1":                           "1:1: there is no missing in the context",
		"recipient.name == 'x'":                  "1:11: there is no field name",
		"ok and recipient.name.x == 1":           "1:18: there is no field name",
		"who < 1":                                "1:7: a number where a string is wanted",
		"1 < who":                                "1:5: a string where a number is wanted",
		"ok < none":                              "1:1: a boolean where a number or string is wanted",
		"who and ok":                             "1:1: a string where a boolean is wanted",
		"not who":                                "1:5: a string where a boolean is wanted",
		"none and ok":                            "1:1: a nil where a boolean is wanted",
		"who":                                    "the result is a string, not a boolean",
		"none":                                   "the result is a nil, not a boolean",
		"who in none":                            "1:8: a nil where a list or map is wanted",
		"who in who":                             "1:8: a string where a list or map is wanted",
		"1 in recipient":                         "1:1: a number where a string is wanted",
		"who contains amount":                    "1:14: a number where a string is wanted",
		"none.a == 1":                            "1:6: a nil where a map or list is wanted",
		"who.a == 1":                             "1:5: a string where a map or list is wanted",
		"approved_domains[5] == 1":               "1:17: the list has no such element",
		"approved_domains[-2] == 1":              "1:17: the list has no such element",
		"approved_domains[0.5] == 1":             "1:17: no whole number",
		"approved_domains.x == 1":                "1:18: a string where a number is wanted",
		"amount / 0 == 1":                        "1:8: the result is no number",
		"amount % 2 == 1":                        "1:8: % takes integers",
		"4 % (amount - amount) == 1":             "1:3: the result is no number",
		"1e308 * amount == 1":                    "1:7: the result is no number",
		"who + amount == 'x'":                    "1:7: a number where a string is wanted",
		"ok + amount == 1":                       "1:1: a boolean where a number or string is wanted",
		"-who == 1":                              "1:2: a string where a number is wanted",
		"lower(amount) == 'x'":                   "1:7: a number where a string is wanted",
		"len(amount) == 1":                       "1:1: a number where a string or list or map is wanted",
		"sum(approved_domains) == 1":             "1:1: a string where a number is wanted",
		"max(approved_domains) == 1":             "1:1: a string where a number is wanted",
		"max([[1]], [[2]]) == 1":                 "1:1: a list where a number is wanted",
		"missing == 1 or ok":                     "1:1: there is no missing in the context",
		"missing == 1 and ok":                    "1:1: there is no missing in the context",
		"((who + amount) ?? 1) == 1":             "a number where a string is wanted",
		"(who + amount)?.x == nil":               "a number where a string is wanted",
		"(none == nil ? 1 : ok)":                 "the result is a number, not a boolean",
		"recipient[amount] == 1":                 "1:10: a number where a string is wanted",
		"5 % amount == 1":                        "1:3: % takes integers",
		"max([]) == 1":                           "1:1: no numbers",
		"first([]) == 1":                         "1:1: the list has no such element",
		"all(approved_domains, #)":               "1:23: a string where a boolean is wanted",
		"all(who, true)":                         "1:5: a string where a list is wanted",
		"who matches 'x' and amount matches 'x'": "",
		"amount matches 'x'":                     "1:1: a number where a string is wanted",
		"(none ?? missing) == 1":                 "1:10: there is no missing in the context",
		"none?.a.b == 1 and none.b == 1":         "",
		"recipient?.x.y == 1":                    "1:14: a nil where a map or list is wanted",
		"ok ? who : ok":                          "the result is a string, not a boolean",
		"all(approved_domains, missing == #)":    "1:23: there is no missing in the context",
	} {
		is, err := ask(t, source, people)
		require.False(t, is, source)
		if want == "" {
			require.NoError(t, err, source)
			continue
		}
		var e *Error
		require.ErrorAs(t, err, &e, source)
		require.Contains(t, e.Error(), want, source)
	}
	for _, value := range []any{1, []string{"a"}, struct{}{}} {
		for _, source := range []string{"x == 1", "1 == x", "x in [1, 'a']", "x in ['a']", "x", "x and true", "type(x) == ''", "[x] == [1]"} {
			p, err := Compile(source)
			require.NoError(t, err)
			is, err := p.Eval(&Env{Context: map[string]any{"x": value}})
			require.Error(t, err, "%s of %T", source, value)
			require.False(t, is)
		}
	}
}

// What the decision knows can't be hidden by a field of the context.
func TestNamesOfTheDecisionComeFirst(t *testing.T) {
	const context = `{"agent": "boss", "action": "x", "context": {"agent": "boss"}, "other": 1}`
	for source, want := range map[string]bool{
		`agent == "cece"`:                   true,
		`agent == "boss"`:                   false,
		`action == "email.send"`:            true,
		`context.agent == "boss"`:           true,
		`context.context.agent == "boss"`:   true,
		`context["action"] == "x"`:          true,
		`"other" in context`:                true,
		`any(["boss"], agent == #)`:         false,
		`let a = agent; a == context.agent`: false,
	} {
		is, err := ask(t, source, context)
		require.NoError(t, err, source)
		require.Equal(t, want, is, source)
	}
	p, err := Compile("'x' in context")
	require.NoError(t, err)
	is, err := p.Eval(&Env{})
	require.NoError(t, err)
	require.False(t, is, "no context is an empty one")
}

func TestErrorsShowNoValues(t *testing.T) {
	const secret = "hunter2"
	context := fmt.Sprintf(`{"s": %q, "l": [%q], "m": {%q: %q}}`, secret, secret, secret, secret)
	for _, source := range []string{"s < 1", "s and true", "s", "l[3] == 1", "l + 1 == 2", "m[l] == 1", "m[s].x == 1", "s in s", "lower(l) == ''", "s == x", "all(l, # > 1)", "l[s] == 1"} {
		_, err := ask(t, source, context)
		require.Error(t, err, source)
		require.NotContains(t, err.Error(), secret, source)
	}
}

func TestWhatEvaluationAllocates(t *testing.T) {
	enginetest.SkipUnderRace(t, "the detector allocates")
	for source, most := range map[string]float64{"recipient.domain NOT IN approved_domains": 0, "any(approved_domains, # endsWith '.io')": 1, "amount > 12 and ok": 0, "who in ['bob', 'eve']": 0} {
		p, err := Compile(source)
		require.NoError(t, err)
		env := &Env{Agent: "cece", Context: contextOf(t, people)}
		require.Equal(t, most, testing.AllocsPerRun(100, func() {
			if is, err := p.Eval(env); err != nil || !is {
				t.Error(source, is, err)
			}
		}), source)
	}
}

func TestLetsAndLoopsLeaveNothingBehind(t *testing.T) {
	p, err := Compile(`let x = context.v; any([1], x == 1)`)
	require.NoError(t, err)
	env := &Env{}
	for _, v := range []float64{1, 2, 1} {
		env.Context = map[string]any{"v": v}
		is, err := p.Eval(env)
		require.NoError(t, err)
		require.Equal(t, v == 1, is)
		for _, slot := range env.slots {
			require.Nil(t, slot)
		}
	}
	require.Len(t, strings.Fields(fmt.Sprint(env.slots)), 2)
}
