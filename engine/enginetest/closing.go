package enginetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

var closing = []promise{
	{"every method of a closed engine says that it is closed", everyMethod},
	{"closing ends iterators and snapshots", func(t *trial) {
		want := t.fill(t.col, "k", 3000, 2000)
		fresh, used := t.iterate(t.db, t.col, t.bounds("", "")), t.iterate(t.db, t.col, t.bounds("", ""))
		require.True(t, used.Next())
		s := t.snapshot()
		over := t.iterate(s, t.col, t.bounds("", ""))
		require.NoError(t, t.db.Close())

		t.requireCutOff(fresh, want)
		t.requireCutOff(used, want[1:])
		t.requireCutOff(over, want)
		_, err := s.Get(nil, t.col, t.key("k000000"))
		require.ErrorIs(t, err, engine.ErrClosed)
		_, err = s.Iterate(t.col, t.bounds("", ""))
		require.ErrorIs(t, err, engine.ErrClosed)
		require.ErrorIs(t, s.Close(), engine.ErrClosed)
		for _, it := range []*engine.Iterator{fresh, used, over} {
			require.NoError(t, it.Close())
		}
	}},
	{"closing while others read and write loses no acknowledged write", closeUnderLoad},
}

func everyMethod(t *trial) {
	t.put(t.col, "k", "v")
	require.NoError(t, t.db.Close())
	b := batch()
	b.Put(t.col, t.key("k"), nil)
	guarded := batch()
	guarded.ExpectAbsent(t.col, t.key("none"))
	calls := map[string]func() error{
		"Get": func() error {
			got, err := t.db.Get([]byte("dst"), t.col, t.key("k"))
			require.Equal(t, "dst", string(got))
			return err
		},
		"MultiGet": func() error {
			got, err := t.db.MultiGet([]byte("buf"), []engine.Lookup{{Column: t.col, Key: t.key("k")}})
			require.Equal(t, "buf", string(got))
			return err
		},
		"Iterate":          func() error { _, err := t.db.Iterate(t.col, t.bounds("", "")); return err },
		"Apply":            func() error { return t.db.Apply(b) },
		"Apply, guarded":   func() error { return t.db.Apply(guarded) },
		"Apply of nothing": func() error { return t.db.Apply(batch()) },
		"Snapshot":         func() error { _, err := t.db.Snapshot(); return err },
		"Close":            t.db.Close,
	}
	if u, ok := t.db.(updater); ok {
		calls["Update"] = func() error {
			return u.Update(func(engine.Getter, *engine.Batch) error { t.Error("called"); return nil })
		}
	}
	if m, ok := t.db.(engine.Maintenance); ok {
		calls["Reopen"] = m.Reopen
		calls["Flush"] = m.Flush
		calls["Stats"] = func() error { _, err := m.Stats(); return err }
		calls["ApproximateSize"] = func() error { _, err := m.ApproximateSize(t.col, t.bounds("", "")); return err }
		calls["Compact"] = func() error { return m.Compact(t.col, t.bounds("", "")) }
		calls["Checkpoint"] = func() error { return m.Checkpoint(t.TempDir() + "/checkpoint") }
		h := m.Health()
		require.False(t, h.Writable)
		require.NotEmpty(t, h.Reason)
	}
	for range 2 {
		for name, call := range calls {
			require.ErrorIs(t, call(), engine.ErrClosed, name)
		}
	}
}

// closeUnderLoad closes the DB while it is used from all sides.
func closeUnderLoad(t *trial) {
	const users = 8
	want := t.fill(t.col, "seed", 500, 100)
	var acked [users]atomic.Int64
	errs := make([]error, 2*users)
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			errs[i] = t.untilClosed(func(n int) error {
				b := batch()
				b.Put(t.other(), t.key(fmt.Sprintf("w%d-%06d", i, n)), []byte{1})
				err := t.db.Apply(b)
				if err == nil {
					acked[i].Add(1)
				}
				return err
			})
		})
		wg.Go(func() { errs[users+i] = t.untilClosed(func(n int) error { return t.readSeed(i, n, len(want)) }) })
	}
	time.Sleep(20 * time.Millisecond)
	closed := t.db.Close()
	wg.Wait()
	require.NoError(t, closed)
	require.NoError(t, errors.Join(errs...))
	if t.cfg.Reopen == nil {
		return
	}
	t.reopen()
	for i := range users {
		for n := range acked[i].Load() {
			t.requireValue(t.db, t.other(), fmt.Sprintf("w%d-%06d", i, n), "\x01")
		}
	}
}

// untilClosed calls fn until it returns ErrClosed, or any other error, which it
// returns.
func (t *trial) untilClosed(fn func(n int) error) error {
	for n := 0; ; n++ {
		if err := fn(n); errors.Is(err, engine.ErrClosed) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// readSeed reads in one of the ways that there are; a read without an error has
// to be whole.
func (t *trial) readSeed(way, n, whole int) error {
	r := engine.Range{Start: t.key("seed"), End: t.key("seee"), Reverse: n%2 == 0}
	var from engine.Reader = t.db
	switch way % 3 {
	case 0:
		_, err := t.db.Get(nil, t.col, t.key("seed000001"))
		return err
	case 1:
		s, err := t.db.Snapshot()
		if err != nil {
			return err
		}
		defer s.Close()
		from = s
	}
	it, err := from.Iterate(t.col, r)
	if err != nil {
		return err
	}
	defer it.Close()
	count := 0
	for it.Next() {
		count++
	}
	if it.Err() == nil && count != whole {
		return fmt.Errorf("an iteration without an error saw %d of %d entries", count, whole)
	}
	return it.Err()
}
