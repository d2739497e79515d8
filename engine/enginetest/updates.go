package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

var updates = []promise{
	{"an update reads, computes and writes", func(t *trial) {
		t.put(t.col, "k", "v")
		require.NoError(t, t.update(func(g engine.Getter, b *engine.Batch) error {
			v, err := g.Get(nil, t.col, t.key("k"))
			if err != nil {
				return err
			}
			if _, err := g.Get(nil, t.col, t.key("none")); !errors.Is(err, engine.ErrNotFound) {
				return fmt.Errorf("none: %w", err)
			}
			b.Put(t.other(), t.key("copy"), v)
			b.Delete(t.col, t.key("k"))
			return nil
		}))
		t.requireValue(t.db, t.other(), "copy", "v")
		t.requireAbsent(t.db, t.col, "k")
	}},
	{"an update that returns an error writes nothing", func(t *trial) {
		failure := errors.New("changed my mind")
		require.ErrorIs(t, t.update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(t.col, t.key("k"), []byte("v"))
			return failure
		}), failure)
		require.ErrorIs(t, t.update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(t.col, t.key("k"), []byte("v"))
			b.Fail(failure)
			return nil
		}), failure)
		require.ErrorIs(t, t.update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(t.col, t.key("k"), []byte("v"))
			b.Put(t.col, t.key("l"), make([]byte, engine.MaxValue+1))
			return nil
		}), engine.ErrTooLarge)
		require.ErrorIs(t, t.update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(t.col, t.key("k"), []byte("v"))
			b.Put(0, t.key("l"), nil)
			return nil
		}), engine.ErrBatch)
		require.Empty(t, t.all(t.db))
	}},
	{"an update may have expectations, and may do nothing", func(t *trial) {
		require.NoError(t, t.update(func(engine.Getter, *engine.Batch) error { return nil }))
		err := t.update(func(_ engine.Getter, b *engine.Batch) error {
			b.Expect(t.col, t.key("k"), []byte("v"))
			b.Put(t.col, t.key("l"), nil)
			return nil
		})
		t.requireConflict(err, t.col, "k", false)
		require.Empty(t, t.all(t.db))
	}},
	{"what an update reads and what it was given may be kept as copies only", func(t *trial) {
		value := []byte("value")
		require.NoError(t, t.update(func(_ engine.Getter, b *engine.Batch) error {
			b.Durability = engine.WAL
			b.Put(t.col, t.key("k"), value)
			copy(value, "xxxxx")
			return nil
		}))
		for i := range 10 {
			require.NoError(t, t.update(func(_ engine.Getter, b *engine.Batch) error {
				b.Durability = engine.WAL
				b.Put(t.col, t.key("z"), []byte{byte(i), 1, 2, 3, 4})
				return nil
			}))
		}
		t.requireValue(t.db, t.col, "k", "value")
	}},
	{"an update reads a range as it leaves it, with what others in its group have done", func(t *trial) {
		n := Scale(30)
		t.put(t.col, "r", "v")
		t.together(writers, func(i int) error {
			for range n {
				if err := t.update(func(g engine.Getter, b *engine.Batch) error { return t.appendOne(g, b, i) }); err != nil {
					return err
				}
			}
			return nil
		})
		require.Len(t, t.list(t.db, t.col, t.bounds("r", "s")), 1+writers*n)
	}},
	{"a panic in an update reaches its caller and nobody else", func(t *trial) {
		n := Scale(20)
		t.together(16, func(i int) error {
			for j := range n {
				key := t.key(fmt.Sprintf("%d-%d", i, j))
				got, err := t.recovered(func() error {
					return t.update(func(_ engine.Getter, b *engine.Batch) error {
						b.Durability = engine.WAL
						b.Put(t.col, key, nil)
						if i == 0 {
							panic(j)
						}
						return nil
					})
				})
				if err != nil || (i == 0) != (got == any(j)) {
					return fmt.Errorf("update %d-%d: panic %v, error %w", i, j, got, err)
				}
			}
			return nil
		})
		require.Len(t, t.list(t.db, t.col, t.bounds("", "")), 15*n)
		t.put(t.col, "after", "v")
	}},
	{"increments in updates add up", func(t *trial) {
		n := Scale(30)
		t.together(writers, func(int) error {
			for range n {
				if err := t.update(t.addOne); err != nil {
					return err
				}
			}
			return nil
		})
		got, err := t.db.Get(nil, t.col, t.key("counter"))
		require.NoError(t, err)
		require.EqualValues(t, writers*n, binary.BigEndian.Uint64(got))
	}},
	{"updates see what others put and delete before them", func(t *trial) {
		// Each round empties a range and fills it, while others count what is in
		// it: they must find all of it or nothing.
		n := Scale(50)
		keys := []string{"r1", "r2", "r3", "r4"}
		t.together(16, func(i int) error {
			for range n {
				var err error
				switch i % 4 {
				case 0:
					b := batch()
					b.DeleteRange(t.col, t.key("r"), t.key("s"))
					err = t.db.Apply(b)
				case 1:
					b := batch()
					b.DeleteRange(t.col, t.key("q"), t.key("s"))
					for _, k := range keys {
						b.Put(t.col, t.key(k), []byte{byte(i)})
					}
					err = t.db.Apply(b)
				default:
					err = t.update(func(g engine.Getter, b *engine.Batch) error { return t.allOrNothing(g, b, keys) })
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}},
}

func (t *trial) update(fn func(engine.Getter, *engine.Batch) error) error {
	return t.db.(updater).Update(fn)
}

func (t *trial) recovered(fn func() error) (got any, err error) {
	defer func() { got = recover() }()
	return nil, fn()
}

func (t *trial) addOne(g engine.Getter, b *engine.Batch) error {
	v, err := g.Get(nil, t.col, t.key("counter"))
	if errors.Is(err, engine.ErrNotFound) {
		v, err = make([]byte, 8), nil
	}
	if err != nil {
		return err
	}
	b.Durability = engine.WAL
	b.Put(t.col, t.key("counter"), binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(v)+1))
	return nil
}

// allOrNothing checks that keys are all there, with one value, or none.
func (t *trial) allOrNothing(g engine.Getter, b *engine.Batch, keys []string) error {
	b.Durability = engine.WAL
	found, values := 0, map[string]bool{}
	for _, k := range keys {
		v, err := g.Get(nil, t.col, t.key(k))
		if err == nil {
			found++
			values[string(v)] = true
		} else if !errors.Is(err, engine.ErrNotFound) {
			return err
		}
	}
	if found != 0 && (found != len(keys) || len(values) != 1) {
		return fmt.Errorf("found %d of %d keys with %d values", found, len(keys), len(values))
	}
	if found > 0 {
		b.Delete(t.col, t.key(keys[0]))
		b.Put(t.col, t.key(keys[0]), []byte(first(values)))
	}
	return nil
}

func first(set map[string]bool) string {
	for s := range set {
		return s
	}
	return ""
}

// appendOne puts a row behind the last of a range: every row is there if and only if
// each finds that of the one before.
func (t *trial) appendOne(g engine.Getter, b *engine.Batch, who int) error {
	var view engine.Overlay
	view.Reset(g, b)
	b.Durability = engine.WAL
	last := func() (string, error) {
		it, err := view.Iterate(t.col, engine.Range{Start: t.key("r"), End: t.key("s"), Reverse: true, Limit: 1})
		if err != nil {
			return "", err
		}
		defer it.Close()
		if !it.Next() {
			return "", fmt.Errorf("nothing in the range: %w", it.Err())
		}
		return string(it.Key()), nil
	}
	before, err := last()
	if err != nil {
		return err
	}
	next := binary.BigEndian.AppendUint64(t.key("r"), uint64(len(t.key("r"))))
	if len(before) == len(next) {
		binary.BigEndian.PutUint64(next[len(next)-8:], binary.BigEndian.Uint64([]byte(before)[len(before)-8:])+1)
	}
	b.Put(t.col, next, []byte{byte(who)})
	after, err := last()
	if err == nil && after != string(next) {
		err = fmt.Errorf("%x is last, %x was put", after, next)
	}
	return err
}
