package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// races runs many goroutines against each other. Each failure is counted, not
// asserted, in the goroutines.
func races(t *testing.T, f *fixture) {
	t.Run("compare and swap by 64", func(t *testing.T) {
		const writers = 64
		each := Scale(20)
		f.put("counter", string(make([]byte, 8)))
		together(t, writers, func(int) error {
			for range each {
				if err := f.increment("counter"); err != nil {
					return err
				}
			}
			return nil
		})
		require.EqualValues(t, writers*each, f.count("counter"))
	})
	if u, ok := f.db.(Updater); ok {
		t.Run("updates by 64", func(t *testing.T) {
			const writers = 64
			each := Scale(100)
			together(t, writers, func(g int) error {
				for range each {
					err := u.Update(func(r engine.Getter, b *engine.Batch) error {
						b.Durability = engine.WAL
						n, err := r.Get(nil, f.col, f.key("updated"))
						if errors.Is(err, engine.ErrNotFound) {
							n, err = make([]byte, 8), nil
						}
						if g%2 == 0 { // what a range deletion takes is seen to be gone
							b.DeleteRange(f.col, f.key("updated"), f.key("updated\x00"))
						}
						b.Put(f.col, f.key("updated"), binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(n)+1))
						return err
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
			require.EqualValues(t, writers*each, f.count("updated"))
		})
	}
	t.Run("readers never see half a batch", func(t *testing.T) {
		rounds := Scale(300)
		f.put("left", "0", "right", "0")
		together(t, 8, func(g int) error {
			for i := range rounds {
				if g < 2 {
					v := fmt.Appendf(nil, "%d-%d", g, i)
					if err := f.db.Apply(made(func(b *engine.Batch) {
						b.Put(f.col, f.key("left"), v)
						b.Put(f.col, f.key("right"), v)
					})); err != nil {
						return err
					}
				} else if err := f.equal(g); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// equal reads left and right in one of three ways and compares them.
func (f *fixture) equal(way int) error {
	l := []engine.Lookup{{Column: f.col, Key: f.key("left")}, {Column: f.col, Key: f.key("right")}}
	switch way % 3 {
	case 0:
		if _, err := f.db.MultiGet(nil, l); err != nil {
			return err
		}
	case 1:
		s, err := f.db.Snapshot()
		if err != nil {
			return err
		}
		defer s.Close()
		for i := range l {
			if l[i].Value, err = s.Get(nil, f.col, l[i].Key); err != nil {
				return err
			}
		}
	case 2:
		it, err := f.db.Iterate(f.col, engine.Range{Start: f.key("left"), End: f.key("right\x00")})
		if err != nil {
			return err
		}
		defer it.Close()
		for i := range l {
			if !it.Next() {
				return fmt.Errorf("entry %d is missing: %w", i, it.Err())
			}
			l[i].Value = append([]byte(nil), it.Value()...)
		}
	}
	if string(l[0].Value) != string(l[1].Value) {
		return fmt.Errorf("half a batch: %s, %s", l[0].Value, l[1].Value)
	}
	return nil
}

// increment adds 1 to a counter by compare and swap, until it succeeds.
func (f *fixture) increment(name string) error {
	for {
		old, err := f.db.Get(nil, f.col, f.key(name))
		if err != nil {
			return err
		}
		err = f.db.Apply(made(func(b *engine.Batch) {
			b.Expect(f.col, f.key(name), old)
			b.Put(f.col, f.key(name), binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(old)+1))
		}))
		if !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
}

func (f *fixture) count(name string) uint64 {
	f.t.Helper()
	n, err := f.db.Get(nil, f.col, f.key(name))
	require.NoError(f.t, err)
	return binary.BigEndian.Uint64(n)
}

// together runs n goroutines and fails the test for the first error of each.
func together(t testing.TB, n int, work func(g int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() { errs[g] = work(g) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// closing closes the DB while it is in use, and asks everything of it then.
func closing(t *testing.T, f *fixture) {
	f.put("a", "1", "b", "2")
	s, err := f.db.Snapshot()
	require.NoError(t, err)
	it, err := f.db.Iterate(f.col, f.all())
	require.NoError(t, err)
	started := make(chan struct{}, 8)
	done := make(chan error, 1)
	go func() {
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for g := range errs {
			wg.Go(func() { errs[g] = f.untilClosed(g, started) })
		}
		wg.Wait()
		done <- errors.Join(errs...)
	}()
	for range cap(started) {
		<-started
	}
	require.NoError(t, f.db.Close())
	require.NoError(t, <-done)

	require.False(t, it.Next())
	require.ErrorIs(t, it.Err(), engine.ErrClosed)
	it.Close()
	_, err = s.Get(nil, f.col, f.key("a"))
	require.ErrorIs(t, err, engine.ErrClosed)
	s.Close()
	_, err = f.db.Get(nil, f.col, f.key("a"))
	require.ErrorIs(t, err, engine.ErrClosed)
	_, err = f.db.MultiGet(nil, []engine.Lookup{{Column: f.col, Key: f.key("a")}})
	require.ErrorIs(t, err, engine.ErrClosed)
	_, err = f.db.Iterate(f.col, f.all())
	require.ErrorIs(t, err, engine.ErrClosed)
	_, err = f.db.Snapshot()
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorIs(t, f.db.Apply(made(func(b *engine.Batch) { b.Put(f.col, f.key("a"), nil) })), engine.ErrClosed)
	require.ErrorIs(t, f.db.Close(), engine.ErrClosed)
	if e, ok := f.db.(engine.Engine); ok {
		require.ErrorIs(t, e.Update(func(engine.Getter, *engine.Batch) error { return nil }), engine.ErrClosed)
		_, err = e.Stats()
		require.ErrorIs(t, err, engine.ErrClosed)
		_, err = e.ApproximateSize(f.col, f.all())
		require.ErrorIs(t, err, engine.ErrClosed)
		require.ErrorIs(t, e.Flush(), engine.ErrClosed)
		require.ErrorIs(t, e.Compact(f.col, engine.Range{}), engine.ErrClosed)
		require.ErrorIs(t, e.Reopen(), engine.ErrClosed)
		require.False(t, e.Health().Writable)
		require.NotEmpty(t, e.Health().Reason)
	}
}

// untilClosed uses the DB in one of four ways until it is closed. Nothing but
// ErrClosed may come of that.
func (f *fixture) untilClosed(way int, started chan<- struct{}) error {
	for i := 0; ; i++ {
		var err error
		switch way % 4 {
		case 0:
			_, err = f.db.Get(nil, f.col, f.key("a"))
		case 1:
			err = f.db.Apply(made(func(b *engine.Batch) { b.Put(f.col, f.key(fmt.Sprint(rand.IntN(100))), []byte("x")) }))
		case 2:
			var it *engine.Iterator
			if it, err = f.db.Iterate(f.col, f.all()); err == nil {
				for it.Next() {
				}
				err = it.Err()
				it.Close()
			}
		case 3:
			var s engine.Snapshot
			if s, err = f.db.Snapshot(); err == nil {
				_, err = s.Get(nil, f.col, f.key("a"))
				s.Close()
			}
		}
		if i == 0 {
			started <- struct{}{}
		}
		if errors.Is(err, engine.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func reopening(t *testing.T, f *fixture) {
	if f.config.Reopen == nil {
		t.Log("nothing outlives the DB")
		return
	}
	large := make([]byte, 1<<20)
	f.put("a", "1", "b", "2", "gone", "soon")
	f.apply(func(b *engine.Batch) {
		b.Delete(f.col, f.key("gone"))
		b.Put(f.col, f.key("large"), large)
	})
	f.db = f.config.Reopen(t, f.db)
	require.Equal(t, []string{"a", "1", "b", "2", "large", string(large)}, f.scan(f.db, f.all()))
	f.put("c", "3")
	f.db = f.config.Reopen(t, f.db)
	f.has(f.db, "c", "3")
	f.has(f.db, "a", "1")
}
