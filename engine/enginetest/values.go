package enginetest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func values(t *testing.T, f *fixture) {
	f.lacks(f.db, "a")
	f.put("a", "1", "b", "2")
	f.has(f.db, "a", "1")
	f.put("a", "one")
	f.has(f.db, "a", "one")
	f.has(f.db, "b", "2")

	t.Run("a key of another column is another key", func(t *testing.T) {
		for _, col := range f.config.Space.Columns[1:] {
			_, err := f.db.Get(nil, col, f.key("a"))
			require.ErrorIs(t, err, engine.ErrNotFound)
		}
	})
	t.Run("the shortest key and the empty value", func(t *testing.T) {
		f.put("", "nothing before", "empty", "")
		f.has(f.db, "", "nothing before")
		f.has(f.db, "empty", "")
	})
	t.Run("get appends, and leaves dst when nothing is there", func(t *testing.T) {
		got, err := f.db.Get([]byte("kept "), f.col, f.key("a"))
		require.NoError(t, err)
		require.Equal(t, "kept one", string(got))
		got, err = f.db.Get([]byte("kept"), f.col, f.key("none"))
		require.ErrorIs(t, err, engine.ErrNotFound)
		require.Equal(t, "kept", string(got))
	})
	t.Run("what get returns belongs to the caller", func(t *testing.T) {
		got, err := f.db.Get(nil, f.col, f.key("a"))
		require.NoError(t, err)
		copy(got, "XXX")
		f.has(f.db, "a", "one")
	})
	t.Run("neither get nor apply keeps what it is given", func(t *testing.T) {
		key, value := f.key("mine"), []byte("before")
		b := made(func(b *engine.Batch) { b.Put(f.col, key, value) })
		copy(value, "AFTER!")
		key[len(key)-1] = 'X'
		require.NoError(t, f.db.Apply(b))
		b.Reset()
		f.has(f.db, "mine", "before")
	})
	t.Run("bytes of every kind", func(t *testing.T) {
		key := string([]byte{0, 0xFF, 0, '\n', 0x80})
		f.put(key, "\x00\xff")
		f.has(f.db, key, "\x00\xff")
	})
}

func limits(t *testing.T, f *fixture) {
	t.Run("the largest value", func(t *testing.T) {
		large := bytes.Repeat([]byte("stoa"), engine.MaxValue/4)
		f.apply(func(b *engine.Batch) { b.Put(f.col, f.key("large"), large) })
		got, err := f.db.Get(nil, f.col, f.key("large"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(large, got))
		it, err := f.db.Iterate(f.col, f.all())
		require.NoError(t, err)
		require.True(t, it.Next(), it.Err())
		require.True(t, bytes.Equal(large, it.Value()))
		require.NoError(t, it.Close())
	})
	t.Run("a value that is too large", func(t *testing.T) {
		err := f.db.Apply(made(func(b *engine.Batch) {
			b.Put(f.col, f.key("before"), nil)
			b.Put(f.col, f.key("larger"), make([]byte, engine.MaxValue+1))
		}))
		require.ErrorIs(t, err, engine.ErrTooLarge)
		f.lacks(f.db, "before")
	})
	t.Run("a batch that is too large", func(t *testing.T) {
		err := f.db.Apply(made(func(b *engine.Batch) {
			for range 5 {
				b.Put(f.col, f.key("before"), make([]byte, engine.MaxBatch/4))
			}
		}))
		require.ErrorIs(t, err, engine.ErrTooLarge)
		f.lacks(f.db, "before")
	})
	t.Run("the longest key", func(t *testing.T) {
		long := strings.Repeat("k", 65535)
		f.put(long, "1", long[:len(long)-1], "2")
		f.has(f.db, long, "1")
		f.has(f.db, long[:len(long)-1], "2")
	})
}

func deletes(t *testing.T, f *fixture) {
	f.put("a", "1", "b", "2", "c", "3", "d", "4")
	f.apply(func(b *engine.Batch) { b.Delete(f.col, f.key("b")); b.Delete(f.col, f.key("none")) })
	f.lacks(f.db, "b")
	require.Equal(t, []string{"a", "1", "c", "3", "d", "4"}, f.scan(f.db, f.all()))

	t.Run("a range ends before its end", func(t *testing.T) {
		f.apply(func(b *engine.Batch) { b.DeleteRange(f.col, f.key("a"), f.key("d")) })
		require.Equal(t, []string{"d", "4"}, f.scan(f.db, f.all()))
		f.lacks(f.db, "c")
	})
	t.Run("changes count in their order", func(t *testing.T) {
		f.apply(func(b *engine.Batch) {
			b.Put(f.col, f.key("x"), []byte("early"))
			b.DeleteRange(f.col, f.key("a"), f.key("z"))
			b.Put(f.col, f.key("y"), []byte("late"))
			b.Put(f.col, f.key("w"), []byte("gone"))
			b.Delete(f.col, f.key("w"))
		})
		require.Equal(t, []string{"y", "late"}, f.scan(f.db, f.all()))
	})
	t.Run("a range of another column is untouched", func(t *testing.T) {
		for _, col := range f.config.Space.Columns[1:] {
			f.apply(func(b *engine.Batch) { b.Put(col, f.key("m"), []byte("here")) })
		}
		f.apply(func(b *engine.Batch) { b.DeleteRange(f.col, f.key("a"), f.key("z")) })
		for _, col := range f.config.Space.Columns[1:] {
			require.Equal(t, []string{"m", "here"}, f.scanIn(f.db, col, f.all()))
		}
	})
	t.Run("a range without keys in it is refused", func(t *testing.T) {
		for _, end := range []string{"a", "A"} {
			err := f.db.Apply(made(func(b *engine.Batch) { b.DeleteRange(f.col, f.key("a"), f.key(end)) }))
			require.ErrorIs(t, err, engine.ErrBatch)
		}
	})
}

func multiGet(t *testing.T, f *fixture) {
	f.put("a", "1", "b", "", "c", "three")
	look := func(names ...string) []engine.Lookup {
		l := make([]engine.Lookup, len(names))
		for i, n := range names {
			l[i] = engine.Lookup{Column: f.col, Key: f.key(n)}
		}
		return l
	}
	l := look("c", "none", "a", "b", "a")
	buf, err := f.db.MultiGet([]byte("kept"), l)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(buf), "kept"))
	want := []string{"three", "", "1", "", "1"}
	for i := range l {
		require.Equal(t, i != 1, l[i].Found, "lookup %d", i)
		require.Equal(t, want[i], string(l[i].Value), "lookup %d", i)
	}
	require.Nil(t, l[1].Value)

	t.Run("none at all", func(t *testing.T) {
		_, err := f.db.MultiGet(nil, nil)
		require.NoError(t, err)
	})
	t.Run("a buffer that is used again", func(t *testing.T) {
		for range 3 {
			l := look("a", "c")
			buf, err = f.db.MultiGet(buf[:0], l)
			require.NoError(t, err)
			require.Equal(t, "1", string(l[0].Value))
			require.Equal(t, "three", string(l[1].Value))
		}
	})
	t.Run("lookups that are used again", func(t *testing.T) {
		l := look("a")
		_, err := f.db.MultiGet(nil, l)
		require.NoError(t, err)
		l[0].Key = f.key("none")
		_, err = f.db.MultiGet(nil, l)
		require.NoError(t, err)
		require.False(t, l[0].Found)
		require.Nil(t, l[0].Value)
	})
	t.Run("values of several sizes", func(t *testing.T) {
		var names []string
		f.apply(func(b *engine.Batch) {
			for i := range 300 {
				names = append(names, strings.Repeat("n", i))
				b.Put(f.col, f.key(names[i]), bytes.Repeat([]byte{byte(i)}, i*37))
			}
		})
		l := look(names...)
		_, err := f.db.MultiGet(nil, l)
		require.NoError(t, err)
		for i := range l {
			require.True(t, bytes.Equal(bytes.Repeat([]byte{byte(i)}, i*37), l[i].Value), "lookup %d", i)
		}
	})
}
