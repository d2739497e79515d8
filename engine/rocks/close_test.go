//go:build cgo

package rocks

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// work uses the engine in all ways until something fails, and returns what.
func work(e *Engine, i int) error {
	key := []byte(ctx(i))
	for {
		b := engine.Batch{Durability: engine.WAL}
		b.Put(column.State, key, key)
		it, err := e.Iterate(column.State, engine.Range{})
		if err != nil {
			return err
		}
		for range 40 {
			it.Next()
		}
		if it.Err() != nil {
			return errors.Join(it.Err(), it.Close())
		}
		s, err := e.Snapshot()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		_, err = s.Get(nil, column.State, []byte(ctx(3)))
		of, ierr := s.Iterate(column.State, engine.Range{})
		if ierr == nil {
			of.Next()
			ierr = errors.Join(of.Err(), of.Close())
		}
		_, merr := e.MultiGet(nil, []engine.Lookup{{Column: column.State, Key: key}})
		if i%2 == 0 { // the others leave theirs open
			it.Close()
			s.Close()
		}
		if err := errors.Join(err, ierr, merr, e.Apply(&b)); err != nil {
			return err
		}
	}
}

func TestCloseUnderLoadEndsEverythingWithErrClosed(t *testing.T) {
	for round := range enginetest.Scale(10) {
		e := open(t, t.TempDir(), Options{WatermarkEvery: 10 * time.Millisecond})
		var b engine.Batch
		for i := range 3000 {
			b.Put(column.State, []byte(ctx(i)), make([]byte, 100))
		}
		require.NoError(t, e.Apply(&b))
		if round%2 == 0 {
			require.NoError(t, e.Flush())
		}
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				if err := work(e, i); !errors.Is(err, engine.ErrClosed) {
					t.Errorf("worker %d: %v", i, err)
				}
			})
		}
		group.Go(func() { e.Compact(column.State, engine.Range{}) })
		time.Sleep(time.Duration(round) * 3 * time.Millisecond)
		require.NoError(t, e.Close())
		group.Wait()
	}
}

func TestReopenUnderLoad(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.State, ctx(3), "")
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for {
				err := work(e, i)
				if e.Health().Reason == "engine: closed" {
					return
				}
				if !errors.Is(err, engine.ErrClosed) && !errors.Is(err, engine.ErrReadOnly) {
					t.Errorf("worker %d: %v", i, err)
				}
			}
		})
	}
	for range 3 {
		time.Sleep(10 * time.Millisecond)
		e.fail(errors.New("made up"))
		require.NoError(t, e.Reopen())
	}
	require.NoError(t, e.Close())
	group.Wait()
}

func TestClosedEngineReturnsErrClosed(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	it, err := e.Iterate(column.Meta, engine.Range{})
	require.NoError(t, err)
	s, err := e.Snapshot()
	require.NoError(t, err)
	of, err := s.Iterate(column.Meta, engine.Range{})
	require.NoError(t, err)
	id := e.NodeID()
	require.NoError(t, e.Close())

	require.False(t, it.Next())
	require.False(t, of.Next())
	_, getErr := e.Get(nil, column.Meta, []byte("k"))
	_, multiErr := e.MultiGet(nil, nil)
	_, iterErr := e.Iterate(column.Meta, engine.Range{})
	_, snapErr := e.Snapshot()
	_, statsErr := e.Stats()
	_, sizeErr := e.ApproximateSize(column.Meta, engine.Range{})
	_, ofGetErr := s.Get(nil, column.Meta, []byte("k"))
	_, ofMultiErr := s.MultiGet(nil, nil)
	_, ofIterErr := s.Iterate(column.Meta, engine.Range{})
	for what, err := range map[string]error{
		"Iterator": it.Err(), "Iterator of Snapshot": of.Err(), "Get": getErr, "MultiGet": multiErr, "Iterate": iterErr,
		"Snapshot": snapErr, "Stats": statsErr, "ApproximateSize": sizeErr, "Snapshot.Get": ofGetErr, "Snapshot.MultiGet": ofMultiErr,
		"Snapshot.Iterate": ofIterErr, "Snapshot.Close": s.Close(), "Apply": e.Apply(onePut()), "Flush": e.Flush(), "Reopen": e.Reopen(),
		"Update":     e.Update(func(engine.Getter, *engine.Batch) error { return nil }),
		"Compact":    e.Compact(column.Meta, engine.Range{}),
		"Checkpoint": e.Checkpoint(filepath.Join(t.TempDir(), "c")),
		"Close":      e.Close(),
	} {
		require.ErrorIs(t, err, engine.ErrClosed, what)
	}
	require.NoError(t, it.Close())
	require.NoError(t, of.Close())
	require.False(t, e.Health().Writable)
	require.Equal(t, id, e.NodeID())
}

func TestIteratorOutlivesNothing(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	s, err := e.Snapshot()
	require.NoError(t, err)
	put(t, e, engine.Synced, column.Meta, "k", "w")
	require.Equal(t, "v", get(t, s, column.Meta, "k"))
	require.Equal(t, []string{"k=v"}, list(t, s, column.Meta, engine.Range{}))
	st, err := e.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 1, st.Snapshots)
	it, err := s.Iterate(column.Meta, engine.Range{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.False(t, it.Next())
	require.ErrorIs(t, it.Err(), engine.ErrClosed)
	require.NoError(t, it.Close())
	require.NoError(t, it.Close())
	require.ErrorIs(t, s.Close(), engine.ErrClosed)
	st, err = e.Stats()
	require.NoError(t, err)
	require.Zero(t, st.Snapshots)
}
