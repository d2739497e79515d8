package enginetest

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

var guards = []promise{
	{"a batch whose expectations hold is written", func(t *trial) {
		t.put(t.col, "k", "v", "empty", "")
		b := batch()
		b.Expect(t.col, t.key("k"), []byte("v"))
		b.Expect(t.col, t.key("empty"), nil)
		b.ExpectAbsent(t.other(), t.key("nothing"))
		b.Put(t.col, t.key("k"), []byte("w"))
		b.Put(t.other(), t.key("nothing"), []byte("something"))
		require.NoError(t, t.db.Apply(b))
		t.requireValue(t.db, t.col, "k", "w")
		t.requireValue(t.db, t.other(), "nothing", "something")
	}},
	{"a batch with an expectation that does not hold writes nothing and names it", func(t *trial) {
		t.put(t.col, "k", "v", "empty", "")
		t.put(t.other(), "o", "v")
		for _, c := range []struct {
			expect func(*engine.Batch)
			col    column.Column
			key    string
			absent bool
		}{
			{func(b *engine.Batch) { b.Expect(t.col, t.key("k"), []byte("w")) }, t.col, "k", false},
			{func(b *engine.Batch) { b.Expect(t.col, t.key("k"), nil) }, t.col, "k", false},
			{func(b *engine.Batch) { b.Expect(t.col, t.key("k"), []byte("v\x00")) }, t.col, "k", false},
			{func(b *engine.Batch) { b.Expect(t.col, t.key("none"), []byte("v")) }, t.col, "none", false},
			{func(b *engine.Batch) { b.Expect(t.col, t.key("none"), nil) }, t.col, "none", false},
			{func(b *engine.Batch) { b.ExpectAbsent(t.col, t.key("k")) }, t.col, "k", true},
			{func(b *engine.Batch) { b.ExpectAbsent(t.col, t.key("empty")) }, t.col, "empty", true},
			{func(b *engine.Batch) { b.ExpectAbsent(t.other(), t.key("o")) }, t.other(), "o", true},
		} {
			t.requireRefused(engine.ErrConflict, func(b *engine.Batch) {
				b.ExpectAbsent(t.col, t.key("holds"))
				c.expect(b)
			})
			b := batch()
			c.expect(b)
			t.requireConflict(t.db.Apply(b), c.col, c.key, c.absent)
		}
	}},
	{"expectations are of the state before the batch", func(t *trial) {
		b := batch()
		b.Put(t.col, t.key("k"), []byte("v"))
		b.ExpectAbsent(t.col, t.key("k"))
		require.NoError(t, t.db.Apply(b))
		b.Reset()
		b.Durability = engine.WAL
		b.DeleteRange(t.col, t.key("a"), t.key("z"))
		b.Expect(t.col, t.key("k"), []byte("v"))
		require.NoError(t, t.db.Apply(b))
		require.Empty(t, t.all(t.db))
	}},
	{"a batch of nothing but expectations asks whether they hold", func(t *trial) {
		t.put(t.col, "k", "v")
		b := batch()
		b.Expect(t.col, t.key("k"), []byte("v"))
		b.ExpectAbsent(t.col, t.key("l"))
		require.NoError(t, t.db.Apply(b))
		t.put(t.col, "l", "v")
		t.requireConflict(t.db.Apply(b), t.col, "l", true)
		require.Len(t, t.all(t.db), 2)
	}},
}

func (t *trial) requireConflict(err error, col column.Column, key string, absent bool) {
	t.Helper()
	require.ErrorIs(t, err, engine.ErrConflict)
	var c *engine.Conflict
	require.True(t, errors.As(err, &c), "%T is not a *Conflict", err)
	require.Equal(t, &engine.Conflict{Column: col, Key: t.key(key), Absent: absent}, c)
}
