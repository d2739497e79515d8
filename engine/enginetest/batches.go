package enginetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func snapshots(t *testing.T, f *fixture) {
	f.put("a", "1", "b", "2")
	s, err := f.db.Snapshot()
	require.NoError(t, err)
	f.put("a", "later", "c", "later")
	f.apply(func(b *engine.Batch) { b.Delete(f.col, f.key("b")) })
	f.has(s, "a", "1")
	f.has(s, "b", "2")
	f.lacks(s, "c")
	require.Equal(t, []string{"a", "1", "b", "2"}, f.scan(s, f.all()))
	rg := f.all()
	rg.Reverse = true
	require.Equal(t, []string{"b", "2", "a", "1"}, f.scan(s, rg))
	l := []engine.Lookup{{Column: f.col, Key: f.key("b")}, {Column: f.col, Key: f.key("c")}}
	_, err = s.MultiGet(nil, l)
	require.NoError(t, err)
	require.Equal(t, "2", string(l[0].Value))
	require.False(t, l[1].Found)
	f.has(f.db, "a", "later")

	t.Run("several at once", func(t *testing.T) {
		var taken []engine.Snapshot
		for i := range 10 {
			f.put("n", fmt.Sprint(i))
			one, err := f.db.Snapshot()
			require.NoError(t, err)
			taken = append(taken, one)
		}
		for i, one := range taken {
			f.has(one, "n", fmt.Sprint(i))
			require.NoError(t, one.Close())
		}
	})
	t.Run("once closed", func(t *testing.T) {
		require.NoError(t, s.Close())
		_, err := s.Get(nil, f.col, f.key("a"))
		require.ErrorIs(t, err, engine.ErrClosed)
		_, err = s.MultiGet(nil, l)
		require.ErrorIs(t, err, engine.ErrClosed)
		_, err = s.Iterate(f.col, f.all())
		require.ErrorIs(t, err, engine.ErrClosed)
		require.ErrorIs(t, s.Close(), engine.ErrClosed)
		f.has(f.db, "a", "later")
	})
}

func batches(t *testing.T, f *fixture) {
	t.Run("over all columns at once", func(t *testing.T) {
		f.apply(func(b *engine.Batch) {
			for _, col := range f.config.Space.Columns {
				b.Put(col, f.key("k"), []byte(col.String()))
			}
		})
		for _, col := range f.config.Space.Columns {
			require.Equal(t, []string{"k", col.String()}, f.scanIn(f.db, col, f.all()))
		}
	})
	t.Run("an empty one", func(t *testing.T) {
		require.NoError(t, f.db.Apply(new(engine.Batch)))
	})
	t.Run("used again", func(t *testing.T) {
		b := made(func(b *engine.Batch) { b.Put(f.col, f.key("once"), nil) })
		require.NoError(t, f.db.Apply(b))
		f.apply(func(b *engine.Batch) { b.Delete(f.col, f.key("once")) })
		b.Reset()
		b.Put(f.col, f.key("twice"), nil)
		require.NoError(t, f.db.Apply(b))
		f.lacks(f.db, "once")
		f.has(f.db, "twice", "")
	})
	t.Run("one that has failed writes nothing", func(t *testing.T) {
		failure := errors.New("no bytes for it")
		err := f.db.Apply(made(func(b *engine.Batch) {
			b.Put(f.col, f.key("failed"), nil)
			b.Fail(failure)
			b.Fail(errors.New("another"))
		}))
		require.ErrorIs(t, err, failure)
		f.lacks(f.db, "failed")
	})
	t.Run("durable", func(t *testing.T) {
		b := new(engine.Batch)
		b.Put(f.col, f.key("durable"), []byte("yes"))
		require.Equal(t, engine.Synced, b.Durability)
		require.NoError(t, f.db.Apply(b))
		f.has(f.db, "durable", "yes")
	})
	t.Run("a durability that is none", func(t *testing.T) {
		b := made(func(b *engine.Batch) { b.Put(f.col, f.key("what"), nil) })
		b.Durability = 9
		require.ErrorIs(t, f.db.Apply(b), engine.ErrBatch)
		f.lacks(f.db, "what")
	})
}

func guards(t *testing.T, f *fixture) {
	f.put("a", "1", "empty", "")
	holds := func(guard func(*engine.Batch)) error {
		return f.db.Apply(made(func(b *engine.Batch) {
			guard(b)
			b.Put(f.col, f.key("done"), []byte("yes"))
		}))
	}
	for name, guard := range map[string]func(*engine.Batch){
		"the value":       func(b *engine.Batch) { b.Expect(f.col, f.key("a"), []byte("1")) },
		"the empty value": func(b *engine.Batch) { b.Expect(f.col, f.key("empty"), nil) },
		"absence":         func(b *engine.Batch) { b.ExpectAbsent(f.col, f.key("none")) },
		"all of them": func(b *engine.Batch) {
			b.ExpectAbsent(f.col, f.key("none"))
			b.Expect(f.col, f.key("a"), []byte("1"))
		},
	} {
		t.Run("holds: "+name, func(t *testing.T) {
			require.NoError(t, holds(guard))
			f.has(f.db, "done", "yes")
			f.apply(func(b *engine.Batch) { b.Delete(f.col, f.key("done")) })
		})
	}
	for name, c := range map[string]struct {
		key    string
		absent bool
		guard  func(*engine.Batch)
	}{
		"another value":                    {"a", false, func(b *engine.Batch) { b.Expect(f.col, f.key("a"), []byte("2")) }},
		"a value where nothing is":         {"none", false, func(b *engine.Batch) { b.Expect(f.col, f.key("none"), []byte("1")) }},
		"the empty value where nothing is": {"none", false, func(b *engine.Batch) { b.Expect(f.col, f.key("none"), nil) }},
		"nothing where a value is":         {"a", true, func(b *engine.Batch) { b.ExpectAbsent(f.col, f.key("a")) }},
		"nothing where the empty value is": {"empty", true, func(b *engine.Batch) { b.ExpectAbsent(f.col, f.key("empty")) }},
		"the second of two": {"a", false, func(b *engine.Batch) {
			b.ExpectAbsent(f.col, f.key("none"))
			b.Expect(f.col, f.key("a"), []byte("11"))
		}},
	} {
		t.Run("does not hold: "+name, func(t *testing.T) {
			err := holds(c.guard)
			require.ErrorIs(t, err, engine.ErrConflict)
			var conflict *engine.Conflict
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, f.col, conflict.Column)
			require.Equal(t, f.key(c.key), conflict.Key)
			require.Equal(t, c.absent, conflict.Absent)
			f.lacks(f.db, "done")
		})
	}
	t.Run("guards look at the state before the batch", func(t *testing.T) {
		require.NoError(t, f.db.Apply(made(func(b *engine.Batch) {
			b.Put(f.col, f.key("a"), []byte("2"))
			b.Expect(f.col, f.key("a"), []byte("1"))
		})))
		f.has(f.db, "a", "2")
	})
	t.Run("guards alone", func(t *testing.T) {
		require.NoError(t, f.db.Apply(made(func(b *engine.Batch) { b.Expect(f.col, f.key("a"), []byte("2")) })))
		require.ErrorIs(t, f.db.Apply(made(func(b *engine.Batch) { b.ExpectAbsent(f.col, f.key("a")) })), engine.ErrConflict)
	})
}

func updates(t *testing.T, f *fixture) {
	u, ok := f.db.(Updater)
	if !ok {
		t.Log("no updates here")
		return
	}
	f.put("n", "1")
	require.NoError(t, u.Update(func(r engine.Getter, b *engine.Batch) error {
		f.has(r, "n", "1")
		f.lacks(r, "m")
		b.Put(f.col, f.key("n"), []byte("2"))
		f.has(r, "n", "1") // as it is before the batch
		return nil
	}))
	f.has(f.db, "n", "2")

	t.Run("an error writes nothing", func(t *testing.T) {
		failure := errors.New("no")
		require.ErrorIs(t, u.Update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(f.col, f.key("n"), []byte("3"))
			return failure
		}), failure)
		f.has(f.db, "n", "2")
	})
	t.Run("a batch that cannot be written writes nothing", func(t *testing.T) {
		require.ErrorIs(t, u.Update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(f.col, f.key("n"), make([]byte, engine.MaxValue+1))
			return nil
		}), engine.ErrTooLarge)
		require.ErrorIs(t, u.Update(func(_ engine.Getter, b *engine.Batch) error {
			b.Expect(f.col, f.key("n"), []byte("other"))
			b.Put(f.col, f.key("n"), []byte("3"))
			return nil
		}), engine.ErrConflict)
		f.has(f.db, "n", "2")
	})
	t.Run("nothing to write", func(t *testing.T) {
		require.NoError(t, u.Update(func(engine.Getter, *engine.Batch) error { return nil }))
	})
	t.Run("a panic is the caller's, and nobody else's", func(t *testing.T) {
		require.PanicsWithValue(t, "mine", func() {
			u.Update(func(_ engine.Getter, b *engine.Batch) error {
				b.Put(f.col, f.key("n"), []byte("3"))
				panic("mine")
			})
		})
		f.has(f.db, "n", "2")
		f.put("n", "4")
		f.has(f.db, "n", "4")
	})
}
