package namespace

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
)

// limited returns a store of db with limits, and has it closed.
func limited(t testing.TB, db engine.Engine, o Options) *Store {
	s, err := Open(db, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// waitsOf returns how many ops of each signer wait in a namespace. Memory and disk have
// the same.
func waitsOf(t testing.TB, s *Store, ns codec.GroupID) map[codec.Identity]int {
	t.Helper()
	pending, err := s.PendingOps(ns, codec.OpID{}, 0)
	require.NoError(t, err)
	require.Equal(t, len(pending), pendingRows(t, s.db, ns))
	by := map[codec.Identity]int{}
	for _, p := range pending {
		by[p.Signer]++
	}
	return by
}

// requireWaits demands that so many ops count.
func requireWaits(t testing.TB, s *Store, want int) {
	t.Helper()
	n, _ := s.waits.Total()
	require.Equal(t, want, n)
}

// Whoever floods a namespace makes room for himself, member or not, with one key or with
// many: what waits of a member who has less stays, also after a restart.
func TestWhoHasMostWaitingMakesRoomFirst(t *testing.T) {
	z := newStore(t, 1)
	ns, wire := created(t, z)
	for _, name := range []string{"K", "L"} {
		wire = append(wire, proposed(t, z, ns, ns, add(name, codec.Member)).Wire...)
	}
	o := Options{MaxPending: 20}
	s := limited(t, copied(t, newStore(t, 2).db), o)
	require.NoError(t, s.FollowNamespace(ns))
	applied(t, s, wire...)
	for i := range 5 {
		applied(t, s, stray(t, ns, "K", i))
	}
	for i := range 2 {
		applied(t, s, stray(t, ns, "a stranger", i))
	}
	var dropped []codec.OpID
	for i := range 60 {
		dropped = append(dropped, applied(t, s, stray(t, ns, "L", i)).Dropped...)
	}
	require.Len(t, dropped, 5+2+60-20)
	require.Equal(t, map[codec.Identity]int{idOf("K"): 5, idOf("a stranger"): 2, idOf("L"): 13}, waitsOf(t, s, ns))
	first, _, err := parseWire(stray(t, ns, "L", 0))
	require.NoError(t, err)
	require.Equal(t, first.ID, dropped[0], "what has waited longest")

	require.NoError(t, s.Close())
	s = limited(t, s.db, o)
	for i := range 100 {
		applied(t, s, stray(t, ns, fmt.Sprint("stranger ", i), i))
	}
	by := waitsOf(t, s, ns)
	strangers := 20 - by[idOf("K")] - by[idOf("L")]
	require.Equal(t, 5, by[idOf("K")], "many keys are no more than one")
	require.InDelta(t, by[idOf("L")], strangers, 1, "all strangers together are one")

	for i := range 100 {
		applied(t, s, stray(t, ns, "one of them", i))
	}
	by = waitsOf(t, s, ns)
	require.Equal(t, 5, by[idOf("K")])
	require.Greater(t, len(by), 3, "among strangers as well whoever has most makes room")
}

// One cap is for all namespaces: who floods one takes no room in another.
func TestOneCapIsForAllThatWaits(t *testing.T) {
	z := newStore(t, 1)
	quiet, quietWire := created(t, z)
	loud, loudWire := created(t, z)
	o := Options{AllPending: 30}
	db := copied(t, newStore(t, 2).db)
	s := limited(t, db, o)
	for ns, wire := range map[codec.GroupID][][]byte{quiet: quietWire, loud: loudWire} {
		require.NoError(t, s.FollowNamespace(ns))
		applied(t, s, wire...)
	}
	for i := range 4 {
		applied(t, s, stray(t, quiet, "K", i))
	}
	for i := range 80 {
		applied(t, s, stray(t, loud, "X", i))
	}
	require.Equal(t, map[codec.Identity]int{idOf("K"): 4}, waitsOf(t, s, quiet))
	require.Equal(t, map[codec.Identity]int{idOf("X"): 26}, waitsOf(t, s, loud))

	require.NoError(t, s.Close())
	s = limited(t, db, o) // in which neither is loaded
	for i := range 6 {
		applied(t, s, stray(t, quiet, "L", i))
		require.Equal(t, 30, pendingRows(t, db, quiet)+pendingRows(t, db, loud), "it makes room by the time of the answer")
	}
	var more [][]byte
	for i := range 5 {
		more = append(more, stray(t, quiet, "M", i))
	}
	for _, err := range s.ApplyMany(bg, slices.Values(more)) {
		require.NoError(t, err)
	}
	require.Equal(t, map[codec.Identity]int{idOf("K"): 4, idOf("L"): 6, idOf("M"): 5}, waitsOf(t, s, quiet))
	require.Equal(t, map[codec.Identity]int{idOf("X"): 15}, waitsOf(t, s, loud))

	require.NoError(t, s.Close())
	s = limited(t, db, Options{AllPendingBytes: 2000}) // what waits already makes room when the next comes
	applied(t, s, stray(t, loud, "X", 1000))
	_, a, err := s.Waiting(quiet)
	require.NoError(t, err)
	_, b, err := s.Waiting(loud)
	require.NoError(t, err)
	require.LessOrEqual(t, a+b, int64(2000))
	require.Greater(t, a+b, int64(1500))
}

// Namespaces that are written side by side make room for each other.
func TestNamespacesMakeRoomForEachOtherSideBySide(t *testing.T) {
	s := limited(t, mem.New(), Options{AllPending: 40})
	var all []codec.GroupID
	for range 4 {
		ns, _ := created(t, s)
		all = append(all, ns)
	}
	var wires [][]byte
	for i := range 100 {
		for _, ns := range all {
			wires = append(wires, stray(t, ns, fmt.Sprint("stranger ", i%3), i))
		}
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := worker; i < len(wires); i += 4 {
				a, err := s.Apply(bg, wires[i])
				require.NoError(t, err)
				require.Equal(t, Pending, a.Kind)
			}
		})
	}
	group.Wait()
	total := 0
	for _, ns := range all {
		for _, n := range waitsOf(t, s, ns) {
			total += n
		}
	}
	require.Equal(t, 40, total)
	requireWaits(t, s, 40)
}

func TestLimitsOfWhatWaitsAreNotNegative(t *testing.T) {
	for _, o := range []Options{{MaxPending: -1}, {MaxPendingBytes: -1}, {AllPending: -1}, {AllPendingBytes: -1}} {
		_, err := Open(mem.New(), o)
		require.ErrorContains(t, err, "negative")
	}
}

func TestWhatIsDroppedWaitsNoLonger(t *testing.T) {
	s := newStore(t, 1)
	ns, _ := created(t, s)
	empty := rowsOf(t, s.db)
	for i := range 3 {
		applied(t, s, stray(t, ns, "K", i), stray(t, ns, "L", i))
	}
	count, bytes, err := s.DropPending(ns, idOf("K"))
	require.NoError(t, err)
	require.Equal(t, 3, count)
	require.EqualValues(t, 3*len(stray(t, ns, "K", 0)), bytes)
	require.Equal(t, map[codec.Identity]int{idOf("L"): 3}, waitsOf(t, s, ns))
	count, _, err = s.DropPending(ns, codec.Identity{})
	require.NoError(t, err)
	require.Equal(t, 3, count)
	require.Equal(t, empty, rowsOf(t, s.db))
	requireWaits(t, s, 0)
	missing, err := s.Missing(ns, codec.OpID{}, 0)
	require.NoError(t, err)
	require.Empty(t, missing)
	require.Equal(t, Pending, applied(t, s, stray(t, ns, "K", 0)).Kind, "it waits again")
}

// What could not be written does not count for good.
func TestWhatWaitsCountsAsItIsOnDisk(t *testing.T) {
	from := newStore(t, 1)
	ns, _ := created(t, from)
	applied(t, from, stray(t, ns, "K", 0))
	for n := 1; n < 3; n++ {
		f := faulty.New(copied(t, from.db), faulty.Options{At: n, Calls: faulty.Writes, Fault: faulty.Fail})
		s := limited(t, f, Options{})
		for i := range 3 {
			_, err := s.Apply(bg, stray(t, ns, "K", 1+i))
			require.Equal(t, i+1 == n, err != nil)
		}
		require.Equal(t, map[codec.Identity]int{idOf("K"): 3}, waitsOf(t, s, ns))
		requireWaits(t, s, 3)
	}
}
