package enginetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

var ranges = []promise{
	{"a range is what lies between its bounds, in both directions, up to its limit", allRanges},
	{"a range over many pages is whole and in order", func(t *trial) {
		want := t.fill(t.col, "k", Scale(4000), 120)
		require.Equal(t, want, t.list(t.db, t.col, t.bounds("", "")))
		r := t.bounds("", "")
		r.Reverse = true
		require.Equal(t, reversed(want), t.list(t.db, t.col, r))
		for _, limit := range []int{1, 31, 32, 33, 500} {
			r.Limit = limit
			require.Equal(t, reversed(want)[:min(limit, len(want))], t.list(t.db, t.col, r))
		}
	}},
	{"entries larger than a page are handed out one by one", func(t *trial) {
		want := t.fill(t.col, "k", 5, 300<<10)
		require.Equal(t, want, t.list(t.db, t.col, t.bounds("", "")))
		r := t.bounds("", "")
		r.Reverse, r.Limit = true, 2
		require.Equal(t, reversed(want)[:2], t.list(t.db, t.col, r))
	}},
	{"the keys with a prefix end where its successor begins", prefixed},
	{"an end of no bytes is before every key", func(t *trial) {
		t.put(t.col, "", "0", "a", "1")
		for _, reverse := range []bool{false, true} {
			require.Empty(t, t.list(t.db, t.col, engine.Range{Start: t.cfg.Space.Prefix, End: []byte{}, Reverse: reverse}))
		}
	}},
	{"bounds may be changed once iterate has returned", func(t *trial) {
		want := t.fill(t.col, "k", 200, 10)
		for _, reverse := range []bool{false, true} {
			start, end := t.key("k000010"), t.key("k000190")
			it := t.iterate(t.db, t.col, engine.Range{Start: start, End: end, Reverse: reverse})
			for i := range start {
				start[i], end[i] = 0xEE, 0xEE
			}
			got := t.rest(it)
			require.NoError(t, it.Err())
			if reverse {
				got = reversed(got)
			}
			require.Equal(t, want[10:190], got)
		}
	}},
	{"deleted keys are not in a range", func(t *trial) {
		t.put(t.col, "a", "1", "b", "2", "c", "3", "d", "4", "e", "5")
		b := batch()
		b.Delete(t.col, t.key("a"))
		b.Delete(t.col, t.key("c"))
		b.DeleteRange(t.col, t.key("e"), t.key("f"))
		require.NoError(t, t.db.Apply(b))
		require.Equal(t, []string{"b=2", "d=4"}, t.list(t.db, t.col, t.bounds("", "")))
		r := t.bounds("", "")
		r.Reverse, r.Limit = true, 1
		require.Equal(t, []string{"d=4"}, t.list(t.db, t.col, r))
	}},
}

func allRanges(t *trial) {
	keys := []string{"", "\x00", "a", "a\x00", "a\xFF", "b", "b\xFF\xFF", "c"}
	m := make(model)
	for i, k := range keys {
		t.put(t.col, k, fmt.Sprint(i))
		m[row{t.col, string(t.key(k))}] = fmt.Sprint(i)
	}
	var bounds [][]byte
	for _, k := range append(keys, "0", "a\x01", "d", "\xFF") {
		bounds = append(bounds, t.key(k))
	}
	starts, ends := bounds, bounds
	if t.open() {
		starts, ends = append(bounds, nil), append(bounds, nil)
	}
	for _, start := range starts {
		for _, end := range ends {
			for _, reverse := range []bool{false, true} {
				for _, limit := range []int{0, 1, 3, len(keys), len(keys) + 1} {
					r := engine.Range{Start: start, End: end, Reverse: reverse, Limit: limit}
					require.Equal(t, m.list(t, t.col, r), t.list(t.db, t.col, r), "%q to %q, reverse %v, limit %d", start, end, reverse, limit)
				}
			}
		}
	}
}

func prefixed(t *trial) {
	t.put(t.col, "a", "1", "a\xFE", "2", "a\xFF", "3", "a\xFF\x00", "4", "a\xFF\xFF", "5", "a\xFF\xFF\xFF", "6", "b", "7", "\xFF", "8", "\xFF\xFF", "9")
	for prefix, want := range map[string]int{"a": 6, "a\xFF": 4, "a\xFF\xFF": 2, "a\xFF\xFF\xFF": 1, "b": 1, "c": 0, "\xFF": 2, "\xFF\xFF": 1, "\xFF\xFF\xFF": 0} {
		for _, reverse := range []bool{false, true} {
			r := engine.Prefixed(t.key(prefix))
			r.Reverse = reverse
			require.Len(t, t.list(t.db, t.col, r), want, "%q", prefix)
		}
	}
	require.Len(t, t.list(t.db, t.col, engine.Prefixed(t.cfg.Space.Prefix)), 9)
}
