package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

func TestB19PatternsAndActions(t *testing.T) {
	for _, tc := range []struct {
		pattern, action string
		matches         bool
	}{
		{"notion.*", "notion.create_page", true},
		{"notion.*", "notion", false},
		{"notion.*", "notion.a.b", true},
		{"notion.*", "notionx.a", false},
		{"notion.*", "notion.", false},
		{"notion.a.*", "notion.a.b", true},
		{"notion.a.*", "notion.b.a", false},
		{"*", "anything", true},
		{"*", "a.b", true},
		{"*", "", false},
		{"a.b", "a.b", true},
		{"a.b", "a.b.c", false},
		{"a.b", "a", false},
		{"a.b", "A.b", false},
		{"Az.a_b-9.z0", "Az.a_b-9.z0", true},
		{"A.*", "a.b", false},
	} {
		p, err := ParsePattern(tc.pattern)
		require.NoError(t, err, tc.pattern)
		require.Equal(t, tc.pattern, p.String())
		require.Equal(t, tc.matches, p.Matches(tc.action), "%s of %s", tc.action, tc.pattern)
	}
	for _, refused := range []string{"a.*.c", "", "a.", ".a", ".", "..", "a..b", "*.a", "**", "a*", "*.*", ".*", "a.*.*", "a.b*", "a b", "a\n", "ä", "a:b", "a/b", "a@b", "a[b", "a`b", "a{b", strings.Repeat("a", MaxPattern+1), strings.Repeat("a", MaxPattern) + ".*"} {
		_, err := ParsePattern(refused)
		require.Error(t, err, refused)
	}
	require.False(t, Pattern{}.Matches(""), "the zero pattern matches nothing")
	for _, longest := range []string{strings.Repeat("a", MaxPattern-2) + ".*", strings.Repeat("a", MaxPattern)} {
		_, err := ParsePattern(longest)
		require.NoError(t, err)
	}
}

// drawName draws the name of an action of few words, so that names meet.
func drawName(t *rapid.T) string {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 1, 3).Draw(t, "words")
	return strings.Join(words, ".")
}

func drawPattern(t *rapid.T) Pattern {
	text := "*"
	if !rapid.Bool().Draw(t, "everything") {
		text = drawName(t) + rapid.SampledFrom([]string{"", ".*"}).Draw(t, "below")
	}
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A pattern covers another if and only if it matches all that the other does: one more
// segment than any pattern has tells.
func TestCoversIsMatchingAllOfIt(t *testing.T) {
	var names []string
	words := []string{"a", "b", "ab", "c"}
	level := []string{""}
	for range 4 {
		var next []string
		for _, name := range level {
			for _, word := range words {
				next = append(next, strings.TrimPrefix(name+"."+word, "."))
			}
		}
		names, level = append(names, next...), next
	}
	enginetest.Check(t, 300, func(t *rapid.T) {
		p, q := drawPattern(t), drawPattern(t)
		all := true
		for _, name := range names {
			all = all && (!q.Matches(name) || p.Matches(name))
		}
		require.Equal(t, all, p.Covers(q), "%s of %s", q, p)
	})
	for _, covers := range [][2]string{{"*", "*"}, {"*", "a"}, {"*", "a.*"}, {"a.*", "a.*"}, {"a.*", "a.b"}, {"a.*", "a.b.*"}, {"a.b", "a.b"}} {
		require.True(t, Pattern{covers[0]}.Covers(Pattern{covers[1]}), covers)
	}
	for _, not := range [][2]string{{"a.*", "*"}, {"a.*", "a"}, {"a", "a.*"}, {"a.b", "a.*"}, {"a.b.*", "a.*"}, {"a", "b"}, {"a.*", "b.c.*"}, {"*", ""}} {
		require.False(t, Pattern{not[0]}.Covers(Pattern{not[1]}), not)
	}
}

func TestB18PatternsOfAnAction(t *testing.T) {
	require.Equal(t, []Pattern{{"email.send"}, {"email.*"}, {"*"}}, PatternsOf("email.send"))
	require.Equal(t, []Pattern{{"email"}, {"*"}}, PatternsOf("email"))
	enginetest.Check(t, 300, func(t *rapid.T) {
		action, p := drawName(t), drawPattern(t)
		require.Equal(t, p.Matches(action), slices.Contains(PatternsOf(action), p), "%s of %s", action, p)
	})
}
