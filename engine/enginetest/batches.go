package enginetest

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

var batches = []promise{
	{"the changes of a batch take effect in order", func(t *trial) {
		t.put(t.col, "a", "0", "b", "0", "c", "0", "d", "0")
		b := batch()
		b.Put(t.col, t.key("a"), []byte("1"))
		b.Put(t.col, t.key("a"), []byte("2"))
		b.Put(t.col, t.key("b"), []byte("1"))
		b.Delete(t.col, t.key("b"))
		b.Delete(t.col, t.key("c"))
		b.Put(t.col, t.key("c"), []byte("1"))
		b.Put(t.col, t.key("d"), []byte("1"))
		b.Put(t.col, t.key("e"), []byte("1"))
		b.DeleteRange(t.col, t.key("d"), t.key("f"))
		b.Put(t.col, t.key("e"), []byte("2"))
		require.NoError(t, t.db.Apply(b))
		require.Equal(t, []string{"a=2", "c=1", "e=2"}, t.list(t.db, t.col, t.bounds("", "")))
	}},
	{"a deleted range has its start but not its end", func(t *trial) {
		t.put(t.col, "", "0", "a", "1", "ab", "2", "b", "3", "b\x00", "4", "c", "5")
		t.put(t.other(), "x", "kept")
		b := batch()
		b.DeleteRange(t.col, t.key("ab"), t.key("b\x00"))
		require.NoError(t, t.db.Apply(b))
		require.Equal(t, []string{"=0", "a=1", "b\x00=4", "c=5"}, t.list(t.db, t.col, t.bounds("", "c\x00")))
		t.requireAbsent(t.db, t.col, "ab")
		t.requireAbsent(t.db, t.col, "b")
		t.requireValue(t.db, t.other(), "x", "kept")
		t.put(t.col, "ab", "again")
		t.requireValue(t.db, t.col, "ab", "again")
	}},
	{"a range without keys may be deleted", func(t *trial) {
		t.put(t.col, "a", "1", "z", "2")
		b := batch()
		b.DeleteRange(t.col, t.key("b"), t.key("c"))
		require.NoError(t, t.db.Apply(b))
		require.Len(t, t.all(t.db), 2)
	}},
	{"a large range is deleted whole", func(t *trial) {
		t.fill(t.col, "k", 3000, 100)
		t.put(t.col, "a", "1", "z", "2")
		b := batch()
		b.DeleteRange(t.col, t.key("k"), t.key("l"))
		require.NoError(t, t.db.Apply(b))
		require.Equal(t, []string{"a=1", "z=2"}, t.list(t.db, t.col, t.bounds("", "")))
	}},
	{"a range whose end is not after its start is refused", func(t *trial) {
		for _, r := range [][2]string{{"a", "a"}, {"b", "a"}, {"a", ""}, {"", ""}} {
			t.requireRefused(engine.ErrBatch, func(b *engine.Batch) { b.DeleteRange(t.col, t.key(r[0]), t.key(r[1])) })
		}
	}},
	{"a column that does not exist is refused", func(t *trial) {
		for _, col := range []column.Column{0, column.Column(column.Count) + 1, 255} {
			t.requireRefused(engine.ErrBatch, func(b *engine.Batch) { b.Put(col, t.key("k"), nil) })
			t.requireRefused(engine.ErrBatch, func(b *engine.Batch) { b.ExpectAbsent(col, t.key("k")) })
		}
	}},
	{"an empty batch does nothing", func(t *trial) {
		t.put(t.col, "k", "v")
		require.NoError(t, t.db.Apply(&engine.Batch{}))
		require.NoError(t, t.db.Apply(batch()))
		require.Len(t, t.all(t.db), 1)
	}},
	{"a batch that has failed writes nothing and returns why", func(t *trial) {
		first := errors.New("first")
		b := batch()
		b.Put(t.col, t.key("k"), []byte("v"))
		b.Fail(first)
		b.Fail(errors.New("second"))
		b.Put(t.col, t.key("l"), []byte("v"))
		require.ErrorIs(t, t.db.Apply(b), first)
		require.Empty(t, t.all(t.db))
		b.Reset()
		b.Put(t.col, t.key("k"), []byte("v"))
		require.NoError(t, t.db.Apply(b))
	}},
	{"both durabilities are taken and no other", func(t *trial) {
		for i, d := range []engine.Durability{engine.Synced, engine.WAL} {
			b := &engine.Batch{Durability: d}
			b.Put(t.col, t.key(d.String()), []byte{byte(i)})
			require.NoError(t, t.db.Apply(b))
			t.requireValue(t.db, t.col, d.String(), string([]byte{byte(i)}))
		}
		t.requireRefused(engine.ErrBatch, func(b *engine.Batch) { b.Durability = 2 })
	}},
	{"a batch can be applied again", func(t *trial) {
		b := batch()
		b.Put(t.col, t.key("k"), []byte("v"))
		for range 3 {
			require.NoError(t, t.db.Apply(b))
		}
		require.Len(t, t.all(t.db), 1)
	}},
	{"a batch made of bytes is the batch they came from", func(t *trial) {
		b := batch()
		b.Put(t.col, t.key("k"), []byte("v"))
		b.Put(t.other(), t.key("l"), []byte("w"))
		b.ExpectAbsent(t.col, t.key("k"))
		parsed, err := engine.ParseBatch(b.Bytes(), b.Expectations(), engine.WAL)
		require.NoError(t, err)
		require.NoError(t, t.db.Apply(parsed))
		t.requireValue(t.db, t.col, "k", "v")
		t.requireValue(t.db, t.other(), "l", "w")
		require.ErrorIs(t, t.db.Apply(parsed), engine.ErrConflict)
	}},
}
