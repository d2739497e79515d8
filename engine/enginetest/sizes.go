package enginetest

import (
	"bytes"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

var sizes = []promise{
	{"a value of the largest size is read back by get, multiget and iterate", func(t *trial) {
		value := strings.Repeat("0123456789abcdef", engine.MaxValue/16)
		t.put(t.col, "big", value, "small", "s")
		t.requireValue(t.db, t.col, "big", value)
		l := []engine.Lookup{{Column: t.col, Key: t.key("big")}}
		_, err := t.db.MultiGet(nil, l)
		require.NoError(t, err)
		require.True(t, string(l[0].Value) == value)
		it := t.iterate(t.db, t.col, t.bounds("", ""))
		require.True(t, it.Next(), "%v", it.Err())
		require.True(t, string(it.Value()) == value)
		require.True(t, it.Next(), "%v", it.Err())
		require.Equal(t, "small=s", t.entry(it.Key(), it.Value()))
		require.False(t, it.Next())
		require.NoError(t, it.Err())
	}},
	{"a value one byte over the limit is refused", func(t *trial) {
		value := make([]byte, engine.MaxValue+1)
		t.requireRefused(engine.ErrTooLarge, func(b *engine.Batch) { b.Put(t.col, t.key("k"), value) })
		t.requireRefused(engine.ErrTooLarge, func(b *engine.Batch) { b.Expect(t.col, t.key("k"), value) })
	}},
	{"a batch of nearly the largest size is written, and one over it is not", func(t *trial) {
		b := batch()
		b.Put(t.col, t.key("a"), bytes.Repeat([]byte("a"), engine.MaxValue))
		left := engine.MaxBatch - b.Size() - len(t.key("b")) - 10
		b.Put(t.other(), t.key("b"), bytes.Repeat([]byte("b"), left))
		require.NoError(t, t.db.Apply(b))
		t.requireValue(t.db, t.other(), "b", strings.Repeat("b", left))

		value := make([]byte, 12<<20)
		t.requireRefused(engine.ErrTooLarge, func(b *engine.Batch) {
			for _, k := range []string{"x", "y", "z"} {
				b.Put(t.col, t.key(k), value)
			}
		})
		t.requireRefused(engine.ErrTooLarge, func(b *engine.Batch) {
			b.Put(t.col, t.key("x"), value)
			b.Expect(t.col, t.key("y"), value)
			b.Expect(t.col, t.key("z"), value)
		})
	}},
	{"a key of the largest size works everywhere", func(t *trial) {
		long := strings.Repeat("k", t.cfg.Space.MaxKey-len(t.key("")))
		t.put(t.col, long, "v", "a", "1", "z", "2")
		t.requireValue(t.db, t.col, long, "v")
		require.Equal(t, []string{"a=1", long + "=v", "z=2"}, t.list(t.db, t.col, t.bounds("", "")))
		r := t.bounds(long, "")
		r.Reverse = true
		require.Equal(t, []string{"z=2", long + "=v"}, t.list(t.db, t.col, r))
		b := batch()
		b.Expect(t.col, t.key(long), []byte("v"))
		b.DeleteRange(t.col, t.key(long), t.key(long[:len(long)-1]+"l"))
		require.NoError(t, t.db.Apply(b))
		t.requireAbsent(t.db, t.col, long)
	}},
	{"a key over the limit is refused", func(t *trial) {
		long := bytes.Repeat([]byte("k"), engine.MaxKey+1)
		for _, add := range []func(*engine.Batch){
			func(b *engine.Batch) { b.Put(t.col, long, nil) },
			func(b *engine.Batch) { b.Delete(t.col, long) },
			func(b *engine.Batch) { b.DeleteRange(t.col, long, []byte("l")) },
			func(b *engine.Batch) { b.Expect(t.col, long, nil) },
			func(b *engine.Batch) { b.ExpectAbsent(t.col, long) },
		} {
			t.requireRefused(engine.ErrTooLarge, add)
		}
	}},
	{"many small changes are one batch", func(t *trial) {
		n := Scale(20_000)
		b := batch()
		for i := range n {
			b.Put(t.col, t.key(string([]byte{byte(i >> 16), byte(i >> 8), byte(i)})), []byte{byte(i)})
		}
		require.NoError(t, t.db.Apply(b))
		require.Len(t, t.list(t.db, t.col, t.bounds("", "")), n)
		b.Reset()
		for i := range n {
			b.Delete(t.col, t.key(string([]byte{byte(i >> 16), byte(i >> 8), byte(i)})))
		}
		require.NoError(t, t.db.Apply(b))
		require.Empty(t, t.all(t.db))
	}},
}

// requireRefused demands that a batch of which add makes a part fails with
// target, and changes nothing.
func (t *trial) requireRefused(target error, add func(*engine.Batch)) {
	t.Helper()
	before := t.all(t.db)
	b := batch()
	b.Put(t.col, t.key("before"), []byte("v"))
	add(b)
	b.Put(t.other(), t.key("after"), []byte("v"))
	err := t.db.Apply(b)
	require.ErrorIs(t, err, target)
	require.Equal(t, before, t.all(t.db))
}
