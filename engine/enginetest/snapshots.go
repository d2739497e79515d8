package enginetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

var snapshots = []promise{
	{"a snapshot does not see what is written later", func(t *trial) {
		t.put(t.col, "a", "1", "b", "2", "c", "3")
		t.put(t.other(), "x", "1")
		before := t.all(t.db)
		s := t.snapshot()
		b := batch()
		b.Put(t.col, t.key("a"), []byte("changed"))
		b.Delete(t.col, t.key("b"))
		b.Put(t.col, t.key("d"), []byte("new"))
		b.DeleteRange(t.other(), t.key("x"), t.key("y"))
		require.NoError(t, t.db.Apply(b))

		require.Equal(t, before, t.all(s))
		t.requireValue(s, t.col, "a", "1")
		t.requireValue(s, t.col, "b", "2")
		t.requireAbsent(s, t.col, "d")
		l := []engine.Lookup{{Column: t.col, Key: t.key("d")}, {Column: t.other(), Key: t.key("x")}}
		_, err := s.MultiGet(nil, l)
		require.NoError(t, err)
		require.False(t, l[0].Found)
		require.True(t, l[1].Found)
		t.requireValue(t.db, t.col, "a", "changed")
		t.requireAbsent(t.db, t.col, "b")
	}},
	{"each of many snapshots sees its own state", func(t *trial) {
		n := t.cfg.Limits.Snapshots
		var open []engine.Snapshot
		for i := range n {
			t.put(t.col, "counter", fmt.Sprint(i), fmt.Sprintf("k%03d", i), "v")
			open = append(open, t.snapshot())
		}
		for i := n - 1; i >= 0; i -= 2 { // in another order than they were taken in
			t.requireValue(open[i], t.col, "counter", fmt.Sprint(i))
			require.NoError(t, open[i].Close())
		}
		for i := n - 2; i >= 0; i -= 2 {
			require.Len(t, t.list(open[i], t.col, t.bounds("k", "l")), i+1)
			require.NoError(t, open[i].Close())
		}
	}},
	{"an iterator over a snapshot sees the snapshot", func(t *trial) {
		want := t.fill(t.col, "k", 500, 20)
		s := t.snapshot()
		t.fill(t.col, "j", 10, 20)
		it := t.iterate(s, t.col, t.bounds("", ""))
		t.fill(t.col, "l", 10, 20)
		require.Equal(t, want, t.rest(it))
		require.NoError(t, it.Err())
	}},
	{"a closed snapshot is of no use, and its iterators end with an error", func(t *trial) {
		want := t.fill(t.col, "k", 3000, 2000)
		s := t.snapshot()
		it := t.iterate(s, t.col, t.bounds("", ""))
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.Close(), engine.ErrClosed)

		got, err := s.Get([]byte("dst"), t.col, t.key("k000000"))
		require.ErrorIs(t, err, engine.ErrClosed)
		require.Equal(t, "dst", string(got))
		_, err = s.MultiGet(nil, []engine.Lookup{{Column: t.col, Key: t.key("k000000")}})
		require.ErrorIs(t, err, engine.ErrClosed)
		_, err = s.Iterate(t.col, t.bounds("", ""))
		require.ErrorIs(t, err, engine.ErrClosed)
		t.requireCutOff(it, want)
		require.NoError(t, it.Close())
		require.Len(t, t.list(t.db, t.col, t.bounds("", "")), len(want))
	}},
}

// requireCutOff demands that an iterator whose source is gone hands out at most
// what it had been given ahead, and ends with ErrClosed.
func (t *trial) requireCutOff(it *engine.Iterator, want []string) {
	t.Helper()
	got := t.rest(it)
	require.Less(t, len(got), len(want))
	require.Equal(t, want[:len(got)], got)
	require.ErrorIs(t, it.Err(), engine.ErrClosed)
}
