package subject

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

func must(t require.TestingT, pattern string) Filter {
	f, err := Parse(pattern)
	require.NoError(t, err, pattern)
	require.Equal(t, pattern, f.String())
	return f
}

func TestT55WhatFiltersMatch(t *testing.T) {
	keys := []string{"cat", "cat.own1", "cat.own1.a", "cat.own1.b", "cat.own1.a.b", "cat.own2.a", "dog.own1.a", "own1"}
	for pattern, want := range map[string][]string{
		"cat.own1":   {"cat.own1"},
		"cat.*":      {"cat.own1"},
		"cat.own1.*": {"cat.own1.a", "cat.own1.b"},
		"cat.own1.>": {"cat.own1.a", "cat.own1.b", "cat.own1.a.b"},
		"*.*.a":      {"cat.own1.a", "cat.own2.a", "dog.own1.a"},
		"*.own1.a":   {"cat.own1.a", "dog.own1.a"},
		"*.own1.>":   {"cat.own1.a", "cat.own1.b", "cat.own1.a.b", "dog.own1.a"},
		"*":          {"cat", "own1"},
		">":          keys,
		"*.>":        {"cat.own1", "cat.own1.a", "cat.own1.b", "cat.own1.a.b", "cat.own2.a", "dog.own1.a"},
		"bird.>":     nil,
		"ca":         nil,
	} {
		var got []string
		for _, key := range keys {
			if must(t, pattern).Match([]byte(key)) {
				got = append(got, key)
			}
		}
		require.Equal(t, want, got, pattern)
	}
	require.False(t, Filter{}.Match([]byte("a")))
}

func TestT56WhereTheKeysOfAFilterAre(t *testing.T) {
	for pattern, want := range map[string]struct {
		start, end, last string
		exact            bool
	}{
		"a.b":       {"a.b", "a.b\x00", "b", true},
		"a.*":       {"a.", "a/", "", false},
		"a.b.>":     {"a.b.", "a.b/", "", false},
		"*.*.id":    {"", "", "id", false},
		"a.*.id":    {"a.", "a/", "id", false},
		"a.*.b.>":   {"a.", "a/", "", false},
		">":         {"", "", "", false},
		"*":         {"", "", "", false},
		"a.b.c.*.e": {"a.b.c.", "a.b.c/", "e", false},
	} {
		p := must(t, pattern).Plan()
		require.Equal(t, want.start, string(p.Start), pattern)
		require.Equal(t, want.end, string(p.End), pattern)
		require.Equal(t, want.end == "", p.End == nil, pattern)
		require.Equal(t, want.last, p.Last, pattern)
		require.Equal(t, want.exact, p.Exact, pattern)
	}
	for _, f := range []Filter{{}, must(t, "c*.x"), must(t, "c*.*"), must(t, "*.a*.>"), must(t, "a>")} {
		p := f.Plan()
		require.NotNil(t, p.End)
		require.Zero(t, bytes.Compare(p.Start, p.End), "nothing is there")
	}
}

func TestT57IllegalFilters(t *testing.T) {
	for pattern, byte := range map[string]int{
		"": 0, "a..b": 2, ">.a": 0, "a.>.b": 2, ".a": 0, "a.": 1, "a b": 1, "a.ü": 2, "$x.>": 0, "a>b": 1, ">>": 0, "*.": 1, "a:b.*": 1,
		strings.Repeat("*.", MaxKey/2) + "*": MaxKey,
	} {
		_, err := Parse(pattern)
		require.ErrorIs(t, err, ErrFilter, pattern)
		require.Equal(t, byte, at(err), "%q: %s", pattern, err)
	}
	for _, pattern := range []string{"c*.x", "*c.x", "**", "a.b*", "a>", "*>", "a.b>"} {
		f := must(t, pattern)
		for _, key := range []string{"c", "c.x", "ca.x", "a.b", "a", "a.bc", "cc.x"} {
			require.False(t, f.Match([]byte(key)), "%s %s", pattern, key)
		}
	}
}

// matches is what a filter matches, said another way: by which tokens may stand where.
func matches(pattern, key string) bool {
	want, have := strings.Split(pattern, "."), strings.Split(key, ".")
	if want[len(want)-1] == ">" && len(have) >= len(want) {
		want, have = want[:len(want)-1], have[:len(want)-1]
	}
	return slices.EqualFunc(want, have, func(want, have string) bool { return want == "*" || want == have })
}

// A filter matches what it is said to; what matches is where the plan says, and a set matches
// what one of its filters does.
func TestT61FiltersAndSetsAgainstANaiveMatcher(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "ab", "A", "=", "a/"})
	wild := rapid.OneOf(token, token, rapid.SampledFrom([]string{"*", "*", "*", "a*"}))
	enginetest.Check(t, 20_000, func(t *rapid.T) {
		var filters []Filter
		var patterns []string
		for range rapid.IntRange(0, 5).Draw(t, "filters") {
			tokens := rapid.SliceOfN(wild, 1, 4).Draw(t, "tokens")
			if rapid.IntRange(0, 3).Draw(t, "rest") == 0 {
				tokens = append(tokens, ">")
			}
			patterns = append(patterns, strings.Join(tokens, "."))
			filters = append(filters, must(t, patterns[len(patterns)-1]))
		}
		set, err := NewSet(filters...)
		require.NoError(t, err)
		ranges := set.Ranges()
		for _, r := range ranges {
			require.True(t, r.End == nil || bytes.Compare(r.Start, r.End) < 0, "of something")
		}
		for i := 1; i < len(ranges); i++ {
			require.NotNil(t, ranges[i-1].End)
			require.LessOrEqual(t, bytes.Compare(ranges[i-1].End, ranges[i].Start), 0, "apart, and in order")
		}
		for range 5 {
			key := strings.Join(rapid.SliceOfN(token, 1, 5).Draw(t, "key"), ".")
			any := false
			for i, f := range filters {
				is := matches(patterns[i], key)
				any = any || is
				require.Equal(t, is, f.Match([]byte(key)), "%s %s", patterns[i], key)
				if p := f.Plan(); is {
					require.True(t, p.has(key), "%s %s", patterns[i], key)
					require.True(t, p.Last == "" || strings.HasSuffix("."+key, "."+p.Last))
					require.True(t, !p.Exact || string(p.Start) == key)
				}
			}
			require.Equal(t, any, set.Match([]byte(key)), "%q %s", patterns, key)
			if any {
				require.True(t, slices.ContainsFunc(ranges, func(r Range) bool { return r.has(key) }), "%q %s", patterns, key)
			}
		}
	})
}

func (r Range) has(key string) bool {
	return key >= string(r.Start) && (r.End == nil || key < string(r.End))
}

func TestT61AThousandFilters(t *testing.T) {
	var filters []Filter
	for i := range MaxFilters {
		filters = append(filters, must(t, fmt.Sprintf("*.owner%d.>", i)))
	}
	set, err := NewSet(filters...)
	require.NoError(t, err)
	require.True(t, set.Match([]byte("cat.owner999.a")))
	require.False(t, set.Match([]byte("cat.owner1000.a")))
	require.Equal(t, []Range{{Start: []byte{}}}, set.Ranges())
	_, err = NewSet(append(filters, must(t, "a"))...)
	require.ErrorIs(t, err, ErrFilter)

	// A key costs about as much as with one filter, where to try each would cost a thousand times.
	few, err := NewSet(filters[0])
	require.NoError(t, err)
	key := []byte("cat.owner1000.a")
	cost := func(s *Set) time.Duration {
		best := time.Hour
		for range 20 {
			begun := time.Now()
			found := false
			for range 1000 {
				found = s.Match(key) || found
			}
			require.False(t, found)
			best = min(best, time.Since(begun))
		}
		return best
	}
	require.Less(t, cost(set), 50*cost(few))
	if !enginetest.UnderRace {
		require.Zero(t, testing.AllocsPerRun(100, func() { set.Match([]byte("cat.owner1000.a.and.more.than.thirty.two.bytes")) }))
	}
}

// Filters with many ways to match are still no more work than they have tokens.
func TestT61FiltersWithStarsInManyPlaces(t *testing.T) {
	var filters []Filter
	for i := range 512 {
		tokens := make([]string, 10)
		for bit := range 9 {
			tokens[bit] = []string{"a", "*"}[i>>bit&1]
		}
		tokens[9] = "b"
		filters = append(filters, must(t, strings.Join(tokens, ".")))
	}
	set, err := NewSet(filters...)
	require.NoError(t, err)
	require.True(t, set.Match([]byte("a.a.a.a.a.a.a.a.a.b")))
	require.False(t, set.Match([]byte("a.a.a.a.a.a.a.a.a.a")))
	require.False(t, set.Match([]byte("a.a.a.a.a.a.a.a.a")))
}

func FuzzFilter(f *testing.F) {
	for _, seed := range [][2]string{{"a.*", "a.b"}, {"a.>", "a.b.c"}, {"*.*.id", "a.b.id"}, {"c*.x", "c.x"}, {">", "a"}, {"a..b", "a:b"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, key string) {
		if back, err := Unescape(Escape(key)); err != nil || back != key {
			t.Fatalf("%q comes back as %q: %v", key, back, err)
		}
		if text, err := Unescape(key); err == nil && Escape(text) != key {
			t.Fatalf("%q is not the token of what it is taken for", key)
		}
		if bytes, err := ParseSegment(key); err == nil && Segment(bytes) != key {
			t.Fatalf("%q is not the segment of its bytes", key)
		}
		filter, err := Parse(pattern)
		if err != nil || Check(key) != nil {
			return
		}
		set, err := NewSet(filter)
		if err != nil {
			t.Fatal(err)
		}
		want := matches(pattern, key)
		if filter.Match([]byte(key)) != want || set.Match([]byte(key)) != want {
			t.Fatalf("%q and %q: %t is wrong", pattern, key, !want)
		}
		if want && !filter.Plan().has(key) {
			t.Fatalf("%q is not where %q says", key, pattern)
		}
	})
}

func BenchmarkSetMatch(b *testing.B) {
	var filters []Filter
	for i := range MaxFilters {
		filters = append(filters, must(b, fmt.Sprintf("*.owner%d.>", i)))
	}
	set, err := NewSet(filters...)
	require.NoError(b, err)
	for b.Loop() {
		set.Match([]byte("cat.owner999.a"))
	}
}
