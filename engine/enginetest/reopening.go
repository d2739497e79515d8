package enginetest

import "github.com/stretchr/testify/require"

var reopening = []promise{
	{"reopening keeps everything", func(t *trial) {
		for _, col := range t.cfg.Space.Columns {
			t.fill(col, "k", Scale(500), 50)
			t.put(col, "", "shortest", "empty", "")
		}
		b := batch()
		b.DeleteRange(t.col, t.key("k0001"), t.key("k0002"))
		b.Delete(t.col, t.key("k000000"))
		require.NoError(t, t.db.Apply(b))
		want := t.all(t.db)
		for i := range 3 {
			t.reopen()
			require.Equal(t, want, t.all(t.db))
			t.put(t.col, "k", string(rune('0'+i)))
			want = t.all(t.db)
		}
	}},
	{"a closed store is reopened", func(t *trial) {
		t.put(t.col, "k", "v")
		require.NoError(t, t.db.Close())
		t.reopen()
		t.requireValue(t.db, t.col, "k", "v")
	}},
	{"iterators and snapshots that are open do not hold reopening up", func(t *trial) {
		want := t.fill(t.col, "k", 200, 50)
		it := t.iterate(t.db, t.col, t.bounds("", ""))
		require.True(t, it.Next())
		t.snapshot()
		t.reopen()
		require.Equal(t, want, t.list(t.db, t.col, t.bounds("", "")))
	}},
}
