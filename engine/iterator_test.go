package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// pager hands out entries numbered from 0, and remembers what it was asked.
type pager struct {
	entries int
	fails   int // the call that fails, from 1; 0: none
	with    int // entries that come along with the error
	garbage bool
	asked   []int
	bytes   int
	next    int
	closed  int
}

func (p *pager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	p.asked, p.bytes = append(p.asked, maxEntries), maxBytes
	n := 0
	var err error
	if len(p.asked) == p.fails {
		maxEntries, err = p.with, errDisk
	}
	if p.garbage {
		return append(dst, 5, 'x'), 1, nil
	}
	for ; n < maxEntries && p.next < p.entries; n++ {
		dst = engine.AppendEntry(dst, fmt.Appendf(nil, "k%d", p.next), fmt.Appendf(nil, "v%d", p.next))
		p.next++
	}
	return dst, n, err
}

func (p *pager) Close() error { p.closed++; return nil }

// walk visits all entries and demands that they are those from 0 on.
func walk(t testing.TB, it *engine.Iterator) (n int) {
	t.Helper()
	require.Nil(t, it.Key())
	for it.Next() {
		require.Equal(t, fmt.Sprint("k", n), string(it.Key()))
		require.Equal(t, fmt.Sprint("v", n), string(it.Value()))
		n++
	}
	require.Nil(t, it.Key())
	require.Nil(t, it.Value())
	require.False(t, it.Next(), "after the end")
	return n
}

func TestPagesGrow(t *testing.T) {
	p := &pager{entries: 4000}
	it := engine.NewIterator(p, 0)
	require.Equal(t, 4000, walk(t, it))
	require.NoError(t, it.Err())
	require.Equal(t, []int{32, 128, 512, 1024, 1024, 1024, 1024}, p.asked[:7])
	require.Equal(t, 256<<10, p.bytes)
	require.NoError(t, it.Close())
}

func TestALimitIsNotOverstepped(t *testing.T) {
	for _, tt := range []struct {
		entries, limit, want int
		asked                []int
	}{
		{100, 1, 1, []int{1}},
		{100, 32, 32, []int{32}},
		{100, 33, 33, []int{32, 1}},
		{100, 50, 50, []int{32, 18}},
		{10, 50, 10, []int{32, 40, 40}},
		{100, -1, 100, []int{32, 128, 512, 1024}},
	} {
		p := &pager{entries: tt.entries}
		it := engine.NewIterator(p, tt.limit)
		require.Equal(t, tt.want, walk(t, it))
		require.NoError(t, it.Err())
		require.Equal(t, tt.asked, p.asked, "limit %d", tt.limit)
		require.NoError(t, it.Close())
	}
}

func TestAnErrorEndsAnIteration(t *testing.T) {
	for _, with := range []int{0, 3} {
		p := &pager{entries: 100, fails: 2, with: with}
		it := engine.NewIterator(p, 0)
		require.Equal(t, 32, walk(t, it))
		require.ErrorIs(t, it.Err(), errDisk)
		require.Len(t, p.asked, 2, "the pager is not asked again")
		require.NoError(t, it.Close())
		require.False(t, it.Next())
		require.ErrorIs(t, it.Err(), errDisk, "the first error stays")
	}
}

func TestAPageThatDoesNotParseIsCorrupt(t *testing.T) {
	it := engine.NewIterator(&pager{garbage: true}, 0)
	require.Zero(t, walk(t, it))
	require.ErrorIs(t, it.Err(), engine.ErrCorrupt)
	require.NoError(t, it.Close())
}

func TestAClosedIterator(t *testing.T) {
	p := &pager{entries: 100}
	it := engine.NewIterator(p, 0)
	require.True(t, it.Next())
	require.NoError(t, it.Close())
	require.Nil(t, it.Key())
	require.NoError(t, it.Err(), "not asked for more yet")
	require.False(t, it.Next())
	require.ErrorIs(t, it.Err(), engine.ErrClosed)
	require.Equal(t, "dst", string(it.Page([]byte("dst"), 10, 100)))
	require.NoError(t, it.Close())
	require.Equal(t, 2, p.closed, "closing twice is the pager's to bear")

	ended := engine.NewIterator(&pager{}, 0)
	require.Zero(t, walk(t, ended))
	require.NoError(t, ended.Close())
	require.NoError(t, ended.Err(), "it had reached its end")
}

func TestIteratorsDoNotShareTheMemoryOfTheirPages(t *testing.T) {
	first, second := engine.NewIterator(&pager{entries: 40}, 0), engine.NewIterator(&pager{entries: 40}, 0)
	require.True(t, first.Next())
	key := first.Key()
	require.Equal(t, 40, walk(t, second))
	require.NoError(t, second.Close())
	third := engine.NewIterator(&pager{entries: 40, next: 20}, 0)
	require.True(t, third.Next())
	require.Equal(t, "k0", string(key))
	require.NoError(t, first.Close())
	require.NoError(t, third.Close())
}

func TestPage(t *testing.T) {
	p := &pager{entries: 25}
	it := engine.NewIterator(p, 22)
	dst := []byte("head")
	counts := []int{}
	for {
		grown := it.Page(dst, 10, 1000)
		if len(grown) == len(dst) {
			break
		}
		counts = append(counts, it.PageEntries())
		dst = grown
	}
	require.NoError(t, it.Err())
	require.Equal(t, []int{10, 10, 2}, counts)
	require.Equal(t, []int{10, 10, 2}, p.asked)
	require.Equal(t, 1000, p.bytes)
	page, n := dst[4:], 0
	for len(page) > 0 {
		key, _, rest, ok := engine.CutEntry(page)
		require.True(t, ok)
		require.Equal(t, fmt.Sprint("k", n), string(key))
		page, n = rest, n+1
	}
	require.Equal(t, 22, n)
	require.NoError(t, it.Close())
}

func TestAPageAndItsError(t *testing.T) {
	it := engine.NewIterator(&pager{entries: 25, fails: 2}, 0)
	require.NotEmpty(t, it.Page(nil, 10, 1000))
	require.NoError(t, it.Err())
	require.Empty(t, it.Page(nil, 10, 1000))
	require.ErrorIs(t, it.Err(), errDisk)
	require.Empty(t, it.Page(nil, 10, 1000))
	require.NoError(t, it.Close())
}
