package main

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `package sample

func keep(list []int, limit int, strict bool) (bool, error) {
	if err := check(list); err != nil {
		return false, err
	}
	if len(list) < limit && (strict || limit >= 3) {
		report(limit)
		list[0] = limit
		return true, nil
	}
	return false, nil
}
`

func TestEveryKindOfChangeIsFound(t *testing.T) {
	found, err := sites("sample/sample.go", []byte(sample))
	require.NoError(t, err)
	var keys []string
	for _, s := range found {
		keys = append(keys, fmt.Sprintf("%d %s: %s", s.line, s.operator, s.source))
		require.Equal(t, "keep", s.function)
	}
	require.Equal(t, []string{
		"4 error ignored: err != nil",
		"5 other answer: false",
		"7 never: len(list) < limit && (strict || limit >= 3)",
		"7 always: len(list) < limit && (strict || limit >= 3)",
		"7 left side true: len(list) < limit",
		"7 right side true: (strict || limit >= 3)",
		"7 boundary: len(list) < limit",
		"7 left side false: strict",
		"7 right side false: limit >= 3",
		"7 boundary: limit >= 3",
		"8 left out: report(limit)",
		"9 left out: list[0] = limit",
		"10 other answer: true",
		"12 other answer: false",
	}, keys)
}

func TestMutantsStandOnTheirLinesAndNest(t *testing.T) {
	found, err := sites("sample/sample.go", []byte(sample))
	require.NoError(t, err)
	for i, s := range found {
		s.id = i + 1
	}
	mutated, err := apply([]byte(sample), found)
	require.NoError(t, err)
	_, err = format.Source(mutated)
	require.NoError(t, err)
	require.Contains(t, string(mutated), "package sample; import stoamutant \"github.com/stoadb/stoa/stoamutant\"\n")
	require.Contains(t, string(mutated), "\t\tif !stoamutant.On(11) { report(limit) }\n")
	require.Equal(t, strings.Count(sample, "\n"), strings.Count(string(mutated), "\n"))
}

func TestThePackagesOfTheTableAreThere(t *testing.T) {
	for name, tests := range testedBy {
		for _, dir := range append([]string{name}, tests...) {
			files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
			require.NoError(t, err)
			require.NotEmpty(t, files, dir)
		}
	}
}

func TestAMutantIsAllowedOnlyWithAReason(t *testing.T) {
	name := filepath.Join(t.TempDir(), "allow.txt")
	write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write("# remark\n\na.go: f: never: x\n\tit is so\n\tand so\nb.go: g: always: y\n\twhy\n")
	allowed, err := readAllowed(name)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.go: f: never: x": "it is so and so", "b.go: g: always: y": "why"}, allowed)
	write("a.go: f: never: x\nb.go: g: always: y\n\twhy\n")
	_, err = readAllowed(name)
	require.ErrorContains(t, err, `nothing says why "a.go: f: never: x" is allowed`)
	write("\twhy\n")
	_, err = readAllowed(name)
	require.ErrorContains(t, err, "allow.txt:1: a reason without a mutant above it")
}

func TestTheAllowListNamesMutantsThatAreThere(t *testing.T) {
	root := filepath.Join("..", "..")
	allowed, err := readAllowed(filepath.Join(root, allowName))
	require.NoError(t, err)
	known := map[string]bool{}
	for pkg := range testedBy {
		names, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			found, err := sites(pkg+"/"+filepath.Base(name), source)
			require.NoError(t, err)
			for _, s := range found {
				known[s.key()] = true
			}
		}
	}
	for key := range allowed {
		require.True(t, known[key], "no such mutant: %s", key)
	}
}

// A patch that does not apply is of code that has changed since.
func TestEveryRuleCanBeSwitchedOff(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: a minimal system has no git; install it")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	rules, err := readRules(root)
	require.NoError(t, err)
	require.NotEmpty(t, rules)
	for _, r := range rules {
		code, err := r.without(root, t.TempDir())
		require.NoError(t, err)
		_, err = format.Source(code)
		require.NoError(t, err, r.name)
		tests, err := filepath.Glob(filepath.Join(root, r.pkg, "*_test.go"))
		require.NoError(t, err)
		found := false
		for _, name := range tests {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			found = found || strings.Contains(string(text), "func "+r.test+"(")
		}
		require.True(t, found, "%s: no test %s", r.name, r.test)
	}
}
