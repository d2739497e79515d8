package enginetest

import (
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

var points = []promise{
	{"a value is what was put last", func(t *trial) {
		t.requireAbsent(t.db, t.col, "k")
		t.put(t.col, "k", "one")
		t.requireValue(t.db, t.col, "k", "one")
		t.put(t.col, "k", "another, longer one")
		t.requireValue(t.db, t.col, "k", "another, longer one")
		t.put(t.col, "k", "short")
		t.requireValue(t.db, t.col, "k", "short")
	}},
	{"a deleted key is not there, and deleting it again is no error", func(t *trial) {
		t.put(t.col, "k", "v", "k2", "v2")
		for range 2 {
			b := batch()
			b.Delete(t.col, t.key("k"))
			require.NoError(t, t.db.Apply(b))
			t.requireAbsent(t.db, t.col, "k")
		}
		t.requireValue(t.db, t.col, "k2", "v2")
		t.put(t.col, "k", "back")
		t.requireValue(t.db, t.col, "k", "back")
	}},
	{"columns do not see each other", func(t *trial) {
		for i, col := range t.cfg.Space.Columns {
			t.put(col, "same", string(rune('a'+i)))
		}
		for i, col := range t.cfg.Space.Columns {
			t.requireValue(t.db, col, "same", string(rune('a'+i)))
		}
		b := batch()
		b.Delete(t.col, t.key("same"))
		require.NoError(t, t.db.Apply(b))
		for _, col := range t.cfg.Space.Columns[1:] {
			require.Len(t, t.list(t.db, col, t.bounds("", "")), 1)
		}
	}},
	{"get appends to its buffer and leaves it alone when nothing is there", getAppends},
	{"what get returns belongs to the caller", func(t *trial) {
		t.put(t.col, "k", "value")
		got, err := t.db.Get(nil, t.col, t.key("k"))
		require.NoError(t, err)
		for i := range got {
			got[i] = 'x'
		}
		t.requireValue(t.db, t.col, "k", "value")
	}},
	{"what apply was given may be changed afterwards", func(t *trial) {
		key, value := t.key("k"), []byte("value")
		b := batch()
		b.Put(t.col, key, value)
		copy(value, "xxxxx")
		require.NoError(t, t.db.Apply(b))
		b.Reset()
		b.Put(t.col, t.key("z"), []byte("zzzzz")) // over the same memory
		t.requireValue(t.db, t.col, "k", "value")
	}},
	{"the shortest key and empty values are stored", func(t *trial) {
		t.put(t.col, "", "the prefix itself", "e", "")
		t.requireValue(t.db, t.col, "", "the prefix itself")
		t.requireValue(t.db, t.col, "e", "")
		require.Equal(t, []string{"=the prefix itself", "e="}, t.list(t.db, t.col, t.bounds("", "")))
		t.put(t.col, "", "")
		t.requireValue(t.db, t.col, "", "")
		b := batch()
		b.Delete(t.col, t.key(""))
		require.NoError(t, t.db.Apply(b))
		t.requireAbsent(t.db, t.col, "")
	}},
	{"any bytes are a key and a value", func(t *trial) {
		for _, s := range []string{"\x00", "\x00\x00", "\xFF", "\xFF\xFF", "a\x00b", "=", "\n"} {
			t.put(t.col, s, s+s)
		}
		for _, s := range []string{"\x00", "\x00\x00", "\xFF", "\xFF\xFF", "a\x00b", "=", "\n"} {
			t.requireValue(t.db, t.col, s, s+s)
		}
		require.Len(t, t.list(t.db, t.col, t.bounds("", "")), 7)
	}},
	{"reading a column that does not exist is an error", func(t *trial) {
		for _, col := range []column.Column{0, column.Column(column.Count) + 1, 255} {
			got, err := t.db.Get([]byte("dst"), col, t.key("k"))
			require.Error(t, err)
			require.NotErrorIs(t, err, engine.ErrNotFound)
			require.Equal(t, "dst", string(got))
			_, err = t.db.Iterate(col, t.bounds("", ""))
			require.Error(t, err)
			_, err = t.db.MultiGet(nil, []engine.Lookup{{Column: t.col, Key: t.key("k")}, {Column: col, Key: t.key("k")}})
			require.Error(t, err)
		}
	}},
}

func getAppends(t *trial) {
	t.put(t.col, "k", "value")
	dst := append(make([]byte, 0, 64), "dst:"...)
	got, err := t.db.Get(dst, t.col, t.key("k"))
	require.NoError(t, err)
	require.Equal(t, "dst:value", string(got))
	require.Equal(t, "dst:", string(dst))

	got, err = t.db.Get(dst, t.col, t.key("missing"))
	require.ErrorIs(t, err, engine.ErrNotFound)
	require.Equal(t, "dst:", string(got))
	got, err = t.db.Get(nil, t.col, t.key("missing"))
	require.ErrorIs(t, err, engine.ErrNotFound)
	require.Empty(t, got)

	for room := range 8 { // less, as much, and more room than the value takes
		dst := append(make([]byte, 0, 4+room), "dst:"...)
		got, err := t.db.Get(dst, t.col, t.key("k"))
		require.NoError(t, err)
		require.Equal(t, "dst:value", string(got))
	}
}
