//go:build cgo

package bench

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
)

// govWorkload measures package namespace beside bare Ed25519 verification. Each has
// stores of its own.
type govWorkload struct {
	name  string
	about string
	unit  string
	run   func(*govRun) error
}

var govWorkloads = []govWorkload{
	{"gov-apply", "sealed ops as a stream on one core, each answered when it is on disk; two signatures each", "signature", (*govRun).stream},
	{"gov-single", "one sealed op at a time, on disk when answered", "op", (*govRun).single},
	{"gov-catchup", "a tenth as many ops as there are rows, by stream into an empty store, on two cores", "signature", (*govRun).catchUp},
	{"gov-history", "a stream on top of a tenth as many ops as there are rows, beside one on top of 1,000", "op", (*govRun).long},
	{"gov-log", "the log of a group with a tenth as many ops as there are rows, with verdicts", "op", (*govRun).log},
	{"gov-rotate", "a removal from a group that leaves 1,000 members", "removal", (*govRun).rotate},
}

// govNames returns the names of the workloads of namespace.
func govNames() (names []string) {
	for _, w := range govWorkloads {
		names = append(names, w.name)
	}
	return names
}

// govRun is one workload of namespace at work.
type govRun struct {
	options Options
	dir     string
	history *govHistory
	open    []*govStore
	result  Result
}

// govStore is a store with its engine, which counts batches.
type govStore struct {
	engine.Engine
	dir     string
	batches int
	store   *namespace.Store
}

// Apply counts the batches, each of which is synced.
func (s *govStore) Apply(b *engine.Batch) error {
	s.batches++
	return s.Engine.Apply(b)
}

// measureGovernance runs the workloads of namespace that are wanted.
func measureGovernance(o Options) (results []Result, err error) {
	for _, w := range govWorkloads {
		if !wanted(o.Workloads, w.name) {
			continue
		}
		o.Logger.Info("measuring", "workload", w.name)
		r := &govRun{options: o, dir: o.path(w.name), result: Result{Workload: w.name, About: w.about, Unit: w.unit}}
		if r.history, err = newGovHistory(); err == nil {
			err = errors.Join(w.run(r), r.close())
		}
		if err != nil {
			return results, fmt.Errorf("bench: %s: %w", w.name, err)
		}
		for i := range r.result.Measures {
			r.result.Measures[i].sum()
		}
		results = append(results, r.result)
	}
	return results, nil
}

func (r *govRun) close() (err error) {
	for _, s := range r.open {
		err = errors.Join(err, s.store.Close(), s.Close())
	}
	r.open = nil
	return err
}

// fresh opens an empty store of a node that has the key of the history.
func (r *govRun) fresh() (*govStore, error) {
	s := &govStore{dir: filepath.Join(r.dir, fmt.Sprint(len(r.result.Measures), "-", len(r.open), "-", time.Now().UnixNano()))}
	if err := s.start(); err != nil {
		return nil, err
	}
	r.open = append(r.open, s)
	return s, s.store.ImportIdentity(r.history.namespace, r.history.identity())
}

// start opens the store and its engine.
func (s *govStore) start() error {
	db, err := openDagEngine(s.dir)
	if err != nil {
		return err
	}
	s.Engine = db
	if s.store, err = namespace.Open(s, namespace.Options{}); err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// take has a store take ops as a stream, all of which must be new.
func (s *govStore) take(wires [][]byte) error {
	for a, err := range s.store.ApplyMany(context.Background(), slices.Values(wires)) {
		if err != nil {
			return err
		}
		if a.Kind != namespace.Stored {
			return fmt.Errorf("an op is %s instead of stored: %v", a.Kind, a.Refusal)
		}
	}
	return nil
}

// turn notes what a subject did: n units, by the CPU of the whole process.
func (r *govRun) turn(subject string, n int, do func() error) error {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	allocs, before, begun := stats.Mallocs, CPU(unix.RUSAGE_SELF), time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	t := turn{Units: n, Wall: time.Since(begun)}
	spent := CPU(unix.RUSAGE_SELF) - before
	runtime.ReadMemStats(&stats)
	t.WallNanos, t.CPUNanos = float64(t.Wall)/float64(n), float64(spent)/float64(n)
	t.Allocs = float64(stats.Mallocs-allocs) / float64(n)
	m := r.result.measure(subject)
	if m == nil {
		r.result.Measures = append(r.result.Measures, Measure{Subject: subject})
		m = r.result.measure(subject)
	}
	m.turns = append(m.turns, t)
	return nil
}

func (r *govRun) figure(name string, value float64, unit, demanded string) {
	r.result.Figures = append(r.result.Figures, Figure{Name: name, Value: value, Unit: unit, Demanded: demanded})
}

// verify is what the demanded rates are to: as many signatures verified on one core, over
// messages as long as an op, and nothing else.
func (r *govRun) verify(n int) error {
	key := ed25519.NewKeyFromSeed(r.history.seeds[0].Bytes())
	message := r.history.wires[len(r.history.wires)-1]
	sig, public := ed25519.Sign(key, message), key.Public().(ed25519.PublicKey)
	return r.turn("verify", n, func() error {
		for range n {
			if !ed25519.Verify(public, message, sig) {
				return errors.New("a good signature is none")
			}
		}
		return nil
	})
}

// each is how many ops a turn has: about a slice of work.
func (r *govRun) each() int { return min(max(int(r.options.Slice/(200*time.Microsecond)), 10), 20_000) }

// many is how many ops a long history has.
func (r *govRun) many() int { return max(r.options.Rows/10, 100) }
