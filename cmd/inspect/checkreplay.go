package inspect

import (
	"errors"
	"fmt"
	"os"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
)

// checkReplay makes every context again from its deltas, and compares all that
// they make: ids, roots, the state, and each row of the scopes of package dag.
func checkReplay(v *verifier) check {
	return rowCheck(func(r row) error { return v.replay(codec.ContextID(r.key)) })
}

func (v *verifier) replay(id codec.ContextID) error {
	view, err := dag.View(v.source, dag.Options{Cache: merkle.NewCache(replayTrieBytes)})
	if err != nil {
		return err
	}
	defer view.Close()
	if err := view.ClockDamage(); err != nil && !v.clockTold {
		v.clockTold = true // it is the clock of all contexts
		if err := v.found("dag-clock", column.Generic, hlc.RowKey(), "%s", err); err != nil {
			return err
		}
	}
	report, err := view.Verify(v.ctx, id, dag.VerifyOptions{
		Scratch: func() (engine.Engine, func() error, error) { return v.replayEngine(id) },
		Step: func(p dag.Phase, done, all uint64) {
			v.watch.enter(string(p)) // they have the names of phases here
			v.step(string(p), done, all)
		},
	})
	switch {
	case errors.Is(err, dag.ErrAdopting):
		v.out.Notes = append(v.out.Notes, fmt.Sprintf("context %s was not replayed: a snapshot is taking its place, which the daemon finishes", id))
		return nil
	case errors.Is(err, codec.ErrMalformed), isDamage(err):
		return v.found("dag-damaged", column.Meta, id[:], "%s", err)
	case err != nil:
		return err
	}
	for i := range report.Findings {
		if err := v.ofReplay(id, &report.Findings[i]); err != nil {
			return err
		}
	}
	if report.More > 0 {
		return v.found("dag-more", column.Meta, id[:], "%d more findings of this context", report.More)
	}
	return nil
}

func (v *verifier) ofReplay(id codec.ContextID, f *dag.Finding) error {
	reason := f.Detail
	if !f.Delta.IsZero() {
		reason = fmt.Sprintf("delta %s: %s", f.Delta, reason)
	}
	col, key := f.Column, f.Key
	if key == nil {
		col, key = column.Meta, id[:]
	}
	return v.found("dag-"+string(f.Code), col, key, "%s", reason)
}

// replayInMemory is how many bytes of deltas and state a context has at most that
// is replayed in memory, where it takes about ten times as much.
const replayInMemory = 8 << 20

// replayEngine returns an empty engine to replay a context in: in memory if the
// context is small, else in a temporary directory. done gives it back.
func (v *verifier) replayEngine(id codec.ContextID) (e engine.Engine, done func() error, err error) {
	small, err := v.small(id)
	if err != nil {
		return nil, nil, err
	}
	if !small {
		dir, err := os.MkdirTemp("", "stoa-*")
		if err != nil {
			return nil, nil, fmt.Errorf("inspect: a directory to replay a context in: %w", err)
		}
		remove := func() error { return os.RemoveAll(dir) }
		e, err := rocks.Open(dir, rocks.Options{CacheBytes: 16 << 20, MaxWALBytes: 32 << 20})
		if err == nil {
			return e, func() error { return errors.Join(e.Close(), remove()) }, nil
		}
		if err := errors.Join(err, remove()); !errors.Is(err, engine.ErrUnsupported) {
			return nil, nil, err
		}
	}
	m := mem.New()
	return m, m.Close, nil
}

// errEnough ends a scan that has seen enough.
var errEnough = errors.New("inspect: enough")

// small reports whether the deltas and the state of a context are few bytes. What
// cannot be read is reported where it stands.
func (v *verifier) small(id codec.ContextID) (bool, error) {
	size := 0
	for _, c := range []column.Column{column.Delta, column.State} {
		err := (&walker{ctx: v.ctx}).each(v.source, c, engine.Prefixed(id[:]), func(key, value []byte) error {
			if size += len(key) + len(value); size > replayInMemory {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return false, nil
		}
		if err != nil && !isDamage(err) {
			return false, err
		}
	}
	return true, nil
}

// replayTrieBytes is how many bytes of pages of a trie are kept in memory: half of
// those of a million keys.
const replayTrieBytes = 64 << 20
