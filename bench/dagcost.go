//go:build cgo

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// bareRows are the State, Delta and Meta rows of a delta, encoded.
type bareRows struct {
	states      [][2][]byte
	deltaKey    []byte
	delta, meta []byte
}

// bare is what the demanded ratio is to: the rows of a delta in one batch of
// bytes, and nothing else.
func (r *dagRun) bare(c codec.ContextID) dagSubject {
	random := rand.New(rand.NewPCG(1, 1))
	made := 0
	return dagSubject{name: "bare", ready: func(n int) (func(int) error, error) {
		work := make([]bareRows, n)
		for i := range work {
			made++
			var err error
			if work[i], err = encodeRows(c, drawActions(random, dagFewKeys), made); err != nil {
				return nil, err
			}
		}
		var batch engine.Batch
		return func(i int) error {
			batch.Reset()
			batch.Durability = engine.WAL
			w := &work[i]
			for _, kv := range w.states {
				batch.Put(column.State, kv[0], kv[1])
			}
			batch.Put(column.Delta, w.deltaKey, w.delta)
			batch.Put(column.Meta, c[:], w.meta)
			return r.db.Apply(&batch)
		}, nil
	}}
}

func encodeRows(c codec.ContextID, actions []codec.Action, number int) (w bareRows, err error) {
	for _, a := range actions {
		key, err := keys.ContextState{Context: c, AppKey: keys.NewBytes(a.Key)}.AppendBinary(nil)
		if err != nil {
			return w, err
		}
		w.states = append(w.states, [2][]byte{key, a.Value})
	}
	id := codec.DeltaID(merkle.HashKey(fmt.Append(nil, number)))
	if w.deltaKey, err = (keys.ContextDagDelta{Context: c, Delta: id}).AppendBinary(nil); err != nil {
		return w, err
	}
	v := codec.ContextDagDeltaValue{DeltaID: id, Parents: []codec.DeltaID{id}, Actions: actions, Applied: true,
		HLC: codec.HybridTimestamp{Time: uint64(number), ID: codec.NodeID{Lo: 1}}, ExpectedRootHash: codec.Hash(id)}
	if w.delta, err = v.AppendBinary(nil); err != nil {
		return w, err
	}
	w.meta, err = codec.ContextMetaValue{Application: dagApplication, RootHash: codec.Hash(id), DagHeads: []codec.DeltaID{id}}.AppendBinary(nil)
	return w, err
}

// committing commits deltas on n keys of a context.
func (r *dagRun) committing(name string, c codec.ContextID, n int) dagSubject {
	random := rand.New(rand.NewPCG(2, uint64(n)))
	return dagSubject{name: name, ready: func(count int) (func(int) error, error) {
		work := make([][]codec.Action, count)
		for i := range work {
			work[i] = drawActions(random, n)
		}
		info, err := r.store.Context(c)
		root := info.Root
		return func(i int) error {
			done, err := r.store.Commit(context.Background(), dag.Commit{Context: c, Actions: work[i], ReadRoot: root, Durability: engine.WAL})
			root = done.Root
			return err
		}, err
	}}
}

func (r *dagRun) commit() error {
	if err := grow(r.store, dagContext(0), dagFewKeys, nil); err != nil {
		return err
	}
	if err := r.turns(r.each(), r.bare(dagContext(1)), r.committing("commit", dagContext(0), dagFewKeys)); err != nil {
		return err
	}
	r.cost("commit", "bare", "at most 4, aim 2.5")
	return nil
}

// source is a store in memory in which the deltas are made that another
// receives.
type source struct {
	db     *mem.Engine
	store  *dag.Store
	random *rand.Rand
}

func newSource(node uint64) (*source, error) {
	db := mem.New()
	s, err := openDagStore(db, node)
	return &source{db: db, store: s, random: rand.New(rand.NewPCG(3, node))}, err
}

func (s *source) close() error {
	if err := s.store.Close(); err != nil {
		return err
	}
	return s.db.Close()
}

// made returns the next n deltas of a context, as a receiver parses them.
func (s *source) made(c codec.ContextID, n int) ([]*dag.Delta, error) {
	deltas := make([]*dag.Delta, 0, n)
	for range n {
		done, err := commitOn(s.store, c, drawActions(s.random, dagFewKeys))
		if err != nil {
			return nil, err
		}
		for _, b := range done.Deltas {
			d, err := dag.ParseDelta(b)
			if err != nil {
				return nil, err
			}
			deltas = append(deltas, d)
		}
	}
	return deltas, nil
}

// copied makes a context in both stores that has the same thousand keys.
func (s *source) copied(to *dag.Store, c codec.ContextID) error {
	if err := to.CreateContext(c, dagApplication); err != nil {
		return err
	}
	return grow(s.store, c, dagFewKeys, func(b []byte) error { return received(to, b) })
}

// received adds the bytes of a delta that can be applied at once.
func received(s *dag.Store, b []byte) error {
	d, err := dag.ParseDelta(b)
	if err != nil {
		return err
	}
	return applied(s, d)
}

// applied adds a delta that can be applied at once.
func applied(s *dag.Store, d *dag.Delta) error {
	a, err := s.Add(context.Background(), d, dag.AddOptions{Durability: engine.WAL})
	if err == nil && a.Kind != dag.Applied {
		err = fmt.Errorf("a delta is %s instead of applied: %v", a.Kind, a.Refusal)
	}
	return err
}

func (r *dagRun) add() error {
	from, err := newSource(2)
	if err != nil {
		return err
	}
	defer from.close()
	c := dagContext(0)
	if err := from.copied(r.store, c); err != nil {
		return err
	}
	add := dagSubject{name: "add", ready: func(n int) (func(int) error, error) {
		deltas, err := from.made(c, n)
		return func(i int) error { return applied(r.store, deltas[i]) }, err
	}}
	if err := r.turns(r.each(), r.bare(dagContext(1)), add); err != nil {
		return err
	}
	r.cost("add", "bare", "at most 4, aim 2.5")
	return nil
}

// parallel lets 64 goroutines add to a context each.
func (r *dagRun) parallel() error {
	const lanes = 64
	from, err := newSource(2)
	if err != nil {
		return err
	}
	defer from.close()
	for i := range lanes {
		if err := from.copied(r.store, dagContext(i)); err != nil {
			return err
		}
	}
	each := max(r.each()/lanes, 2)
	var rates []float64
	for range r.options.Rounds {
		var work [lanes][]*dag.Delta
		for i := range work {
			if work[i], err = from.made(dagContext(i), each); err != nil {
				return err
			}
		}
		var wg sync.WaitGroup
		errs := make([]error, lanes)
		begun, spent := time.Now(), CPU(unix.RUSAGE_SELF)
		for i := range work {
			wg.Go(func() {
				for _, d := range work[i] {
					if errs[i] = applied(r.store, d); errs[i] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		t := turn{Units: lanes * each, Wall: time.Since(begun)}
		spent = CPU(unix.RUSAGE_SELF) - spent
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		t.WallNanos, t.CPUNanos = float64(t.Wall)/float64(t.Units), float64(spent)/float64(t.Units)
		m := r.measureOf("add-64")
		m.turns = append(m.turns, t)
		rates = append(rates, 1e9/t.WallNanos)
	}
	r.figure("deltas a second, 64 contexts", spreadOf(rates).Median, "", "")
	return nil
}

// apply compares contexts of few and of many keys.
func (r *dagRun) apply() error {
	few, many := dagContext(0), dagContext(1)
	if err := grow(r.store, few, dagFewKeys, nil); err != nil {
		return err
	}
	if err := grow(r.store, many, r.options.Rows, nil); err != nil {
		return err
	}
	small, large := r.committing("few-keys", few, dagFewKeys), r.committing("many-keys", many, r.options.Rows)
	small.per, large.per = dagActions, dagActions
	if err := r.turns(r.each(), small, large); err != nil {
		return err
	}
	r.cost("many-keys", "few-keys", "at most 2.5, at 1,000,000 rows")
	return nil
}
