package enginetest

import (
	"fmt"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

var iterators = []promise{
	{"an iterator sees the state of its beginning", func(t *trial) {
		want := t.fill(t.col, "k", 3000, 50)
		forward := t.iterate(t.db, t.col, t.bounds("", ""))
		r := t.bounds("", "")
		r.Reverse = true
		backward := t.iterate(t.db, t.col, r)
		started := t.iterate(t.db, t.col, t.bounds("", ""))
		for range 10 {
			require.True(t, started.Next())
		}
		b := batch()
		b.DeleteRange(t.col, t.key("k0005"), t.key("k0020"))
		b.Put(t.col, t.key("k002500"), []byte("changed"))
		b.Put(t.col, t.key("a"), []byte("new"))
		b.Put(t.col, t.key("z"), []byte("new"))
		require.NoError(t, t.db.Apply(b))
		require.Equal(t, want, t.rest(forward))
		require.Equal(t, reversed(want), t.rest(backward))
		require.Equal(t, want[10:], t.rest(started))
		require.NoError(t, forward.Err())
		require.NoError(t, backward.Err())
		require.NoError(t, started.Err())
	}},
	{"pages have the entries that next visits", pages},
	{"key and value stay until the next call of next", func(t *trial) {
		want := t.fill(t.col, "k", 100, 20)
		it := t.iterate(t.db, t.col, t.bounds("", ""))
		for i := 0; it.Next(); i++ {
			key, value := it.Key(), it.Value()
			t.put(t.col, fmt.Sprintf("k%06d", i), "overwritten")
			if i%10 == 0 {
				require.Len(t, t.list(t.db, t.col, t.bounds("", "")), len(want))
			}
			require.Equal(t, want[i], t.entry(key, value))
			require.Equal(t, want[i], t.entry(it.Key(), it.Value()))
		}
		require.NoError(t, it.Err())
	}},
	{"the end is the end", func(t *trial) {
		t.put(t.col, "a", "1")
		it := t.iterate(t.db, t.col, t.bounds("", ""))
		require.Len(t, t.rest(it), 1)
		for range 3 {
			require.False(t, it.Next())
			require.NoError(t, it.Err())
			require.Nil(t, it.Key())
			require.Nil(t, it.Value())
		}
	}},
	{"an iterator may be closed twice, early, and is of no use afterwards", func(t *trial) {
		t.fill(t.col, "k", 100, 10)
		used := t.iterate(t.db, t.col, t.bounds("", ""))
		require.True(t, used.Next())
		for _, it := range []*engine.Iterator{used, t.iterate(t.db, t.col, t.bounds("", ""))} {
			require.NoError(t, it.Close())
			require.NoError(t, it.Close())
			require.False(t, it.Next())
			require.ErrorIs(t, it.Err(), engine.ErrClosed)
		}
		it := t.iterate(t.db, t.col, t.bounds("", ""))
		require.NoError(t, it.Close())
		require.Equal(t, "dst", string(it.Page([]byte("dst"), 10, 1000)))
		require.ErrorIs(t, it.Err(), engine.ErrClosed)
	}},
	{"many iterators at once do not disturb each other", func(t *trial) {
		want := t.fill(t.col, "k", 300, 30)
		its := make([]*engine.Iterator, 20)
		for i := range its {
			its[i] = t.iterate(t.db, t.col, t.bounds("", ""))
			for range i {
				require.True(t, its[i].Next())
			}
		}
		for i, it := range its {
			require.Equal(t, want[i:], t.rest(it))
			require.NoError(t, it.Err())
		}
	}},
}

// pages reads the same range in pages of all shapes.
func pages(t *trial) {
	t.fill(t.col, "a", 150, 40)
	t.fill(t.col, "b", 3, 5000)
	t.put(t.col, "", "", "c", "")
	for _, r := range []engine.Range{
		t.bounds("", ""), t.bounds("b", ""), t.bounds("", "b"), t.bounds("x", ""),
		{Start: t.key("a"), End: t.key("c\x00"), Reverse: true},
		{Start: t.key(""), End: t.key("c\x00"), Limit: 77},
		{Start: t.key(""), End: t.key("c\x00"), Limit: 1, Reverse: true},
	} {
		want := t.list(t.db, t.col, r)
		for _, shape := range [][2]int{{1, 1}, {1, math.MaxInt32}, {2, 100}, {7, 1 << 20}, {math.MaxInt32, 1}, {math.MaxInt32, 60}, {1000, 4096}, {math.MaxInt32, 1 << 20}} {
			require.Equal(t, want, t.paged(r, shape[0], shape[1]), "%+v in pages of %v", r, shape)
		}
	}
}

func (t *trial) paged(r engine.Range, maxEntries, maxBytes int) []string {
	it := t.iterate(t.db, t.col, r)
	defer it.Close()
	entries := []string{}
	for page := []byte("head"); ; {
		page = it.Page(page[:4], maxEntries, maxBytes)
		require.Equal(t, "head", string(page[:4]))
		rest := page[4:]
		if len(rest) == 0 {
			require.NoError(t, it.Err())
			return entries
		}
		n := 0
		for len(rest) > 0 {
			require.True(t, n == 0 || len(page)-4-len(rest) < maxBytes, "an entry more than %d bytes allow", maxBytes)
			key, value, after, ok := engine.CutEntry(rest)
			require.True(t, ok, "page does not parse")
			entries, rest = append(entries, t.entry(key, value)), after
			n++
		}
		require.LessOrEqual(t, n, maxEntries)
		require.Equal(t, n, it.PageEntries())
	}
}
