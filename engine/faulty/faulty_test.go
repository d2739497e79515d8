package faulty_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnEngineWithoutAFaultKeepsTheContract(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		Open:  func(testing.TB) enginetest.DB { return faulty.New(mem.New(), faulty.Options{}) },
		Space: enginetest.KeySpace{Columns: slices.Collect(column.All)},
	})
}

const col = column.State

// write makes call i, an apply or an update.
func write(e engine.Engine, i int) error {
	key := fmt.Append(nil, i)
	if i%2 == 0 {
		var b engine.Batch
		b.Put(col, key, key)
		return e.Apply(&b)
	}
	return e.Update(func(_ engine.Getter, b *engine.Batch) error {
		b.Put(col, key, key)
		return nil
	})
}

func stored(t *testing.T, e engine.Reader) (keys []string) {
	t.Helper()
	it, err := e.Iterate(col, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		keys = append(keys, string(it.Key()))
	}
	require.NoError(t, it.Err())
	return keys
}

func TestFailedWriteHasNoEffectAndLaterOnesWork(t *testing.T) {
	full := errors.New("disk full")
	for at := 1; at <= 4; at++ {
		for _, want := range []error{nil, full} {
			f := faulty.New(mem.New(), faulty.Options{At: at, Err: want})
			for i := 1; i <= 4; i++ {
				require.Equal(t, i > at, f.Tripped())
				err := write(f, i)
				switch {
				case i != at:
					require.NoError(t, err)
				case want == nil:
					require.ErrorIs(t, err, faulty.ErrInjected)
				default:
					require.Equal(t, want, err)
				}
			}
			require.Equal(t, 4, f.Count(faulty.Writes))
			require.NotContains(t, stored(t, f), fmt.Sprint(at))
			require.Len(t, stored(t, f), 3)
		}
	}
}

func TestCrashAtEachWrite(t *testing.T) {
	for fault, kept := range map[faulty.Fault]int{faulty.CrashBefore: -1, faulty.CrashAfter: 0} {
		runs := 0
		for n := 1; ; n++ {
			f := faulty.New(mem.New(), faulty.Options{At: n, Fault: fault})
			var err error
			done := 0
			for i := 1; i <= 5 && err == nil; i++ {
				err = write(f, i)
				done = i
			}
			if !f.Tripped() {
				require.NoError(t, err)
				require.Equal(t, 6, n)
				break
			}
			runs++
			require.ErrorIs(t, err, faulty.ErrCrashed)
			require.Equal(t, n, done)
			require.Len(t, stored(t, f.Restart()), n+kept)
			require.ErrorIs(t, write(f, 9), faulty.ErrCrashed, "what has ended stays ended")
		}
		require.Equal(t, 5, runs)
	}
}

func TestAfterACrashEveryCallSaysSo(t *testing.T) {
	inner := mem.New()
	f := faulty.New(inner, faulty.Options{At: 2, Fault: faulty.CrashAfter})
	require.NoError(t, write(f, 0))
	s, err := f.Snapshot()
	require.NoError(t, err)
	it, err := f.Iterate(col, engine.Range{})
	require.NoError(t, err)
	require.ErrorIs(t, write(f, 2), faulty.ErrCrashed)

	for name, call := range map[string]func() error{
		"Get":             func() error { _, err := f.Get(nil, col, []byte("0")); return err },
		"MultiGet":        func() error { _, err := f.MultiGet(nil, nil); return err },
		"Iterate":         func() error { _, err := f.Iterate(col, engine.Range{}); return err },
		"Snapshot":        func() error { _, err := f.Snapshot(); return err },
		"Apply":           func() error { return write(f, 4) },
		"Update":          func() error { return write(f, 5) },
		"Reopen":          f.Reopen,
		"Flush":           f.Flush,
		"Compact":         func() error { return f.Compact(col, engine.Range{}) },
		"Checkpoint":      func() error { return f.Checkpoint(t.TempDir() + "/c") },
		"Stats":           func() error { _, err := f.Stats(); return err },
		"ApproximateSize": func() error { _, err := f.ApproximateSize(col, engine.Range{}); return err },
		"Close":           f.Close,
		"snapshot's Get":  func() error { _, err := s.Get(nil, col, []byte("0")); return err },
		"snapshot's scan": func() error { _, err := s.Iterate(col, engine.Range{}); return err },
		"iterator":        func() error { it.Next(); return it.Err() },
		"snapshot":        s.Close,
	} {
		require.ErrorIs(t, call(), faulty.ErrCrashed, name)
	}
	require.False(t, f.Health().Writable)
	require.NoError(t, it.Close())
	stats, err := inner.Stats()
	require.NoError(t, err)
	require.Zero(t, stats.Snapshots, "closing gives back what the inner engine holds")

	again := f.Restart()
	require.Equal(t, []string{"0", "2"}, stored(t, again))
	require.True(t, again.Health().Writable)
	require.NoError(t, again.Close())
	require.ErrorIs(t, inner.Close(), engine.ErrClosed)
}

// read reads in every way and returns the first error.
func read(e engine.Engine) error {
	if _, err := e.Get(nil, col, []byte("0")); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	l := []engine.Lookup{{Column: col, Key: []byte("0")}}
	if _, err := e.MultiGet(nil, l); err != nil {
		return fmt.Errorf("multiget: %w", err)
	}
	s, err := e.Snapshot()
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer s.Close()
	if _, err := s.Get(nil, col, []byte("0")); err != nil {
		return fmt.Errorf("snapshot get: %w", err)
	}
	it, err := s.Iterate(col, engine.Range{})
	if err != nil {
		return fmt.Errorf("iterate: %w", err)
	}
	defer it.Close()
	n := 0
	for it.Next() {
		n++
	}
	if it.Err() == nil && n != 100 {
		return fmt.Errorf("%d entries and no error", n)
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func TestFaultAtEachRead(t *testing.T) {
	var names []string
	for n := 1; ; n++ {
		f := faulty.New(mem.New(), faulty.Options{At: n, Calls: faulty.Reads})
		var b engine.Batch
		for i := range 100 { // two pages and more
			b.Put(col, fmt.Append(nil, i), nil)
		}
		require.NoError(t, f.Apply(&b))
		err := read(f)
		if !f.Tripped() {
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, faulty.ErrInjected)
		names = append(names, err.Error()[:len(err.Error())-len(": faulty: injected failure")])
		require.NoError(t, read(f), "later reads work")
	}
	require.Equal(t, []string{"get", "multiget", "snapshot", "snapshot get", "iterate", "page", "page"}, names[:7])
}

func TestFaultAtAReadOfAnUpdate(t *testing.T) {
	for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
		f := faulty.New(mem.New(), faulty.Options{At: 2, Calls: faulty.Reads, Fault: fault})
		var seen []error
		err := f.Update(func(g engine.Getter, b *engine.Batch) error {
			for range 3 {
				_, err := g.Get(nil, col, []byte("0"))
				seen = append(seen, err)
			}
			b.Put(col, []byte("0"), nil)
			return nil // as if the errors had been overlooked
		})
		require.ErrorIs(t, seen[0], engine.ErrNotFound)
		if fault == faulty.Fail {
			require.NoError(t, err)
			require.ErrorIs(t, seen[1], faulty.ErrInjected)
			require.ErrorIs(t, seen[2], engine.ErrNotFound)
			continue
		}
		require.ErrorIs(t, err, faulty.ErrCrashed)
		require.ErrorIs(t, seen[1], faulty.ErrCrashed)
		require.ErrorIs(t, seen[2], faulty.ErrCrashed)
		require.Empty(t, stored(t, f.Restart()))
	}
}

func TestAnUpdateWithoutEffectHasRun(t *testing.T) {
	for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore} {
		f := faulty.New(mem.New(), faulty.Options{At: 1, Fault: fault})
		ran := false
		err := f.Update(func(g engine.Getter, b *engine.Batch) error {
			_, err := g.Get(nil, col, []byte("0"))
			require.ErrorIs(t, err, engine.ErrNotFound)
			b.Put(col, []byte("0"), nil)
			ran = true
			return nil
		})
		require.Error(t, err)
		require.True(t, ran)
		require.Empty(t, stored(t, f.Restart()))
	}
}

func TestRestartEndsAnEngineThatHasNotCrashed(t *testing.T) {
	f := faulty.New(mem.New(), faulty.Options{})
	require.NoError(t, write(f, 0))
	again := f.Restart()
	require.ErrorIs(t, write(f, 2), faulty.ErrCrashed)
	require.Equal(t, []string{"0"}, stored(t, again))
}

func TestNewRefusesWhatIsNoFault(t *testing.T) {
	for _, o := range []faulty.Options{{At: -1}, {At: 1, Calls: 2}, {At: 1, Fault: 3}} {
		require.Panics(t, func() { faulty.New(mem.New(), o) })
	}
}
