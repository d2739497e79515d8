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

// An engine that nothing hits is like the one that it wraps.
func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		Open:  func(testing.TB) enginetest.DB { return faulty.New(mem.New(), faulty.Options{}) },
		Space: enginetest.KeySpace{Columns: slices.Collect(column.All)},
	})
}

func open(t testing.TB, o faulty.Options) *faulty.Engine {
	t.Helper()
	inner := mem.New()
	t.Cleanup(func() {
		stats, err := inner.Stats()
		require.NoError(t, err)
		require.Zero(t, stats.Snapshots, "left open")
		require.NoError(t, inner.Close())
	})
	return faulty.New(inner, o)
}

func put(db engine.Writer, keys ...string) error {
	var b engine.Batch
	for _, k := range keys {
		b.Put(column.State, []byte(k), []byte(k))
	}
	return db.Apply(&b)
}

func get(db engine.Getter, key string) error {
	_, err := db.Get(nil, column.State, []byte(key))
	return err
}

func requireKeys(t testing.TB, db engine.Reader, want ...string) {
	t.Helper()
	it, err := db.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	var got []string
	for it.Next() {
		got = append(got, string(it.Key()))
	}
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	require.Equal(t, want, got)
}

func TestACallThatFailsHasNoEffect(t *testing.T) {
	db := open(t, faulty.Options{At: 2})
	require.NoError(t, put(db, "a"))
	require.NoError(t, get(db, "a"), "reads do not count")
	require.ErrorIs(t, put(db, "b"), faulty.ErrFault)
	require.NoError(t, put(db, "c"))
	require.False(t, db.Crashed())
	require.Equal(t, faulty.Counts{Reads: 1, Writes: 3}, db.Counts())
	requireKeys(t, db, "a", "c")
}

func TestErrorAndNumberOfCallsThatFail(t *testing.T) {
	mine := errors.New("mine")
	db := open(t, faulty.Options{At: 2, Times: 2, Err: mine})
	for i, want := range []error{nil, mine, mine, nil} {
		require.Equal(t, want, put(db, fmt.Sprint(i)), i)
	}
	db.Arm(faulty.Options{At: 2, Times: -1, Err: mine})
	require.NoError(t, put(db, "4"))
	for range 10 {
		require.Equal(t, mine, put(db, "5"))
	}
	db.Arm(faulty.Options{})
	requireKeys(t, db, "0", "3", "4")
}

func TestReadsThatFail(t *testing.T) {
	db := open(t, faulty.Options{})
	require.NoError(t, put(db, "a", "b"))
	arm := func() { db.Arm(faulty.Options{At: 1, Calls: faulty.Reads}) }

	arm()
	require.NoError(t, put(db, "c"), "writes do not count")
	got, err := db.Get([]byte("dst"), column.State, []byte("a"))
	require.ErrorIs(t, err, faulty.ErrFault)
	require.Equal(t, "dst", string(got))
	require.NoError(t, get(db, "a"))

	arm()
	got, err = db.MultiGet([]byte("dst"), []engine.Lookup{{Column: column.State, Key: []byte("a")}})
	require.ErrorIs(t, err, faulty.ErrFault)
	require.Equal(t, "dst", string(got))

	arm()
	_, err = db.Iterate(column.State, engine.Range{})
	require.ErrorIs(t, err, faulty.ErrFault)

	arm()
	_, err = db.Snapshot()
	require.ErrorIs(t, err, faulty.ErrFault)

	s, err := db.Snapshot()
	require.NoError(t, err)
	arm()
	require.ErrorIs(t, get(s, "a"), faulty.ErrFault)
	require.NoError(t, get(s, "a"))
	require.NoError(t, s.Close())

	db.Arm(faulty.Options{At: 2, Calls: faulty.Reads})
	it, err := db.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	require.False(t, it.Next())
	require.ErrorIs(t, it.Err(), faulty.ErrFault, "no end of the range")
	require.NoError(t, it.Close())

	arm()
	require.ErrorIs(t, db.Update(func(g engine.Getter, b *engine.Batch) error {
		b.Delete(column.State, []byte("a"))
		return get(g, "a")
	}), faulty.ErrFault)
	requireKeys(t, db, "a", "b", "c")
}

func TestCrashes(t *testing.T) {
	update := func(db engine.Engine) error {
		return db.Update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(column.State, []byte("b"), nil)
			return nil
		})
	}
	apply := func(db engine.Engine) error { return put(db, "b") }
	for name, write := range map[string]func(engine.Engine) error{"apply": apply, "update": update} {
		for fault, want := range map[faulty.Fault][]string{
			faulty.CrashBefore: {"a"},
			faulty.CrashAfter:  {"a", "b"},
		} {
			t.Run(fmt.Sprint(name, " ", fault), func(t *testing.T) {
				db := open(t, faulty.Options{At: 2, Fault: fault})
				require.NoError(t, put(db, "a"))
				require.ErrorIs(t, write(db), faulty.ErrCrashed)
				require.True(t, db.Crashed())
				requireDead(t, db)
				require.Equal(t, faulty.Counts{Writes: 2}, db.Counts())
				db.Restart()
				require.False(t, db.Crashed())
				requireKeys(t, db, want...)
				require.NoError(t, put(db, "c"))
				require.True(t, db.Health().Writable)
			})
		}
	}
}

// requireDead demands ErrCrashed of everything.
func requireDead(t testing.TB, db *faulty.Engine) {
	t.Helper()
	calls := map[string]func() error{
		"Apply":           func() error { return put(db, "z") },
		"Update":          func() error { return db.Update(func(engine.Getter, *engine.Batch) error { panic("called") }) },
		"Get":             func() error { return get(db, "a") },
		"MultiGet":        func() error { _, err := db.MultiGet(nil, nil); return err },
		"Iterate":         func() error { _, err := db.Iterate(column.State, engine.Range{}); return err },
		"Snapshot":        func() error { _, err := db.Snapshot(); return err },
		"Stats":           func() error { _, err := db.Stats(); return err },
		"ApproximateSize": func() error { _, err := db.ApproximateSize(column.State, engine.Range{}); return err },
		"Flush":           db.Flush,
		"Reopen":          db.Reopen,
		"Compact":         func() error { return db.Compact(column.State, engine.Range{}) },
		"Checkpoint":      func() error { return db.Checkpoint("none") },
		"Close":           db.Close,
	}
	for name, use := range calls {
		require.ErrorIs(t, use(), faulty.ErrCrashed, name)
	}
	require.Equal(t, engine.Health{Reason: "faulty: crashed"}, db.Health())
}

func TestWhatWasOpenAtACrashStaysDead(t *testing.T) {
	db := open(t, faulty.Options{})
	require.NoError(t, put(db, "a"))
	s, err := db.Snapshot()
	require.NoError(t, err)
	it, err := db.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	for range 2 {
		require.ErrorIs(t, func() error { db.Crash(); return get(s, "a") }(), faulty.ErrCrashed)
		db.Restart()
		require.ErrorIs(t, get(s, "a"), faulty.ErrCrashed)
		_, err = s.Iterate(column.State, engine.Range{})
		require.ErrorIs(t, err, faulty.ErrCrashed)
		require.False(t, it.Next())
		require.ErrorIs(t, it.Err(), faulty.ErrCrashed)
	}
	require.NoError(t, it.Close())
	require.NoError(t, s.Close())
	require.NoError(t, get(db, "a"))
}

func TestAnUpdateThatIsHitCallsItsFunction(t *testing.T) {
	for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
		db := open(t, faulty.Options{At: 1, Fault: fault})
		called := false
		require.Error(t, db.Update(func(g engine.Getter, _ *engine.Batch) error {
			called = true
			require.ErrorIs(t, get(g, "a"), engine.ErrNotFound)
			return nil
		}))
		require.True(t, called)
	}
}

func TestAnUpdateThatHidesACrashWritesNothing(t *testing.T) {
	db := open(t, faulty.Options{At: 1, Calls: faulty.Reads, Fault: faulty.CrashAfter})
	require.ErrorIs(t, db.Update(func(g engine.Getter, b *engine.Batch) error {
		_ = get(g, "a")
		b.Put(column.State, []byte("a"), nil)
		return nil
	}), faulty.ErrCrashed)
	db.Restart()
	requireKeys(t, db)
}

func TestAnUpdateThatRefusesCrashesAllTheSame(t *testing.T) {
	refused := errors.New("refused")
	db := open(t, faulty.Options{At: 1, Fault: faulty.CrashBefore})
	require.ErrorIs(t, db.Update(func(engine.Getter, *engine.Batch) error { return refused }), faulty.ErrCrashed)
	require.True(t, db.Crashed(), "a loop over all calls does not end early")
}

// operation reads and writes in every way there is, and stops at the first
// error. It moves "from" to "to" in one batch, and lists what there is.
func operation(db engine.Engine) error {
	if err := get(db, "from"); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	if err := db.Flush(); err != nil {
		return err
	}
	err := db.Update(func(g engine.Getter, b *engine.Batch) error {
		if err := get(g, "from"); err != nil {
			return err
		}
		b.Delete(column.State, []byte("from"))
		b.Put(column.State, []byte("to"), nil)
		return nil
	})
	if err != nil {
		return err
	}
	s, err := db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	it, err := s.Iterate(column.State, engine.Range{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
	}
	return it.Err()
}

func TestKillingAtEveryCall(t *testing.T) {
	for fault, after := range map[faulty.Fault]int{faulty.CrashBefore: 4, faulty.CrashAfter: 5} {
		done, crashes := 0, 0
		for n := uint64(1); ; n++ {
			db := open(t, faulty.Options{})
			require.NoError(t, put(db, "from"))
			db.Arm(faulty.Options{At: n, Calls: faulty.All, Fault: fault})
			err := operation(db)
			crashed := db.Crashed()
			require.Equal(t, crashed, errors.Is(err, faulty.ErrCrashed))
			db.Restart()
			if get(db, "to") == nil {
				done++
				requireKeys(t, db, "to")
			} else {
				requireKeys(t, db, "from")
			}
			if !crashed {
				require.NoError(t, err)
				break
			}
			crashes++
		}
		require.Equal(t, 8, crashes, "get, flush, update, its get, snapshot, iterate, two pages")
		require.Equal(t, after+1, done, "at each call after the change, and without a crash")
	}
}
