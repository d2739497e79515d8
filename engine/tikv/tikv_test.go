package tikv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/tikv"
	"github.com/stoadb/stoa/engine/tikv/tikvtest"
)

func TestConformance(t *testing.T) {
	clusters := make(map[enginetest.DB]*tikvtest.Cluster)
	var mu sync.Mutex
	on := func(t testing.TB, c *tikvtest.Cluster) enginetest.DB {
		db := open(t, c, tikv.Options{})
		mu.Lock()
		defer mu.Unlock()
		clusters[db] = c
		return db
	}
	where := func(db enginetest.DB) *tikvtest.Cluster {
		mu.Lock()
		defer mu.Unlock()
		return clusters[db]
	}
	enginetest.Run(t, enginetest.Config{
		// What the suite writes lies in several regions.
		Open: func(t testing.TB) enginetest.DB {
			return on(t, tikvtest.Any(t, []byte("\x02"), []byte("\x05k0005"), []byte("\x07")))
		},
		Reopen: func(t testing.TB, db enginetest.DB) enginetest.DB { return on(t, where(db)) },
		Space:  enginetest.KeySpace{Columns: slices.Collect(column.All)},
	})
}

func open(t testing.TB, c *tikvtest.Cluster, o tikv.Options) *tikv.Engine {
	if o.Prefix == "" {
		o.Prefix = c.Options.Prefix
	}
	o.TwoPhase = o.TwoPhase || c.Options.TwoPhase
	e, err := tikv.New(c.KVStore, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

const col = column.Generic

func get(t *testing.T, e engine.Reader, key string) string {
	t.Helper()
	v, err := e.Get(nil, col, []byte(key))
	if errors.Is(err, engine.ErrNotFound) {
		return "(none)"
	}
	require.NoError(t, err)
	return string(v)
}

func set(key, value string) *engine.Batch {
	b := &engine.Batch{}
	b.Put(col, []byte(key), []byte(value))
	return b
}

func TestWhatAnUpdateReadsIsAsItWasWhenItIsWritten(t *testing.T) {
	c := tikvtest.Any(t)
	one, two := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	calls := 0
	require.NoError(t, one.Update(func(g engine.Getter, b *engine.Batch) error {
		calls++
		_, err := g.Get(nil, col, []byte("on call"))
		if calls == 1 { // another engine comes between
			require.NoError(t, two.Apply(set("on call", "b")))
		}
		if errors.Is(err, engine.ErrNotFound) {
			b.Put(col, []byte("leaves"), []byte("a"))
			return nil
		}
		return err
	}))
	require.Equal(t, 2, calls)
	require.Equal(t, "(none)", get(t, one, "leaves"))
}

func TestAnExpectationHoldsWhenTheBatchIsWritten(t *testing.T) {
	c := tikvtest.Start(t)
	one, two := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	require.NoError(t, one.Apply(set("lease", "one")))
	guarded := func(who, key string) *engine.Batch {
		b := set(key, "v")
		b.Expect(col, []byte("lease"), []byte(who))
		return b
	}
	require.NoError(t, one.Apply(guarded("one", "x")))
	first := true
	c.Before = func(r *tikvrpc.Request) error {
		if r.Type == tikvrpc.CmdPrewrite && first {
			first = false
			require.NoError(t, two.Apply(set("lease", "two")))
		}
		return nil
	}
	require.ErrorIs(t, one.Apply(guarded("one", "y")), engine.ErrConflict)
	require.Equal(t, "(none)", get(t, two, "y"))
}

func TestEnginesOfOneStoreLoseNoIncrement(t *testing.T) {
	c := tikvtest.Any(t)
	const engines, callers, times = 3, 4, 10
	var wg sync.WaitGroup
	errs := make([]error, engines*callers)
	for i := range engines {
		e := open(t, c, tikv.Options{})
		for j := range callers {
			wg.Go(func() {
				for range times {
					err := e.Update(func(g engine.Getter, b *engine.Batch) error {
						v, err := g.Get(nil, col, []byte("n"))
						if errors.Is(err, engine.ErrNotFound) {
							v, err = make([]byte, 8), nil
						}
						b.Put(col, []byte("n"), binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(v)+1))
						return err
					})
					errs[i*callers+j] = errors.Join(errs[i*callers+j], err)
				}
			})
		}
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, engines*callers*times, binary.LittleEndian.Uint64([]byte(get(t, open(t, c, tikv.Options{}), "n"))))
}

// A commit whose answer is lost may have been made. The engine finds out.
func TestACommitWithoutAnAnswerIsAskedFor(t *testing.T) {
	for _, made := range []bool{true, false} {
		t.Run(fmt.Sprintf("made %t", made), func(t *testing.T) {
			t.Parallel()
			c := tikvtest.Start(t)
			e := open(t, c, tikv.Options{Wait: 2 * time.Second}) // client-go commits again for as long
			var lost atomic.Int64
			var asked atomic.Bool
			lose := func(r *tikvrpc.Request) error { // called by several goroutines
				if lost.Load() > 0 && r.Type == tikvrpc.CmdGet {
					asked.Store(true)
				}
				if asked.Load() || r.Type != tikvrpc.CmdCommit {
					return nil
				}
				if lost.Add(1) == 1 {
					c.Ahead.Add(60_000) // locks of who does not come back have ended
				}
				return tikvtest.ErrLost
			}
			if made {
				c.After = lose
			} else {
				c.Before = lose
			}
			calls := 0
			require.NoError(t, e.Update(func(g engine.Getter, b *engine.Batch) error {
				calls++
				v, err := g.Get(nil, col, []byte("n"))
				if errors.Is(err, engine.ErrNotFound) {
					err = nil
				}
				b.Put(col, []byte("n"), append(v, '.'))
				return err
			}))
			require.Equal(t, ".", get(t, e, "n"))
			require.Positive(t, lost.Load())
			require.True(t, asked.Load())
			if made {
				require.Equal(t, 1, calls)
			} else {
				require.Equal(t, 2, calls)
			}
		})
	}
}

// goneAfterACommit has every answer lost from that to the next commit on, until it is back.
func goneAfterACommit(c *tikvtest.Cluster) (back *atomic.Bool) {
	var gone atomic.Bool
	back = new(atomic.Bool)
	c.After = func(r *tikvrpc.Request) error { // called by several goroutines, of which some clean up later
		if r.Type == tikvrpc.CmdCommit {
			gone.Store(true)
		}
		if gone.Load() && !back.Load() {
			return tikvtest.ErrLost
		}
		return nil
	}
	return back
}

// A cluster that does not come back leaves a write of which nobody knows. Nobody is told that it was
// made, or that it was not, and it is not made again.
func TestAWriteOfWhichNobodyKnowsIsUndetermined(t *testing.T) {
	c := tikvtest.Start(t)
	e := open(t, c, tikv.Options{Wait: 50 * time.Millisecond})
	back := goneAfterACommit(c)
	calls := 0
	err := e.Update(func(_ engine.Getter, b *engine.Batch) error {
		calls++
		b.Put(col, []byte("k"), []byte("v"))
		return nil
	})
	require.ErrorIs(t, err, engine.ErrUndetermined)
	require.Equal(t, 1, calls)
	back.Store(true)
	require.Equal(t, "v", get(t, e, "k"))
}

func TestABatchOfAHundredIsOneTransaction(t *testing.T) {
	c := tikvtest.Start(t, []byte(string(rune(col))+"k50"))
	e := open(t, c, tikv.Options{})
	require.NoError(t, e.Apply(set("warm", "v")))
	count := make(map[tikvrpc.CmdType]int)
	var mu sync.Mutex
	c.Before = func(r *tikvrpc.Request) error {
		mu.Lock()
		defer mu.Unlock()
		count[r.Type]++
		return nil
	}
	b := &engine.Batch{}
	for i := range 100 {
		b.Put(col, fmt.Appendf(nil, "k%02d", i), []byte("value"))
	}
	require.NoError(t, e.Apply(b))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 2, count[tikvrpc.CmdPrewrite], "one for each region: %v", count)
	require.Zero(t, count[tikvrpc.CmdGet]+count[tikvrpc.CmdScan], "what is only written is not read")
}

func TestPartsOfValuesThatAreGoneAreSwept(t *testing.T) {
	c := tikvtest.Any(t)
	e := open(t, c, tikv.Options{})
	large := strings.Repeat("x", 1<<20)
	require.NoError(t, e.Apply(set("kept", large)))
	kept := rows(t, c)
	for i := range 3 {
		require.NoError(t, e.Apply(set("gone", large+fmt.Sprint(i))))
	}
	require.NoError(t, e.Apply(set("out", large)))
	gone := &engine.Batch{}
	gone.Delete(col, []byte("gone"))
	gone.DeleteRange(col, []byte("out"), []byte("ouu"))
	s, err := e.Snapshot()
	require.NoError(t, err)
	require.NoError(t, e.Apply(gone))
	require.Greater(t, rows(t, c), kept+30)
	require.NoError(t, e.Compact(column.Meta, engine.Range{}))
	require.Greater(t, rows(t, c), kept)
	require.NoError(t, e.Compact(col, engine.Range{}))
	require.Equal(t, kept, rows(t, c))
	require.Equal(t, large, get(t, e, "kept"))
	require.Equal(t, large+"2", get(t, s, "gone"), "a snapshot has what it had")
}

// Keys are cut every 4 KiB. Those around there, which begin alike or do not, are in the order of
// their bytes, and leave nothing.
func TestKeysOfAnyLengthAreInOrder(t *testing.T) {
	c := tikvtest.Any(t)
	e, model := open(t, c, tikv.Options{}), mem.New()
	empty := rows(t, c)
	rng := rand.New(rand.NewPCG(enginetest.Seed(), 0))
	key := func() []byte {
		length := rng.IntN(4)*4096 + rng.IntN(4) - 1
		k := bytes.Repeat([]byte{byte('k' + rng.IntN(2))}, max(length, 0))
		for range rng.IntN(3) { // differs at an end of a segment, or somewhere
			if len(k) > 0 {
				at := rng.IntN(len(k))
				if rng.IntN(2) == 0 {
					at = min(rng.IntN(4)*4096+rng.IntN(3), len(k)-1)
				}
				k[at] = []byte{0, 1, 'a', 255}[rng.IntN(4)]
			}
		}
		return k
	}
	bounds := func() (r engine.Range) {
		r.Start, r.End = key(), key()
		if bytes.Compare(r.Start, r.End) > 0 {
			r.Start, r.End = r.End, r.Start
		}
		return r
	}
	for i := range enginetest.Scale(300) {
		b := &engine.Batch{}
		for range 1 + rng.IntN(5) {
			switch k := key(); rng.IntN(6) {
			case 0:
				b.Delete(col, k)
			case 1:
				if r := bounds(); bytes.Compare(r.Start, r.End) < 0 && rng.IntN(3) == 0 {
					b.DeleteRange(col, r.Start, r.End)
				}
			default:
				b.Put(col, k, fmt.Append(nil, i))
			}
		}
		require.NoError(t, e.Apply(b))
		require.NoError(t, model.Apply(b))
		r := bounds()
		switch rng.IntN(4) {
		case 0:
			r.Start = nil
		case 1:
			r.End = nil
		case 2:
			r = engine.Range{}
		}
		r.Reverse, r.Limit = rng.IntN(2) == 0, rng.IntN(2)*rng.IntN(5)
		require.Equal(t, entries(t, model, r), entries(t, e, r), "%d: %x to %x", i, r.Start, r.End)
	}
	for _, entry := range entries(t, e, engine.Range{}) {
		b := &engine.Batch{}
		b.Delete(col, []byte(entry[0]))
		require.NoError(t, e.Apply(b))
	}
	require.Equal(t, empty+1, rows(t, c), "what led to keys has gone with them; the row of the writer is new")
}

func entries(t *testing.T, r engine.Reader, rg engine.Range) (all [][2]string) {
	require.NoError(t, engine.Each(r, col, rg, func(key, value []byte) error {
		all = append(all, [2]string{string(key), string(value)})
		return nil
	}))
	return all
}

// rows counts the rows of the cluster.
func rows(t *testing.T, c *tikvtest.Cluster) (n int) {
	ts, err := c.CurrentTimestamp(oracle.GlobalTxnScope)
	require.NoError(t, err)
	at, err := c.GetSnapshot(ts).Iter([]byte(c.Options.Prefix), kv.PrefixNextKey([]byte(c.Options.Prefix)))
	require.NoError(t, err)
	for ; at.Valid(); require.NoError(t, at.Next()) {
		n++
	}
	return n
}

func TestStoresOfOneClusterAreApart(t *testing.T) {
	c := tikvtest.Start(t)
	one, two := open(t, c, tikv.Options{Prefix: "one/"}), open(t, c, tikv.Options{Prefix: "two/"})
	require.NoError(t, one.Apply(set("k", "1")))
	require.Equal(t, "(none)", get(t, two, "k"))
	all := &engine.Batch{}
	for col := range column.All {
		all.DeleteRange(col, nil, bytes.Repeat([]byte{0xff}, 100))
	}
	require.NoError(t, two.Apply(all))
	require.Equal(t, "1", get(t, one, "k"))
}

func TestWhatASnapshotReadsIsNotCollected(t *testing.T) {
	c := tikvtest.Start(t)
	one, two := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	safe := func() uint64 {
		ts, err := c.GetPDClient().UpdateGCSafePoint(t.Context(), 0)
		require.NoError(t, err)
		return ts
	}
	require.NoError(t, one.Apply(set("k", "old")))
	held, err := one.Snapshot()
	require.NoError(t, err)
	at, err := one.Iterate(col, engine.Range{})
	require.NoError(t, err)
	require.NoError(t, one.Collect(t.Context()))
	before := safe()
	c.Ahead.Add(time.Minute.Milliseconds())
	require.NoError(t, two.Collect(t.Context()))
	require.Equal(t, before, safe(), "others have collected lately")

	require.NoError(t, two.Apply(set("k", "new")))
	c.Ahead.Add(time.Hour.Milliseconds())
	for range 2 {
		require.NoError(t, one.Collect(t.Context()))
		require.NoError(t, two.Collect(t.Context()))
	}
	kept := safe()
	require.Equal(t, "old", get(t, held, "k"))

	require.NoError(t, held.Close())
	require.NoError(t, one.Collect(t.Context()))
	require.Less(t, safe(), kept+oracle.ComposeTS(time.Minute.Milliseconds(), 0), "an iterator reads, too")
	kept = safe()
	require.NoError(t, at.Close())
	for range 2 {
		require.NoError(t, one.Collect(t.Context()))
		require.NoError(t, two.Collect(t.Context()))
	}
	require.Greater(t, safe(), kept)
	require.Greater(t, kept, before)
	require.Equal(t, "new", get(t, one, "k"))
}

func TestAStoreOfAnotherLayoutIsNotOpened(t *testing.T) {
	c := tikvtest.Start(t)
	open(t, c, tikv.Options{})
	txn, err := c.Begin()
	require.NoError(t, err)
	require.NoError(t, txn.Set([]byte("stoa/\x00layout"), []byte{2, 0, 0, 0}))
	require.NoError(t, txn.Commit(t.Context()))
	_, err = tikv.New(c.KVStore, tikv.Options{})
	require.ErrorIs(t, err, engine.ErrSchema)
}
