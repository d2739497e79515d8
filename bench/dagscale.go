//go:build cgo

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// reverse adds chains that come from their end.
func (r *dagRun) reverse() error {
	from, err := newSource(2)
	if err != nil {
		return err
	}
	defer from.close()
	var per [2]float64
	for i, n := range []int{r.options.Rows / 1000, r.options.Rows / 100} {
		c := dagContext(i)
		if err := from.copied(r.store, c); err != nil {
			return err
		}
		chain, err := from.made(c, n)
		if err != nil {
			return err
		}
		slices.Reverse(chain)
		if err := r.db.Flush(); err != nil {
			return err
		}
		var last dag.Answer
		t, err := takeTurn(n, func(i int) (err error) {
			last, err = r.store.Add(context.Background(), chain[i], dag.AddOptions{Durability: engine.WAL})
			return err
		})
		if err != nil {
			return err
		}
		if err := r.settled(c, chain[0].ID()); err != nil {
			return err
		}
		m := r.measureOf(fmt.Sprintf("%d-deltas", n))
		m.turns = append(m.turns, t)
		per[i] = t.CPUNanos
		r.figure(fmt.Sprintf("%d deltas in reverse", n), t.Wall.Seconds(), "s", "")
		r.figure(fmt.Sprintf("applied by the last of %d", n), float64(len(last.Applied)), "deltas", "")
	}
	r.figure("cpu of a delta in the longer chain / the shorter", per[1]/max(per[0], 1), "", "linear: about 1")
	return nil
}

// settled waits until a delta is the only head: the end of a long cascade may be
// applied in the background.
func (r *dagRun) settled(c codec.ContextID, head codec.DeltaID) error {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		heads, _, err := r.store.Heads(c)
		if err != nil {
			return err
		}
		if len(heads) == 1 && heads[0].ID == head {
			return nil
		}
	}
	return fmt.Errorf("delta %s is not the head after a minute", head)
}

// merge compares branches, which take turns, with a line.
func (r *dagRun) merge() error {
	branches, depth := 100, 10
	if r.options.Rows < 100_000 {
		branches = 10
	}
	line, err := newSource(2)
	if err != nil {
		return err
	}
	defer line.close()
	straight, braided := dagContext(0), dagContext(1)
	if err := line.copied(r.store, straight); err != nil {
		return err
	}
	var base [][]byte
	if err := grow(line.store, braided, dagFewKeys, func(b []byte) error { base = append(base, b); return nil }); err != nil {
		return err
	}
	if err := receivedAll(r.store, braided, base); err != nil {
		return err
	}
	linear, err := line.made(straight, branches*depth)
	if err != nil {
		return err
	}
	turned, err := braid(base, braided, branches, depth)
	if err != nil {
		return err
	}
	for i, deltas := range [][]*dag.Delta{linear, turned} {
		name := []string{"linear", "branches"}[i]
		if err := r.db.Flush(); err != nil {
			return err
		}
		t, err := takeTurn(len(deltas), func(i int) error { return applied(r.store, deltas[i]) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m := r.measureOf(name)
		m.turns = append(m.turns, t)
	}
	// The first commit joins the branches: 64 of them, and the rest.
	joined, err := takeTurn(1, func(int) error {
		_, err := commitOn(r.store, braided, drawActions(line.random, dagFewKeys))
		return err
	})
	if err != nil {
		return err
	}
	r.figure("commit that joins the branches", joined.Wall.Seconds()*1e3, "ms", "")
	r.cost("branches", "linear", "")
	return nil
}

// receivedAll makes a context of deltas.
func receivedAll(s *dag.Store, c codec.ContextID, deltas [][]byte) error {
	if err := s.CreateContext(c, dagApplication); err != nil {
		return err
	}
	for _, b := range deltas {
		if err := received(s, b); err != nil {
			return err
		}
	}
	return nil
}

// braid returns the deltas of branches from base, one of each branch after the
// other.
func braid(base [][]byte, c codec.ContextID, branches, depth int) ([]*dag.Delta, error) {
	made := make([][]*dag.Delta, branches)
	for i := range made {
		author, err := newSource(uint64(100 + i))
		if err != nil {
			return nil, err
		}
		if err := receivedAll(author.store, c, base); err != nil {
			return nil, err
		}
		if made[i], err = author.made(c, depth); err != nil {
			return nil, err
		}
		if err := author.close(); err != nil {
			return nil, err
		}
	}
	var turned []*dag.Delta
	for at := range depth {
		for i := range made {
			turned = append(turned, made[i][at])
		}
	}
	return turned, nil
}

// counted counts what a comparison reads on the other side.
type counted struct {
	trie     *merkle.Trie
	requests int
}

// Nodes answers by the trie, and counts the requests; see [merkle.Peer].
func (c *counted) Nodes(ctx context.Context, r *merkle.NodeRequest) (*merkle.NodeAnswer, error) {
	c.requests++
	return c.trie.Nodes(ctx, r)
}

// diff compares two contexts that are nearly the same.
func (r *dagRun) diff() error {
	const differences = 10
	one, other := dagContext(0), dagContext(1)
	for _, c := range []codec.ContextID{one, other} {
		if err := grow(r.store, c, r.options.Rows, nil); err != nil {
			return err
		}
	}
	if _, err := commitOn(r.store, other, drawActions(rand.New(rand.NewPCG(4, 4)), r.options.Rows)); err != nil {
		return err
	}
	err := r.reopen() // the rows of both tries are whole then
	if err == nil {
		r.store, err = openDagStore(r.db, 1)
	}
	if err != nil {
		return err
	}
	var roots [2]codec.Hash
	for i, c := range []codec.ContextID{one, other} {
		info, err := r.store.Context(c)
		if err != nil {
			return err
		}
		roots[i] = info.Root
	}
	nodes, requests := 0, 0
	for range r.options.Rounds {
		// Each on its own, with an empty cache.
		local := merkle.Open(merkle.NewCache(0), r.db, one, roots[0])
		peer := &counted{trie: merkle.Open(merkle.NewCache(0), r.db, other, roots[1])}
		found := 0
		t, err := takeTurn(1, func(int) error {
			for _, err := range merkle.Diff(context.Background(), local, peer, roots[1]) {
				if err != nil {
					return err
				}
				found++
			}
			return nil
		})
		if err != nil {
			return err
		}
		if found != differences {
			return fmt.Errorf("%d differences instead of %d", found, differences)
		}
		a, b := local.Reads(), peer.trie.Reads()
		nodes, requests = a.Rows+a.Cached+b.Rows+b.Cached, peer.requests
		m := r.measureOf("diff")
		m.turns = append(m.turns, t)
	}
	r.figure("nodes read, on both sides", float64(nodes), "", "under 2,000")
	r.figure("requests", float64(requests), "", "")
	return nil
}

// open opens a store whose context has as many deltas as there are rows.
func (r *dagRun) open() error {
	c := dagContext(0)
	near, err := r.lengthen(c, r.options.Rows)
	if err != nil {
		return err
	}
	var grown []float64
	for range r.options.Rounds {
		if err := r.reopen(); err != nil {
			return err
		}
		debug.FreeOSMemory()
		before, err := ownMemory()
		if err != nil {
			return err
		}
		t, err := takeTurn(1, func(int) error { return r.ask(c, near) })
		if err != nil {
			return err
		}
		after, err := ownMemory()
		if err != nil {
			return err
		}
		m := r.measureOf("open and ask")
		m.turns = append(m.turns, t)
		grown = append(grown, float64(after-before)/(1<<20))
	}
	r.figure("open, Heads, Missing and Since of 100", spreadOf(times(r.measureOf("open and ask"))).Max, "s", "under 1, at 1,000,000 rows")
	r.figure("more memory", spreadOf(grown).Max, "MiB", "under 64")
	return nil
}

// times returns the seconds that each turn took.
func times(m *Measure) (seconds []float64) {
	for _, t := range m.turns {
		seconds = append(seconds, t.Wall.Seconds())
	}
	return seconds
}

// ownMemory returns the part of this process's memory that is not backed by
// files, in bytes.
func ownMemory() (int64, error) { return residentOf(os.Getpid()) }

// lengthen makes a context with a line of n small deltas, and returns the
// hundredth from its end.
func (r *dagRun) lengthen(c codec.ContextID, n int) (near codec.DeltaID, err error) {
	if err := r.store.CreateContext(c, dagApplication); err != nil {
		return near, err
	}
	root := merkle.EmptyRoot()
	for i := range n {
		done, err := r.store.Commit(context.Background(), dag.Commit{Context: c, ReadRoot: root, Durability: engine.WAL,
			Actions: []codec.Action{codec.Put(dagKey(i%dagFewKeys), fmt.Append(nil, i))}})
		if err != nil {
			return near, err
		}
		root = done.Root
		if i == max(n-101, 0) {
			near = done.Delta
		}
	}
	return near, nil
}

// reopen closes store and engine and opens the engine.
func (r *dagRun) reopen() error {
	err := r.stop()
	r.store, r.db = nil, nil
	if err == nil {
		r.db, err = openDagEngine(r.dir)
	}
	return err
}

// ask opens the store and asks what a node asks that comes back.
func (r *dagRun) ask(c codec.ContextID, near codec.DeltaID) (err error) {
	if r.store, err = openDagStore(r.db, 1); err != nil {
		return err
	}
	if heads, _, err := r.store.Heads(c); err != nil || len(heads) != 1 {
		return fmt.Errorf("%d heads: %w", len(heads), err)
	}
	if missing, err := r.store.Missing(c, codec.DeltaID{}, 100); err != nil || len(missing) != 0 {
		return fmt.Errorf("%d missing: %w", len(missing), err)
	}
	n := 0
	for _, err := range r.store.Since(context.Background(), c, []codec.DeltaID{near}, dag.SinceOptions{}) {
		if err != nil {
			return err
		}
		n++
	}
	if n != 100 {
		return fmt.Errorf("%d deltas since then instead of 100", n)
	}
	return nil
}
