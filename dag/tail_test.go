package dag_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// tailed is a store on which deltas are made, beside what the state is to be.
type tailed struct {
	t     *testing.T
	db    *mem.Engine
	o     dag.Options
	s     *dag.Store
	state map[string]string
	r     *rand.Rand
}

func newTailed(t *testing.T, most int) *tailed {
	o := options(1)
	o.MaxTail = most
	x := &tailed{t: t, db: mem.New(), o: o, state: map[string]string{}, r: rand.New(rand.NewPCG(1, 2))}
	t.Cleanup(func() { _ = x.db.Close() })
	x.s = open(t, x.db, o)
	require.NoError(t, x.s.CreateContext(ctx1, appNumber(1)))
	return x
}

// kill opens the store as the process after one that was killed finds it.
func (x *tailed) kill() { x.s = open(x.t, x.db, x.o) }

// commit makes n deltas.
func (x *tailed) commit(n int) (d *dag.Delta) {
	x.t.Helper()
	for range n {
		var actions []codec.Action
		for i := range 1 + x.r.IntN(4) {
			key := fmt.Sprint(i, "of", x.r.IntN(300))
			if _, is := x.state[key]; is && x.r.IntN(3) == 0 {
				delete(x.state, key)
				actions = append(actions, del(key))
			} else {
				x.state[key] = fmt.Sprint(x.r.Uint64())
				actions = append(actions, put(key, x.state[key]))
			}
		}
		d = commit(x.t, x.s, actions...)
	}
	return d
}

// rows returns how many rows say that there is a tail, and whether the rows of the trie are of the present.
func (x *tailed) rows() (tails int, present bool) {
	root := merkletest.Root(x.state)
	require.Equal(x.t, root, info(x.t, x.s).Root)
	return rowsAt(x.t, x.db, column.Generic, scoped("dag-tail")), merkle.Check(x.db, ctx1, root, nil) == nil
}

func (x *tailed) requireTail(is bool) {
	x.t.Helper()
	tails, present := x.rows()
	require.Equal(x.t, is, !present)
	require.Equal(x.t, is, tails == 1)
}

// requireProved demands that what s proves of keys is so, by the present root.
func (x *tailed) requireProved(s *dag.Store) {
	x.t.Helper()
	root := merkletest.Root(x.state)
	for i := range 20 {
		key := fmt.Sprint(i%4, "of", x.r.IntN(300))
		e, err := s.Prove(ctx1, []byte(key))
		require.NoError(x.t, err)
		require.Equal(x.t, root, e.Root)
		value, is := x.state[key]
		require.Equal(x.t, is, e.Value.Valid)
		require.Equal(x.t, value, string(e.Value.V))
	}
}

func (x *tailed) verified(s *dag.Store) []dag.Finding {
	x.t.Helper()
	report, err := s.Verify(bg, ctx1, looking(func(engine.Engine) {}))
	require.NoError(x.t, err)
	return report.Findings
}

func TestATailIsMadeAnewAfterAKill(t *testing.T) {
	x := newTailed(t, 50)
	for range 30 {
		x.commit(1 + x.r.IntN(40))
		tails, _ := x.rows()
		if x.r.IntN(2) == 0 {
			x.requireProved(x.s)
		}
		if x.r.IntN(2) == 0 {
			x.requireProved(open(t, engine.ReadOnly(x.db), x.o))
		}
		if x.r.IntN(4) == 0 {
			require.Empty(t, x.verified(x.s))
		}
		require.LessOrEqual(t, tails, 1)
		x.kill()
	}
	x.commit(1)
	require.NoError(t, x.s.Close())
	x.kill()
	x.requireTail(false)
}

func TestATailEndsWithItsStore(t *testing.T) {
	x := newTailed(t, 0)
	x.commit(10)
	x.requireTail(true)
	require.NoError(t, x.s.Close())
	x.kill()
	x.requireTail(false)
}

func TestATailIsOfSoManyDeltas(t *testing.T) {
	x := newTailed(t, 7)
	for i := range 50 {
		x.commit(1)
		x.requireTail((i+1)%7 != 0)
	}
}

func TestATailTakesNoMoreThanItMay(t *testing.T) {
	value := make([]byte, 1<<10)
	for name, limits := range map[string]struct {
		one     int
		all     int64
		actions int
	}{"of deltas": {20 << 10, 1 << 30, 1}, "of pages": {100 << 10, 1 << 30, 20}, "of all": {1 << 30, 100 << 10, 20}} {
		t.Run(name, func(t *testing.T) {
			defer dag.LimitTails(limits.one, limits.all)()
			x := newTailed(t, 1<<20)
			defer x.s.Close()
			most, ends := int64(0), 0
			for i := range 200 {
				var actions []codec.Action
				for j := range limits.actions {
					actions = append(actions, put(fmt.Sprint(i, j), string(value[:len(value)/limits.actions])))
				}
				commit(t, x.s, actions...)
				most = max(most, x.s.TailBytes())
				if rowsAt(t, x.db, column.Generic, scoped("dag-tail")) == 0 {
					ends++
					require.Zero(t, x.s.TailBytes())
				}
			}
			require.Greater(t, ends, 5)
			require.Less(t, ends, 100)
			require.Less(t, most, int64(100<<10))
		})
	}
}

// Of many contexts that nobody writes to any more the pages stay, so that each that is written to ends its own.
func TestTailsOfManyContextsTakeNoMoreThanTheyMay(t *testing.T) {
	defer dag.LimitTails(1<<30, 64<<10)()
	x := newTailed(t, 0)
	for i := range 100 {
		id := codec.ContextID{2, byte(i)}
		require.NoError(t, x.s.CreateContext(id, appNumber(1)))
		_, err := x.s.Commit(bg, dag.Commit{Context: id, Actions: []codec.Action{put("a", "b")}, ReadRoot: merkle.EmptyRoot()})
		require.NoError(t, err)
		require.LessOrEqual(t, x.s.TailBytes(), int64(64<<10))
	}
	x.commit(100)
	require.LessOrEqual(t, x.s.TailBytes(), int64(64<<10))
}

// A context that comes and goes is not made anew from all that it was since it was loaded first.
func TestAContextThatIsLoadedEndsItsTail(t *testing.T) {
	x := newTailed(t, 0)
	for range 10 {
		x.commit(3)
		x.requireTail(true)
		x.kill()
		x.commit(1)
		x.requireTail(true)
		require.EqualValues(t, info(t, x.s).Applied-1, x.after())
	}
}

// after returns behind which number the tail begins.
func (x *tailed) after() (seq uint64) {
	b, err := x.db.Get(nil, column.Generic, scoped("dag-tail"))
	require.NoError(x.t, err)
	require.Len(x.t, b, 8+32)
	for i := range 8 {
		seq |= uint64(b[i]) << (8 * i)
	}
	return seq
}

func TestWhatReadsATrieEndsTheTail(t *testing.T) {
	x := newTailed(t, 0)
	for _, read := range []func() error{
		func() error { _, err := x.s.Prove(ctx1, []byte("a")); return err },
		func() error {
			for _, err := range x.s.Diff(bg, ctx1, ctx1) {
				return err
			}
			return nil
		},
		func() error { return x.s.SetApplication(ctx1, appNumber(2)) },
	} {
		x.commit(5)
		x.requireTail(true)
		require.NoError(t, read())
		x.requireTail(false)
	}
	x.commit(5)
	require.Empty(t, x.verified(x.s))
	x.requireTail(true) // it changes nothing
}

func TestDeltasOfATailAreWithdrawn(t *testing.T) {
	x := newTailed(t, 0)
	x.commit(20)
	before := map[string]string{}
	for k, v := range x.state {
		before[k] = v
	}
	x.kill()
	x.commit(3)
	last := x.commit(1)
	x.state = before
	first := info(t, x.s)
	require.Equal(t, last.ID(), first.Heads[0])
	var all []codec.DeltaID
	for a, err := range x.s.Walk(bg, ctx1, dag.WalkOptions{Limit: 4}) {
		require.NoError(t, err)
		all = append(all, a.Position.Delta)
	}
	require.NoError(t, x.s.Withdraw(bg, dag.Withdrawal{Context: ctx1, Deltas: all}))
	x.requireTail(false)
	x.commit(2)
	x.requireTail(true)
	require.Empty(t, x.verified(x.s))
	x.kill()
	x.requireProved(x.s)
	require.NoError(t, x.s.DeleteContext(ctx1))
	require.Zero(t, rowsAt(t, x.db, column.Generic, scoped("dag-tail")))
}

// Where nothing can be written, readers make anew what the tail makes.
func TestATailIsReadWhereNothingCanBeWritten(t *testing.T) {
	x := newTailed(t, 0)
	x.commit(30)
	x.requireProved(open(t, engine.ReadOnly(x.db), x.o))
	x.requireTail(true)
}

func TestADamagedTailIsReported(t *testing.T) {
	for name, damage := range map[string]func(*tailed, *engine.Batch){
		"its row": func(x *tailed, b *engine.Batch) {
			b.Put(column.Generic, scoped("dag-tail"), []byte("short"))
		},
		"another number": func(x *tailed, b *engine.Batch) {
			row, err := x.db.Get(nil, column.Generic, scoped("dag-tail"))
			require.NoError(x.t, err)
			row[0] += 3
			b.Put(column.Generic, scoped("dag-tail"), row)
		},
		"another root": func(x *tailed, b *engine.Batch) {
			row, err := x.db.Get(nil, column.Generic, scoped("dag-tail"))
			require.NoError(x.t, err)
			row[8]++
			b.Put(column.Generic, scoped("dag-tail"), row)
		},
		"a delta": func(x *tailed, b *engine.Batch) {
			for key, row := range rowsOf(x.t, x.db, column.Delta, ctx1[:]) {
				b.Put(column.Delta, append(ctx1[:], key...), []byte(strings.Replace(row, "of the tail", "of somebody", 1)))
			}
		},
		"a delta gone": func(x *tailed, b *engine.Batch) {
			for key, row := range rowsOf(x.t, x.db, column.Delta, ctx1[:]) {
				if strings.Contains(row, "of the tail") {
					b.Delete(column.Delta, append(ctx1[:], key...))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTailed(t, 0)
			x.commit(20)
			x.kill()
			x.commit(1)
			commit(t, x.s, put("new", "of the tail"))
			x.commit(1)
			var b engine.Batch
			damage(x, &b)
			require.NoError(t, x.db.Apply(&b))
			x.kill()
			root := info(t, x.s).Root
			_, err := x.s.Prove(ctx1, []byte("a"))
			require.ErrorIs(t, err, engine.ErrCorrupt)
			_, err = x.s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put("a", "b")}, ReadRoot: root})
			require.ErrorIs(t, err, engine.ErrCorrupt)
			var codes []dag.FindingCode
			for _, f := range x.verified(x.s) {
				codes = append(codes, f.Code)
			}
			require.Contains(t, codes, dag.FindingTrie)
		})
	}
}

// A row of the state that is damaged keeps nobody from going on.
func TestATailIsMadeAnewBesideADamagedState(t *testing.T) {
	x := newTailed(t, 0)
	x.commit(20)
	commit(t, x.s, put("new", "of the tail"))
	var b engine.Batch
	b.Put(column.State, append(ctx1[:], "new"...), []byte("another"))
	require.NoError(t, x.db.Apply(&b))
	for _, f := range x.verified(x.s) {
		require.Equal(t, dag.FindingState, f.Code)
	}
	x.kill()
	x.commit(1)
	x.state["new"] = "of the tail"
	x.requireTail(true)
}
