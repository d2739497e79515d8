package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// ranges compares every combination of bounds, order and limit with what
// filtering a sorted list gives.
func ranges(t *testing.T, f *fixture) {
	names := []string{"", "a", "aa", "ab", "b", "b\x00", "b\xff", "c\xff\xff", "d"}
	var pairs []string
	for i, n := range names {
		pairs = append(pairs, n, fmt.Sprint(i))
	}
	f.put(pairs...)
	bounds := append([]string{"A", "az", "b\xfe", "c", "zz"}, names...)
	for _, from := range bounds {
		for _, to := range bounds {
			for _, reverse := range []bool{false, true} {
				for _, limit := range []int{0, 1, 3, 100} {
					want := []string{}
					for i, n := range names {
						if n >= from && n < to {
							want = append(want, n, fmt.Sprint(i))
						}
					}
					want = ordered(want, reverse, limit)
					got := f.scan(f.db, engine.Range{Start: f.key(from), End: f.key(to), Reverse: reverse, Limit: limit})
					require.Equal(t, want, got, "from %q to %q reverse %v limit %d", from, to, reverse, limit)
				}
			}
		}
	}
	t.Run("prefixes", func(t *testing.T) {
		for _, p := range []string{"", "a", "b", "b\xff", "c\xff", "c\xff\xff", "x"} {
			for _, reverse := range []bool{false, true} {
				want := []string{}
				for i, n := range names {
					if len(n) >= len(p) && n[:len(p)] == p {
						want = append(want, n, fmt.Sprint(i))
					}
				}
				rg := engine.Prefixed(f.key(p))
				rg.Reverse = reverse
				require.Equal(t, ordered(want, reverse, 0), f.scan(f.db, rg), "prefix %q reverse %v", p, reverse)
			}
		}
	})
	if len(f.config.Space.Prefix) > 0 {
		return
	}
	t.Run("no bounds", func(t *testing.T) {
		require.Equal(t, pairs, f.scan(f.db, engine.Range{}))
		require.Equal(t, ordered(slices.Clone(pairs), true, 0), f.scan(f.db, engine.Range{Reverse: true}))
		require.Equal(t, ordered(slices.Clone(pairs), true, 2), f.scan(f.db, engine.Range{Reverse: true, Limit: 2}))
		require.Equal(t, []string{"d", "8"}, f.scan(f.db, engine.Range{Start: []byte("d")}))
		require.Equal(t, []string{"", "0"}, f.scan(f.db, engine.Range{End: []byte("a")}))
	})
	t.Run("prefixes that have no successor", func(t *testing.T) {
		f.put("\xff", "last", "\xff\xff\x01", "very last")
		require.Equal(t, []string{"\xff", "last", "\xff\xff\x01", "very last"}, f.scan(f.db, engine.Prefixed([]byte{0xFF})))
		require.Equal(t, []string{"\xff\xff\x01", "very last"}, f.scan(f.db, engine.Prefixed([]byte{0xFF, 0xFF})))
	})
	t.Run("keys longer and shorter than the prefix that filters cover", func(t *testing.T) {
		long := func(tail string) string { return fmt.Sprintf("%-40s%s", "long", tail) }
		f.put("lon", "short", long("1"), "1", long("2"), "2")
		for _, p := range []string{"lo", "long", long(""), long("1")} {
			want := []string{}
			for _, pair := range [][2]string{{"lon", "short"}, {long("1"), "1"}, {long("2"), "2"}} {
				if len(pair[0]) >= len(p) && pair[0][:len(p)] == p {
					want = append(want, pair[0], pair[1])
				}
			}
			for _, reverse := range []bool{false, true} {
				rg := engine.Prefixed([]byte(p))
				rg.Reverse = reverse
				require.Equal(t, ordered(slices.Clone(want), reverse, 0), f.scan(f.db, rg), "prefix %q", p)
			}
		}
	})
}

// ordered turns pairs round if reverse is set, and cuts them to limit.
func ordered(pairs []string, reverse bool, limit int) []string {
	if reverse {
		slices.Reverse(pairs)
		for i := 0; i < len(pairs); i += 2 {
			pairs[i], pairs[i+1] = pairs[i+1], pairs[i]
		}
	}
	if limit > 0 && len(pairs) > 2*limit {
		pairs = pairs[:2*limit]
	}
	return pairs
}

func iterators(t *testing.T, f *fixture) {
	const n = 5000
	f.apply(func(b *engine.Batch) {
		for i := range n {
			b.Put(f.col, f.key(fmt.Sprintf("%05d", i)), fmt.Appendf(nil, "value %d", i))
		}
	})
	t.Run("an iterator sees the state it was made in", func(t *testing.T) {
		it, err := f.db.Iterate(f.col, f.all())
		require.NoError(t, err)
		defer it.Close()
		f.put("00000x", "new", "99999", "new")
		f.apply(func(b *engine.Batch) { b.DeleteRange(f.col, f.key("04"), f.key("05")) })
		seen := 0
		for it.Next() {
			require.Equal(t, fmt.Sprintf("value %d", seen), string(it.Value()))
			seen++
		}
		require.NoError(t, it.Err())
		require.Equal(t, n, seen)
	})
	t.Run("pages hold what next visits", func(t *testing.T) {
		want := f.scan(f.db, f.all())
		for _, size := range [][2]int{{1, 1}, {7, 1 << 20}, {1000, 100}, {100000, 64 << 10}} {
			it, err := f.db.Iterate(f.col, f.all())
			require.NoError(t, err)
			got := []string{}
			for {
				page := it.Page(nil, size[0], size[1])
				if len(page) == 0 {
					break
				}
				in := 0
				for len(page) > 0 {
					key, value, rest, ok := engine.CutEntry(page)
					require.True(t, ok)
					got, page = append(got, string(key[len(f.config.Space.Prefix):]), string(value)), rest
					in++
				}
				require.LessOrEqual(t, in, size[0])
			}
			require.NoError(t, it.Err())
			require.NoError(t, it.Close())
			require.Equal(t, want, got, "pages of %v", size)
		}
	})
	t.Run("page appends", func(t *testing.T) {
		it, err := f.db.Iterate(f.col, f.all())
		require.NoError(t, err)
		defer it.Close()
		page := it.Page([]byte("kept"), 1, 1)
		require.Equal(t, "kept", string(page[:4]))
		_, _, rest, ok := engine.CutEntry(page[4:])
		require.True(t, ok)
		require.Empty(t, rest)
	})
	t.Run("closing ends an iterator, twice is once", func(t *testing.T) {
		it, err := f.db.Iterate(f.col, f.all())
		require.NoError(t, err)
		require.True(t, it.Next())
		require.NoError(t, it.Close())
		require.NoError(t, it.Close())
		require.False(t, it.Next())
		require.ErrorIs(t, it.Err(), engine.ErrClosed)
		require.Empty(t, it.Page(nil, 10, 10))
	})
	t.Run("at the end", func(t *testing.T) {
		it, err := f.db.Iterate(f.col, engine.Prefixed(f.key("none")))
		require.NoError(t, err)
		require.False(t, it.Next())
		require.False(t, it.Next())
		require.NoError(t, it.Err())
		require.Nil(t, it.Key())
		require.NoError(t, it.Close())
	})
	t.Run("many at once", func(t *testing.T) {
		var open []*engine.Iterator
		for i := range 100 {
			it, err := f.db.Iterate(f.col, engine.Range{Start: f.key(fmt.Sprintf("%05d", i)), End: f.all().End})
			require.NoError(t, err)
			require.True(t, it.Next())
			open = append(open, it)
		}
		for i, it := range open {
			require.Equal(t, fmt.Sprintf("value %d", i), string(it.Value()))
			require.NoError(t, it.Close())
		}
	})
}
