//go:build cgo

package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

// The shape of the deltas that are measured. Sizes are in bytes.
const (
	dagActions    = 10
	dagValueBytes = 100
	dagFewKeys    = 1000
)

// dagWorkload measures package dag beside what it stands on. Each has a store of
// its own, apart from that of the other workloads.
type dagWorkload struct {
	name  string
	about string
	unit  string
	run   func(*dagRun) error
}

var dagWorkloads = []dagWorkload{
	{"dag-commit", "commits of 10 actions of 100 bytes, 1,000 keys, not synced, beside a bare batch of the same State, Delta and Meta rows", "delta", (*dagRun).commit},
	{"dag-add", "the same deltas, received", "delta", (*dagRun).add},
	{"dag-parallel", "the same, in 64 contexts at once", "delta", (*dagRun).parallel},
	{"dag-apply-1e6", "commits of 10 actions in a context of as many keys as there are rows, beside one of 1,000", "action", (*dagRun).apply},
	{"dag-reverse", "a chain of deltas that come in reverse", "delta", (*dagRun).reverse},
	{"dag-merge", "100 branches of 10 deltas, in turns, beside a line of 1,000", "delta", (*dagRun).merge},
	{"dag-diff", "two contexts of as many keys as there are rows, with 10 differences", "diff", (*dagRun).diff},
	{"dag-open", "a context of as many deltas as there are rows is opened and asked", "open", (*dagRun).open},
}

// dagRun is one workload of dag at work.
type dagRun struct {
	options Options
	dir     string
	db      engine.Engine
	store   *dag.Store
	result  Result
}

// dagNames returns the names of the workloads of dag.
func dagNames() (names []string) {
	for _, w := range dagWorkloads {
		names = append(names, w.name)
	}
	return names
}

// measureDags runs the workloads of dag that are wanted.
func measureDags(o Options) (results []Result, err error) {
	for _, w := range dagWorkloads {
		if !wanted(o.Workloads, w.name) {
			continue
		}
		o.Logger.Info("measuring", "workload", w.name)
		result, err := measureDag(o, w)
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

// measureDag runs a workload in a store of its own.
func measureDag(o Options, w dagWorkload) (_ Result, err error) {
	r := &dagRun{options: o, dir: o.path(w.name), result: Result{Workload: w.name, About: w.about, Unit: w.unit}}
	if err := r.start(); err != nil {
		return r.result, fmt.Errorf("bench: %s: %w", w.name, err)
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := w.run(r); err != nil {
		return r.result, fmt.Errorf("bench: %s: %w", w.name, err)
	}
	for i := range r.result.Measures {
		r.result.Measures[i].sum()
	}
	return r.result, nil
}

func (r *dagRun) start() (err error) {
	if r.db, err = openDagEngine(r.dir); err != nil {
		return err
	}
	r.store, err = openDagStore(r.db, 1)
	return err
}

// openDagEngine opens a store with the row cache that a daemon has by default.
func openDagEngine(dir string) (engine.Engine, error) {
	return rocks.Open(dir, rocks.Options{CacheBytes: cacheBytes, RowCacheBytes: 64 << 20})
}

func (r *dagRun) stop() error {
	var err error
	if r.store != nil {
		err = r.store.Close()
	}
	if r.db != nil {
		err = errors.Join(err, r.db.Close())
	}
	return err
}

func openDagStore(db engine.Engine, node uint64) (*dag.Store, error) {
	return dag.Open(db, dag.Options{Node: codec.NodeID{Lo: node}})
}

// measureOf returns the measure of a subject, which it adds.
func (r *dagRun) measureOf(subject string) *Measure {
	if m := r.result.measure(subject); m != nil {
		return m
	}
	r.result.Measures = append(r.result.Measures, Measure{Subject: subject})
	return &r.result.Measures[len(r.result.Measures)-1]
}

// figure notes a figure that no table has room for.
func (r *dagRun) figure(name string, value float64, unit, demanded string) {
	r.result.Figures = append(r.result.Figures, Figure{Name: name, Value: value, Unit: unit, Demanded: demanded})
}

// cost notes what a subject costs beside another, by the CPU and by time.
func (r *dagRun) cost(a, b, demanded string) {
	r.figure("cpu of "+a+" / "+b, ratio(r.result.measure(a), r.result.measure(b), cpuOf), "", demanded)
	r.figure("time of "+a+" / "+b, ratio(r.result.measure(a), r.result.measure(b), wallOf), "", "")
}

// each is how many deltas a turn has: about a slice of work.
func (r *dagRun) each() int { return min(max(int(r.options.Slice/(100*time.Microsecond)), 10), 5_000) }

// turns lets subjects take turns of n units, after a short one to warm up.
func (r *dagRun) turns(n int, subjects ...dagSubject) error {
	for _, s := range subjects {
		r.measureOf(s.name)
	}
	for round := -1; round < r.options.Rounds; round++ {
		for _, s := range subjects {
			units := n
			if round < 0 {
				units = max(n/10, 1)
			}
			do, err := s.ready(units)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if err := r.db.Flush(); err != nil {
				return err
			}
			t, err := takeTurn(units, do)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if t.scale(s.per); round >= 0 {
				m := r.measureOf(s.name)
				m.turns = append(m.turns, t)
			}
		}
	}
	return nil
}

// dagSubject is what takes turns.
type dagSubject struct {
	name  string
	per   int                                  // units in a call
	ready func(n int) (func(int) error, error) // what is not measured, and what is, n times
}

// takeTurn makes n calls on this thread.
func takeTurn(n int, do func(i int) error) (turn, error) {
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	t := turn{Units: n, latencies: make([]time.Duration, 0, n/sampleEvery+1)}
	allocs, before, begun := stats.Mallocs, threadCPU(), time.Now()
	for i := range n {
		if i%sampleEvery > 0 {
			if err := do(i); err != nil {
				return t, err
			}
			continue
		}
		at := time.Now()
		if err := do(i); err != nil {
			return t, err
		}
		t.latencies = append(t.latencies, time.Since(at))
	}
	t.Wall = time.Since(begun)
	spent := threadCPU() - before
	runtime.ReadMemStats(&stats)
	t.WallNanos, t.CPUNanos = float64(t.Wall)/float64(n), float64(spent)/float64(n)
	t.Allocs = float64(stats.Mallocs-allocs) / float64(n)
	return t, nil
}

// scale makes figures of a call figures of a unit.
func (t *turn) scale(units int) {
	n := float64(max(units, 1))
	t.Units *= max(units, 1)
	t.WallNanos, t.CPUNanos, t.Allocs = t.WallNanos/n, t.CPUNanos/n, t.Allocs/n
}

// dagContext returns the id of context n.
func dagContext(n int) (c codec.ContextID) {
	copy(c[:], fmt.Appendf(nil, "bench context %d", n))
	return c
}

// dagApplication is what the contexts run.
var dagApplication = codec.ApplicationMeta{ApplicationID: codec.ApplicationID{1}, Source: "https://example.com/bench", Version: "1"}

// dagKey returns the app_key of a number.
func dagKey(n int) []byte { return fmt.Appendf(nil, "key %028x", spread(uint64(n))) }

// drawActions returns ten actions on different keys of the first n.
func drawActions(random *rand.Rand, n int) []codec.Action {
	actions := make([]codec.Action, dagActions)
	for i := range actions {
		value := make([]byte, dagValueBytes)
		for at := 0; at+8 <= len(value)/2; at += 8 {
			binary.LittleEndian.PutUint64(value[at:], random.Uint64())
		}
		actions[i] = codec.Put(dagKey(random.IntN(n/dagActions)*dagActions+i), value)
	}
	return actions
}

// grow makes a context with n keys, by deltas of many actions, and calls made with
// the bytes of each, if it is not nil.
func grow(s *dag.Store, c codec.ContextID, n int, made func(delta []byte) error) error {
	if err := s.CreateContext(c, dagApplication); err != nil {
		return err
	}
	all := make([][]byte, n)
	for i := range all {
		all[i] = dagKey(i)
	}
	// In the order of the trie, so that each of its rows is written once or twice.
	slices.SortFunc(all, func(a, b []byte) int {
		return codec.CompareID(merkle.HashKey(a), merkle.HashKey(b))
	})
	value := make([]byte, dagValueBytes)
	for some := range slices.Chunk(all, 4096) {
		var actions []codec.Action
		for _, key := range some {
			actions = append(actions, codec.Put(key, value))
		}
		done, err := commitOn(s, c, actions)
		if err == nil && made != nil {
			err = made(done.Deltas[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// commitOn commits on the present root.
func commitOn(s *dag.Store, c codec.ContextID, actions []codec.Action) (dag.Committed, error) {
	info, err := s.Context(c)
	if err != nil {
		return dag.Committed{}, err
	}
	return s.Commit(context.Background(), dag.Commit{Context: c, Actions: actions, ReadRoot: info.Root, Durability: engine.WAL})
}
