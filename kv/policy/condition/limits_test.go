package condition

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
)

// cheap runs f and holds it to 50 ms of processor time and 10 MiB. Since collections of
// garbage count too, and caches that others have emptied, the best of ten runs counts.
func cheap(t *testing.T, what string, f func()) {
	t.Helper()
	var took time.Duration
	var bytes uint64
	for range 10 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := processorTime(t)
		f()
		took = processorTime(t) - began
		runtime.ReadMemStats(&after)
		if bytes = after.TotalAlloc - before.TotalAlloc; took < 50*time.Millisecond {
			break
		}
	}
	require.Less(t, bytes, uint64(10<<20), what)
	require.Less(t, took, 50*time.Millisecond, what)
}

// processorTime is what this process has taken so far.
func processorTime(t *testing.T) time.Duration {
	var use syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// A value that is its own alternative is compiled and asked once: else it would be 2 to the power of its depth.
func TestNestedAlternativesTakeNoLonger(t *testing.T) {
	p, err := Compile(strings.Repeat("(", 60) + "a" + strings.Repeat(" ?: b)", 60))
	require.NoError(t, err)
	for _, a := range []bool{false, true} {
		for _, b := range []bool{false, true} {
			is, err := p.Eval(&Env{Context: map[string]any{"a": a, "b": b}})
			require.NoError(t, err)
			require.Equal(t, a || b, is)
		}
	}
}

func TestB30TheSourceIsBounded(t *testing.T) {
	enginetest.SkipUnderRace(t, "one goroutine, and its time is measured")
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20)) // a deeper one ends the process
	for what, tc := range map[string]struct{ source, want string }{
		"4 KiB and a byte":  {"true" + strings.Repeat(" ", MaxSource-3), "at most 4096 bytes"},
		"10,000 brackets":   {strings.Repeat("(", 10_000) + "true" + strings.Repeat(")", 10_000), "at most 4096 bytes"},
		"2,000 brackets":    {strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 2000), "nested too deep"},
		"open brackets":     {strings.Repeat("(", 4000), "nested too deep"},
		"lists":             {strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + " == 1", "nested too deep"},
		"maps":              {strings.Repeat("{a:", 1000), "nested too deep"},
		"not":               {strings.Repeat("!", 4000) + "true", "nested too deep"},
		"NOT":               {strings.Repeat("NOT ", 1000) + "true", "nested too deep"},
		"minus":             {strings.Repeat("-", 4000) + "1 == 1", "nested too deep"},
		"plus":              {"x == " + strings.Repeat("+", 4000) + "1", "nested too deep"},
		"if else":           {strings.Repeat("true?true:", 400) + "true", "nested too deep"},
		"short if else":     {strings.Repeat("x?:", 1000) + "true", "nested too deep"},
		"if":                {strings.Repeat("if x {x} else ", 200) + "{x}", "nested too deep"},
		"let":               {strings.Repeat("let x=1;", 500) + "true", "nested too deep"},
		"power":             {"1" + strings.Repeat("**1", 1000) + " == 1", "nested too deep"},
		"caret":             {"1" + strings.Repeat("^1", 1000) + " == 1", "nested too deep"},
		"operators":         {"true" + strings.Repeat("&&true", 600), "at most 1000 nodes"},
		"elements":          {"x in [1" + strings.Repeat(",1", 1500) + "]", "at most 1000 nodes"},
		"a chain of fields": {"x" + strings.Repeat(".x", 1500), "at most 1000 nodes"},
		"a range":           {"1 in 1..1e8", "no operator .."},
		"a large pattern":   {"x matches '(a{1000}){1000}'", "invalid repeat count"},
		"large patterns":    {"x matches '" + strings.Repeat("a{900}", 600) + "'", "longer than 2000 instructions"},
		"many patterns":     {"x matches 'a{900}' or x matches 'a{900}' or x matches 'a{900}'", "longer than 2000 instructions"},
		"one too many":      {"x matches 'a{1000}' or x matches 'b'", "longer than 2000 instructions"},
		"nested repeats":    {"x matches '((a{9}){9}){9}" + strings.Repeat("(b*)", 400) + "'", "longer than 2000 instructions"},
		"classes":           {"x matches `" + strings.Repeat(`\pL`, 100) + "`", "longer than 2000 instructions"},
	} {
		cheap(t, what, func() {
			_, err := Compile(tc.source)
			require.ErrorContains(t, err, tc.want, what)
			require.Less(t, len(err.Error()), 300, what)
		})
	}
	for what, source := range map[string]string{
		"4 KiB":        "true" + strings.Repeat(" ", MaxSource-4),
		"64 brackets":  strings.Repeat("(", 64) + "true" + strings.Repeat(")", 64),
		"brackets":     strings.Repeat("(true) and ", 300) + "true",
		"in quotes":    strings.Repeat("'(' != '!' and ", 200) + "true",
		"signs":        strings.Repeat("(-1) < 0 and ", 160) + "true",
		"a pattern":    "x or 'a' matches 'a{1000}'",
		"64 nots":      strings.Repeat("!", 64) + "true",
		"not in":       strings.Repeat("1 NOT IN [2] and ", 150) + "true",
		"minuses":      "1" + strings.Repeat("-1", 400) + " < 1",
		"1000 nodes":   "true" + strings.Repeat(" or true", 498) + " or x",
		"a long list":  "'x' not in ['a'" + strings.Repeat(",'a'", 900) + "]",
		"64 lets":      strings.Repeat("let x=1;", 64) + "true",
		"64 questions": strings.Repeat("true?true:", 64) + "true",
	} {
		cheap(t, what, func() {
			p, err := Compile(source)
			require.NoError(t, err, what)
			is, err := p.Eval(&Env{Context: map[string]any{"x": true}})
			require.NoError(t, err, what)
			require.True(t, is, what)
		})
	}
}

func TestB30TheWorkIsBounded(t *testing.T) {
	enginetest.SkipUnderRace(t, "one goroutine, and its time is measured")
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	thousand := make([]any, 1000)
	texts := make([]any, 1000)
	for i := range thousand {
		thousand[i] = float64(i)
		texts[i] = fmt.Sprint("text ", i)
	}
	var deep any = 1.0
	for range 1000 {
		deep = []any{deep}
	}
	fields := map[string]any{}
	for i := range 1000 {
		fields[fmt.Sprint(i)] = thousand
	}
	context := map[string]any{"l": thousand, "texts": texts, "long": strings.Repeat("a", 60_000), "deep": deep, "deep2": []any{deep.([]any)[0]}, "m": fields, "m2": fields}
	doubled := "let a0 = long + long; "
	for i := range 40 {
		doubled += fmt.Sprintf("let a%d = a%d + a%d; ", i+1, i, i)
	}
	for source, stopped := range map[string]bool{
		"all(l, all(l, # >= 0))":                        true,
		"all(l, any(l, # == 999))":                      true,
		"all(l, # in l)":                                true,
		"all(l, all(l, all(l, true)))":                  true,
		"len(map(l, map(l, #))) == 1":                   true,
		"len(filter(l, len(filter(l, true)) > 0)) == 1": true,
		"len(map(l, [#, #, #, #, #, #, #, #, #])) < 2":  false,
		"count(l, l == l) == 1000":                      true,
		"m == m2":                                       true,
		"all(l, m == m2)":                               true,
		"deep == deep2":                                 false,
		doubled + "a40 == 'x'":                          true,
		"all(l, long + long != long)":                   true,
		"all(l, lower(long) == long)":                   true,
		"all(l, upper(long) != long)":                   true,
		"all(l, trim(long) == long)":                    true,
		"all(l, long not contains 'b')":                 true,
		"all(l, long <= long)":                          true,
		"all(l, long == long + '')":                     true,
		"all(l, len(long) > 0)":                         true,
		"all(l, len(split(long, '')) > 0)":              true,
		"all(l, hasPrefix(long, long))":                 true,
		"all(l, long startsWith long)":                  true,
		"all(l, long matches 'a*b')":                    true,
		"long matches '(a*)*(a*)*(a*)*b'":               true,
		"all(l, max(l) > 0)":                            true,
		"all(l, sum(l) > 0)":                            true,
		"all(l, none(texts, # contains 'z'))":           true,
		"all(l, # >= 0 and true and true and true)":     false,
		"all(l, # in [1, 2, 3] or # >= 0)":              false,
		"all(texts, # startsWith 'text')":               false,
	} {
		p, err := Compile(source)
		require.NoError(t, err, source)
		cheap(t, source, func() {
			_, err := p.Eval(&Env{Context: context})
			if stopped {
				require.ErrorContains(t, err, "steps of work", source)
			} else {
				require.NoError(t, err, source)
			}
		})
	}
}

// Conditions that share their steps get what is left, and say so by failing.
func TestSeveralConditionsShareTheirSteps(t *testing.T) {
	p, err := Compile("all(l, # >= 0)")
	require.NoError(t, err)
	env := &Env{Context: map[string]any{"l": make([]any, 10)}}
	for i := range env.Context["l"].([]any) {
		env.Context["l"].([]any)[i] = 1.0
	}
	steps := 65
	for range 2 {
		is, err := p.EvalWithin(env, &steps)
		require.NoError(t, err)
		require.True(t, is)
	}
	require.Equal(t, 5, steps)
	for range 2 {
		_, err = p.EvalWithin(env, &steps)
		require.ErrorContains(t, err, "steps of work")
		require.Zero(t, steps)
	}
	is, err := p.Eval(env)
	require.NoError(t, err)
	require.True(t, is)
}

// What each form costs beyond its tree, of lists of ten elements and texts of 160 bytes. With a step
// less it fails.
func TestStepsOfTheForms(t *testing.T) {
	ten := make([]any, 10)
	for i := range ten {
		ten[i] = 1.0
	}
	context := map[string]any{"l": ten, "m": map[string]any{"a": ten, "b": 1.0}, "s": strings.Repeat("a", 160), "t": strings.Repeat("a", 320)}
	for source, want := range map[string]int{
		"true":                                  0,
		"not (1 + 2 < 3)":                       0,
		"all(l, true)":                          10 * 1,
		"all(l, # == 1)":                        10 * 3,
		"all(l, abs(#) == 1)":                   10 * 4,
		"all(l, (# == 1 ? true : false))":       10 * 6,
		"all(l, not (# == 2))":                  10 * 4,
		"all(l, (let x = #; x == 1))":           10 * 5,
		"all(l, m.b == #)":                      10 * 5,
		"all(l, m?.b == #)":                     10 * 6,
		"all(l, # in [1, 2])":                   10 * (5 + 1),
		"all(l, min(1, #, 2) == 1)":             10 * (6 + 3),
		"all(l, [#] == [1])":                    10 * (5 + 1 + 1),
		"all(l, s matches '^a')":                10*3 + 10*161*3,
		"any(l, all(l, # == 1))":                5 + 10*3,
		"len(filter(l, # == 1)) == 10":          10*3 + 10,
		"len(filter(l, # == 2)) == 0":           10 * 3,
		"len(map(l, #)) == 10":                  10*1 + 10,
		"count(l, # == 1) == 10":                10 * 3,
		"l == l":                                10,
		"m == m":                                12,
		"[1, [2, 3]] == [1, [2, 3]]":            4,
		"2 in l":                                10,
		"1 in l":                                1,
		"'a' in ['a', 'b']":                     0,
		"'a' in m":                              0,
		"s == t":                                10,
		"s < t":                                 10,
		"t contains s":                          20,
		"hasPrefix(t, s)":                       10,
		"hasSuffix(t, s)":                       10,
		"len(s) == 160":                         10,
		"upper(s) != lower(s) and trim(s) == s": 11*3 + 10 + 10,
		"len(split(s, 'b')) == 1":               161,
		"len(s + s) == 320":                     21 + 20,
		"sum(l) == 10":                          10,
		"max(l, 2) == 2":                        12,
	} {
		p, err := Compile(source)
		require.NoError(t, err, source)
		steps := want
		_, err = p.EvalWithin(&Env{Context: context}, &steps)
		require.NoError(t, err, source)
		require.Zero(t, steps, source)
		if want > 0 {
			steps = want - 1
			_, err = p.EvalWithin(&Env{Context: context}, &steps)
			require.ErrorContains(t, err, "steps of work", source)
		}
	}
}

func TestB31TheSameContextHasTheSameAnswer(t *testing.T) {
	for _, source := range []string{"now()", "now() > 1", "date('2025-01-01') == 1", "duration('1s') == 1", "timezone('UTC') == 1", "random() < 1", "rand() < 1", "uuid() == 'x'", "env('HOME') == '/'", "$env.x == 1", "keys(m) == 1", "values(m) == 1", "toPairs(m) == 1"} {
		p, err := Compile(source)
		if err == nil {
			_, err = p.Eval(&Env{Context: map[string]any{"m": map[string]any{}}})
		}
		require.Error(t, err, source)
	}
	context := contextOf(t, `{"m": {"a": 1, "b": [2], "c": "x", "d": {"e": 1}}, "l": [3, 1, 2], "s": "b"}`)
	for _, source := range []string{"m == context.m and s in m", "max(l) == 3 and len(m) > 3", "m.x == 1", "any(l, # == 2) and s < 'c'"} {
		p, err := Compile(source)
		require.NoError(t, err)
		env := &Env{Context: context}
		first, failed := p.Eval(env)
		for range 1000 {
			is, err := p.Eval(env)
			require.Equal(t, first, is)
			require.Equal(t, failed, err)
		}
	}
}

// A condition has as many nodes as it may, and none more.
func TestTheLastNodeOfACondition(t *testing.T) {
	nodes := func(n int) string { // 1 + 1 + 1 > 0: a node for each value and each operator
		if n%2 == 0 {
			return "!(1" + strings.Repeat("+1", (n-4)/2) + " > 0)"
		}
		return "1" + strings.Repeat("+1", (n-3)/2) + " > 0"
	}
	for n, ok := range map[int]bool{MaxNodes - 1: true, MaxNodes: true, MaxNodes + 1: false, MaxNodes + 2: false} {
		_, err := Compile(nodes(n))
		if ok {
			require.NoError(t, err, "%d nodes", n)
		} else {
			require.ErrorContains(t, err, fmt.Sprintf("at most %d nodes", MaxNodes), "%d nodes", n)
		}
	}
}
