package dag

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// adoptBytes is about how many bytes a batch of an adoption has.
const adoptBytes = 4 << 20

// adopt lets the snapshot that has been received and verified take the place of
// what was in a context, if that is still allowed: deltas may have come meanwhile.
func (s *Store) adopt(id codec.ContextID, allowed func() error) error {
	return s.exclusively(id, func(*engine.Batch) error {
		if err := allowed(); err != nil {
			return err
		}
		row, err := readContextRow(s.db, id)
		if err != nil {
			return err
		}
		// From here on there is no way back: the process that opens the store
		// next goes on with it.
		row.phase = adopting
		var b engine.Batch
		b.Put(column.Generic, contextRowKey(nil, &id), row.appendBinary(nil))
		if err := s.db.Apply(&b); err != nil {
			return err
		}
		return s.rollForward(id)
	})
}

// resumeAdoption ends an adoption that a fault of the engine has interrupted.
func (s *Store) resumeAdoption(ctx context.Context, id codec.ContextID) error {
	row, err := readContextRow(s.db, id)
	if err == nil && row.phase == adopting {
		err = s.exclusively(id, func(*engine.Batch) error { return s.rollForward(id) })
	}
	if err != nil {
		return err
	}
	return s.restore(ctx, id, new(Seeded))
}

// rollForwardAll ends the adoptions that the end of the process has interrupted. A
// context whose rows are damaged keeps none of the others from being served: it says
// ErrAdopting until it is deleted.
func (s *Store) rollForwardAll() error {
	var ids []codec.ContextID
	err := each(s.db, engine.Prefixed(contextScope[:]), func(key, value []byte) error {
		row, ok := parseContextRow(value)
		if !ok || len(key) != contextPrefixLen {
			return damagedRow(column.Generic, key, "not a context's row")
		}
		if row.phase == adopting {
			ids = append(ids, codec.ContextID(key[len(contextScope):]))
		}
		return nil
	})
	for _, id := range ids {
		if err != nil {
			break
		}
		if err = s.rollForward(id); errors.Is(err, engine.ErrCorrupt) {
			s.options.Log.Error("dag: a context can't be replaced by its snapshot: delete it, and seed it again", "context", id, "error", err)
			err = nil
		}
	}
	return err
}

// rollForward does what is left of an adoption. Nobody else writes the context.
// Each step may be done again: what has been received is removed with the last.
func (s *Store) rollForward(id codec.ContextID) error {
	row, err := readSeeding(s.db, &id)
	if err == nil && row == nil {
		err = damagedRow(column.Generic, contextPrefix(nil, seedingScope, &id), "the row of the snapshot that is being adopted is missing")
	}
	if err != nil {
		return err
	}
	a := adoption{s: s, id: id, root: row.root}
	if len(row.base) > 0 {
		if a.base, err = ParseDelta(row.base); err != nil {
			return damagedRow(column.Generic, contextPrefix(nil, seedingScope, &id), err.Error())
		}
		a.at = stamp{a.base.HLC, a.base.ID()}
	}
	for _, step := range []func() error{a.setAside, a.clear, a.copyState, a.copyTrie, a.finish} {
		if err := step(); err != nil {
			return fmt.Errorf("dag: context %s: adopt a snapshot: %w", id, err)
		}
	}
	return nil
}

// adoption is a snapshot taking the place of a context.
type adoption struct {
	s     *Store
	id    codec.ContextID
	root  codec.Hash
	base  *Delta // nil: none
	at    stamp  // of the base
	batch engine.Batch
}

// flush writes the batch once it has least bytes.
func (a *adoption) flush(least int) error {
	if a.batch.Len() == 0 || a.batch.Size() < least {
		return nil
	}
	a.batch.Durability = engine.WAL // the last batch is synced, and the log is in order
	err := a.s.db.Apply(&a.batch)
	a.batch.Reset()
	return err
}

// setAside takes the context's own deltas away, and keeps those apart that may
// descend from the base.
func (a *adoption) setAside() error {
	for e, err := range engine.Scan[keys.ContextDagDelta, codec.ContextDagDeltaValue](a.s.db, keys.DeltasOf(a.id)) {
		if err != nil {
			return err
		}
		v := &e.Value
		if a.base == nil || v.HLC.Time > a.at.hlc.Time && len(v.Parents) > 0 {
			d := Delta{Context: a.id, Parents: v.Parents, Actions: v.Actions, HLC: v.HLC, ExpectedRoot: v.ExpectedRootHash, Events: v.Events}
			b, err := d.AppendBinary(nil)
			if err != nil {
				return err
			}
			a.batch.Put(column.Generic, asideKey(nil, &a.id, v.HLC.Time, &v.DeltaID), b)
		}
		a.batch.Delete(column.Delta, deltaKey(nil, &a.id, &v.DeltaID))
		if err := a.flush(adoptBytes); err != nil {
			return err
		}
	}
	return a.flush(0)
}

// clear takes all away that deltas have made of the context. Those who follow it
// begin anew.
func (a *adoption) clear() error {
	deleteRows(&a.batch, &a.id)
	err := each(a.s.db, engine.Prefixed(contextPrefix(nil, cursorScope, &a.id)), func(key, _ []byte) error {
		a.batch.Put(column.Generic, key, make([]byte, 8))
		return a.flush(adoptBytes)
	})
	if err != nil {
		return err
	}
	return a.flush(0)
}

func (a *adoption) copyState() error {
	err := each(a.s.db, engine.Prefixed(contextPrefix(nil, stagingScope, &a.id)), func(key, row []byte) error {
		appKey, value, ok := parseStateRow(row)
		if !ok || len(key) != contextPrefixLen+32 {
			return damagedRow(column.Generic, key, "no row of the state")
		}
		a.batch.Put(column.State, stateKey(nil, &a.id, appKey), value)
		return a.flush(adoptBytes)
	})
	if err != nil {
		return err
	}
	return a.flush(0)
}

// copyTrie moves the trie of the shadow: its rows say nothing of whose they are. The newest version of each key is that of the
// base, number 1, also where a build without marks has received it.
func (a *adoption) copyTrie() error {
	from, to := shadow(&a.id), merkle.KeyPrefix(nil, &a.id)
	err := each(a.s.db, engine.Prefixed(merkle.KeyPrefix(nil, &from)), func(key, row []byte) error {
		a.batch.Put(column.Generic, append(to[:len(to):len(to)], key[contextPrefixLen:]...), merkle.Remark(nil, row, 1))
		return a.flush(adoptBytes)
	})
	if err != nil {
		return err
	}
	return a.flush(0)
}

// finish makes the context the new one.
func (a *adoption) finish() error {
	meta, err := readMeta(a.s.db, a.id)
	if err != nil {
		return err
	}
	b := &a.batch
	meta.RootHash, meta.DagHeads = a.root, nil
	if a.base != nil {
		meta.DagHeads = []codec.DeltaID{a.at.id}
		engine.Put(b, keys.ContextDagDelta{Context: a.id, Delta: a.at.id}, codec.ContextDagDeltaValue{DeltaID: a.at.id,
			Parents: a.base.Parents, Actions: a.base.Actions, HLC: a.base.HLC, Applied: true, ExpectedRootHash: a.base.ExpectedRoot, Events: a.base.Events})
		order := orderRow{id: a.at.id, hlc: a.at.hlc}
		b.Put(column.Generic, orderKey(nil, &a.id, 1), order.appendBinary(nil))
		b.Put(column.Generic, seqKey(nil, &a.id, &a.at.id), []byte{1, 0, 0, 0, 0, 0, 0, 0})
		row := contextRow{base: a.at}
		b.Put(column.Generic, contextRowKey(nil, &a.id), row.appendBinary(nil))
	} else {
		b.Delete(column.Generic, contextRowKey(nil, &a.id))
	}
	engine.Put(b, keys.ContextMeta{Context: a.id}, meta)
	deleteSeeding(b, &a.id)
	return a.s.db.Apply(b)
}

// restoreAll does what the end of the process has kept Seed from.
func (s *Store) restoreAll() error {
	var ids []codec.ContextID
	for at := asideScope[:]; at != nil; {
		rg := engine.Prefixed(asideScope[:])
		rg.Start, rg.Limit = at, 1
		at = nil
		err := each(s.db, rg, func(key, _ []byte) error {
			if len(key) < contextPrefixLen {
				return damagedRow(column.Generic, key, "no delta that was set aside")
			}
			ids = append(ids, codec.ContextID(key[len(asideScope):]))
			at = engine.Successor(key[:contextPrefixLen])
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, id := range ids {
		err := s.restore(s.ctx, id, new(Seeded))
		if errors.Is(err, hlc.ErrEarly) {
			// The clock was set back. They stay where they are.
			s.options.Log.Warn("deltas from before a context was seeded are kept for later", "context", id, "error", err)
		} else if err != nil {
			return fmt.Errorf("dag: context %s: restore its deltas: %w", id, err)
		}
	}
	return nil
}

// restore offers a context that has been seeded its own deltas from before, which
// were set aside, parents first.
func (s *Store) restore(ctx context.Context, id codec.ContextID, result *Seeded) error {
	rg := engine.Prefixed(contextPrefix(nil, asideScope, &id))
	for {
		if err := s.ended(ctx); err != nil {
			return err
		}
		var key, row []byte
		rg.Limit = 1
		err := each(s.db, rg, func(k, v []byte) error {
			key, row = append([]byte{}, k...), append([]byte{}, v...)
			return nil
		})
		if err != nil || key == nil {
			return err
		}
		d, err := ParseDelta(row)
		if err != nil {
			return damagedRow(column.Generic, key, err.Error())
		}
		a, err := s.Add(ctx, d, AddOptions{Durability: engine.WAL})
		if err != nil {
			return err
		}
		switch a.Kind {
		case Applied, Duplicate, Pending:
			result.Restored++
		case BeforeSnapshot, Refused:
			result.Dropped = report(result.Dropped, d.ID())
		case TooEarly:
			return &hlc.Early{Stamp: d.HLC, RetryAfter: a.RetryAfter}
		}
		result.Dropped = report(result.Dropped, a.Dropped...)
		result.Dropped = report(result.Dropped, a.Evicted...)
		var b engine.Batch
		b.Durability = engine.WAL
		b.Delete(column.Generic, key)
		if err := s.db.Apply(&b); err != nil {
			return err
		}
	}
}
