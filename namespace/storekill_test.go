package namespace

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
)

func rowsOf(t testing.TB, db engine.Reader) map[string]string {
	all := map[string]string{}
	for col := range column.All {
		it, err := db.Iterate(col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			all[fmt.Sprintf("%s %x", col, it.Key())] = string(it.Value())
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	return all
}

// copied returns an engine with the rows of another.
func copied(t testing.TB, from engine.Reader) *mem.Engine {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	var b engine.Batch
	for col := range column.All {
		it, err := from.Iterate(col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			b.Put(col, it.Key(), it.Value())
		}
		require.NoError(t, it.Close())
	}
	require.NoError(t, db.Apply(&b))
	return db
}

// Wherever the process ends, what it was doing is done or not; what it was told of is
// there, and it can be done again.
func TestActsAreDoneOrNotWhereverTheProcessEnds(t *testing.T) {
	enginetest.SkipUnderRace(t, enginetest.OneByOne)
	z, k, ns := pairOf(t)
	proposed(t, z, ns, ns, add("L", codec.Member))
	exchange(t, ns, z, k)
	beside := proposed(t, k, ns, ns, call("K's")).Wire
	later := proposed(t, k, ns, ns, call("K's again")).Wire
	removed := proposed(t, z, ns, ns, remove("K")).Wire
	remake := func(body codec.GroupOp) func(*Store) error {
		return func(s *Store) error {
			_, err := s.Propose(bg, ns, Proposal{GroupID: ns, Group: &body})
			return err
		}
	}
	apply := func(wires ...[]byte) func(*Store) error {
		return func(s *Store) error {
			for _, w := range wires {
				if _, err := s.Apply(bg, w); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name string
		on   *Store
		do   func(*Store) error
	}{
		{"an op beside a removal", z, apply(beside...)},
		{"a removal that voids", k, apply(removed...)},
		{"an op that waits, and its ancestor", z, apply(later[0], beside[0])},
		{"a rotation", z, remake(remove("L"))},
		{"an op and a delivery", z, remake(add("M", codec.Member))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := copied(t, tc.on.db)
			before := rowsOf(t, db)
			for _, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter, faulty.Fail} {
				for _, calls := range []faulty.Calls{faulty.Writes, faulty.Reads} {
					for n := 1; killedAt(t, copied(t, db), ns, tc.do, faulty.Options{At: n, Calls: calls, Fault: fault}, before); n++ {
					}
				}
			}
		})
	}
}

// killedAt does something to a store whose engine has a fault, and then again on what is
// left. It reports whether the fault came.
func killedAt(t *testing.T, db engine.Engine, ns codec.GroupID, do func(*Store) error, o faulty.Options, before map[string]string) bool {
	f := faulty.New(db, o)
	s, err := Open(f, Options{Rand: randomness(9)})
	require.NoError(t, err)
	err = do(s)
	_ = s.Close()
	tripped := f.Tripped()
	again := f.Restart()
	if err != nil && o.Fault != faulty.CrashAfter && o.At == 1 {
		require.Equal(t, before, rowsOf(t, again))
	}
	s = openStore(t, again, 8)
	requireSound(t, s, ns)
	if err != nil && o.Fault != faulty.CrashAfter {
		require.NoError(t, do(s))
		requireSound(t, s, ns)
	}
	return tripped
}
