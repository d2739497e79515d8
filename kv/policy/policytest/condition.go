package policytest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

func b19PatternsAndActions(t *testing.T, h *Host) {
	for _, tc := range []struct {
		pattern, action string
		matches         bool
	}{
		{"notion.*", "notion.create_page", true}, {"notion.*", "notion", false}, {"notion.*", "notion.a.b", true}, {"notion.*", "notionx.a", false},
		{"*", "anything", true}, {"a.b", "a.b", true}, {"a.b", "a.b.c", false}, {"a.b", "A.b", false}, {"A.*", "a.b", false},
	} {
		w := h.world()
		w.delegate("del-20251130-d001", []string{tc.pattern}, nil)
		require.Equal(t, tc.matches, w.may(tc.action).Allowed, "%s of %s", tc.action, tc.pattern)
		w.delegate("del-20251130-d001", []string{"*"}, nil)
		w.policy("pol-p1", tc.pattern, rule("deny", 1, "true"))
		require.Equal(t, tc.matches, !w.may(tc.action).Allowed, "%s of %s", tc.action, tc.pattern)
	}
	for _, scope := range []string{"a.*.c", "a.", ".a", "", "**", "a*", "a b", "ä"} {
		_, err := h.Try(policy.Policies, SomePolicy(scope, "true", "allow", 1))
		refused(t, err, record.CodeValidation, "scope")
	}
}

// conditions are those of the rows, and whether they hold.
var conditions = []struct {
	source, context string
	holds           bool
}{
	{"true", `{}`, true}, {"false", `{}`, false},
	{"recipient.domain NOT IN approved_domains", `{"recipient": {"domain": "evil.com"}, "approved_domains": ["a.io"]}`, true},
	{"recipient.domain NOT IN approved_domains", `{"recipient": {"domain": "a.io"}, "approved_domains": ["a.io"]}`, false},
	{"x not in l AND y IN l", `{"x": 1, "y": 2, "l": [2]}`, true}, {"x NOT IN l and y in l", `{"x": 1, "y": 2, "l": [2]}`, true},
	{"x == 1 OR x == 2", `{"x": 2}`, true}, {"x == 1 or x == 2", `{"x": 3}`, false}, {"s == 'a AND b'", `{"s": "a AND b"}`, true}, {"s == 'a and b'", `{"s": "a AND b"}`, false},
	{"x == 1", `{"x": 1}`, true}, {"x != 1", `{"x": 1}`, false}, {"x < 2", `{"x": 1.5}`, true}, {"x <= 2", `{"x": 2}`, true}, {"x > 2", `{"x": 2}`, false}, {"x >= 2", `{"x": 2}`, true},
	{"s == 'b'", `{"s": "b"}`, true}, {"s != 'b'", `{"s": "b"}`, false}, {"s < 'b'", `{"s": "a"}`, true}, {"s >= 'b'", `{"s": "a"}`, false},
	{"(x == 1 or x == 2) and not (y == 1)", `{"x": 2, "y": 2}`, true}, {"x == 1 or x == 2 and y == 1", `{"x": 1, "y": 2}`, true},
	{"'a' in l", `{"l": ["a", "b"]}`, true}, {"'k' in m", `{"m": {"k": null}}`, true}, {"'v' in m", `{"m": {"k": "v"}}`, false},
	{"s contains 'ell'", `{"s": "hello"}`, true}, {"s startsWith 'hel'", `{"s": "hello"}`, true}, {"s startsWith 'ell'", `{"s": "hello"}`, false}, {"s endsWith 'lo'", `{"s": "hello"}`, true},
	{"s == 'ü'", `{"s": "ü"}`, true}, {"n == 9007199254740991", `{"n": 9007199254740991}`, true},
}

// Each denies where it holds, whoever asks and in which words.
func b24B25B26B27WhatConditionsSay(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	for _, tc := range conditions {
		w.policy("pol-p1", "a.b", rule("deny", 1, tc.source))
		d := w.may("a.b", tc.context)
		require.Equal(t, tc.holds, !d.Allowed, "%s of %s: %s", tc.source, tc.context, d.Reason)
		require.NotContains(t, d.Reason, "failed", tc.source)
	}
}

func b28MistakesOfConditionsHaveTheirPlace(t *testing.T, h *Host) {
	for source, place := range map[string]string{"a ==": "1:4", "a ==\n  and b": "2:3", "a b": "1:3", "(a": "1:", "a = b": "1:"} {
		_, err := h.Try(policy.Policies, SomePolicy("a.b", source, "allow", 1))
		refused(t, err, record.CodeValidation, "rules.0.condition")
		require.Contains(t, err.Error(), place, source)
	}
	require.Empty(t, h.IDs("policy:active"))
}

// Sources that are too much are refused when they are stored, and work that is too much
// ends, and denies.
func b30ConditionsAreBounded(t *testing.T, h *Host) {
	for what, source := range map[string]string{
		"a long one":   "s == '" + strings.Repeat("x", 4<<10) + "'",
		"parentheses":  strings.Repeat("(", 10_000) + "true" + strings.Repeat(")", 10_000),
		"few of them":  strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 2000),
		"a long range": "all(1..100000000, # > 0)",
	} {
		d, err := h.Try(policy.Policies, SomePolicy("a.b", source, "allow", 1))
		refused(t, err, record.CodeValidation, "rules.0.condition")
		require.Empty(t, d.ID, what)
	}
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.policy("pol-p1", "a.b", rule("allow", 1, "all(l, all(l, # == 1))"))
	d := w.may("a.b", `{"l": [1`+strings.Repeat(",1", 999)+`]}`)
	require.Equal(t, policy.Denied, d.Result)
	require.Contains(t, d.Reason, "steps of work")
}

func b31TheSameContextHasTheSameAnswer(t *testing.T, h *Host) {
	for _, source := range []string{"now() > 1", "random() > 1", "date('2025-11-30') == 1"} {
		_, err := h.Try(policy.Policies, SomePolicy("a.b", source, "allow", 1))
		refused(t, err, record.CodeValidation, "rules.0.condition")
	}
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.policy("pol-p1", "a.b", rule("deny", 1, "any(m, # == 'x') and len(l) == 3"), rule("require_human_approval", 1, "'b' in m"))
	context := `{"l": [3, 1, 2], "m": {"c": "y", "a": "x", "b": "z"}}`
	first := w.may("a.b", context)
	for range enginetest.Scale(100) {
		require.Equal(t, first, w.may("a.b", context))
	}
}
