package dag

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// ContextInfo is what a store knows of a context.
type ContextInfo struct {
	ID           codec.ContextID
	Application  codec.ApplicationMeta
	Root         codec.Hash
	Heads        []codec.DeltaID // in ascending order
	Applied      uint64          // deltas
	Pending      int             // deltas that wait
	PendingBytes int64           // and what they take
	Refused      int             // refusals that are remembered
	Base         codec.DeltaID   // of a context that was seeded; else zero
	BaseHLC      codec.HybridTimestamp
	Reseed       bool // deltas from before or beside the base have been offered: seed it again if they are not ancestors of the base
	Adopting     bool // a snapshot is taking its place
}

// CreateContext makes an empty context, durably. It returns [ErrExists] if there
// is one, codec.ErrMalformed for an application that has no bytes, or the error
// of the engine.
func (s *Store) CreateContext(id codec.ContextID, app codec.ApplicationMeta) error {
	if id.IsZero() {
		return fmt.Errorf("dag: create: %w: the zero context id", codec.ErrMalformed)
	}
	return s.exclusively(id, func(b *engine.Batch) error {
		ok, err := engine.Has(s.db, keys.ContextMeta{Context: id})
		if err != nil {
			return err
		}
		if ok {
			return fmt.Errorf("%w: %s", ErrExists, id)
		}
		engine.Put(b, keys.ContextMeta{Context: id}, codec.ContextMetaValue{Application: app, RootHash: merkle.EmptyRoot()})
		return nil
	})
}

// SetApplication replaces the application of a context, durably. It returns
// [ErrNoContext], codec.ErrMalformed or the error of the engine.
func (s *Store) SetApplication(id codec.ContextID, app codec.ApplicationMeta) error {
	return s.exclusively(id, func(b *engine.Batch) error {
		meta, err := readMeta(s.db, id)
		if err != nil {
			return err
		}
		meta.Application = app
		engine.Put(b, keys.ContextMeta{Context: id}, meta)
		return nil
	})
}

// DeleteContext removes a context, durably: its metadata, state, private state,
// deltas and cursors. The node's keypair in it (column Identity) stays, for it
// can't be made again, and so do the counters of a context that a group has. What others keep
// beside the deltas they put into the batch. It returns
// [ErrNoContext], [ErrSeeding] while a snapshot of it is being received,
// engine.ErrConflict where a group gets it just then, or the error of the engine.
func (s *Store) DeleteContext(id codec.ContextID, beside ...func(*engine.Batch)) error {
	// A seeding would go on to adopt what is no longer there.
	done, err := s.beginSeed(id)
	if err != nil {
		return err
	}
	defer done()
	return s.exclusively(id, func(b *engine.Batch) error {
		if _, err := readMeta(s.db, id); err != nil {
			return err
		}
		b.Delete(column.Meta, id[:])
		if err := dropConfig(s.db, b, id); err != nil {
			return err
		}
		deleteRange(b, column.PrivateState, id[:])
		deleteRows(b, &id)
		for _, scope := range []keys.Scope{contextScope, cursorScope, asideScope} {
			deleteRange(b, column.Generic, contextPrefix(nil, scope, &id))
		}
		for _, fn := range beside {
			fn(b)
		}
		deleteSeeding(b, &id)
		return nil
	})
}

// dropConfig puts into b the removal of a context's counters, unless a group has it: then
// they follow from the ops of its namespace.
func dropConfig(r engine.Getter, b *engine.Batch, id codec.ContextID) error {
	ref := keys.ContextGroupRef{Context: id}
	governed, err := engine.Has(r, ref)
	if err != nil || governed {
		return err
	}
	key, err := ref.AppendBinary(nil)
	if err != nil {
		return err
	}
	b.ExpectAbsent(ref.Slot().Column, key)
	b.Delete(column.Config, id[:])
	return nil
}

// deleteRows puts into b the removal of all that deltas have made of a context,
// but for Meta.
func deleteRows(b *engine.Batch, id *codec.ContextID) {
	deleteRange(b, column.State, id[:])
	deleteRange(b, column.Delta, id[:])
	for _, scope := range []keys.Scope{orderScope, seqScope, versionScope, goneScope, lateScope, tailScope, headScope, seededScope} {
		deleteRange(b, column.Generic, contextPrefix(nil, scope, id))
	}
	for _, kind := range []byte{arrivalRow, indexRow, missingRow, readyRow, waiterRow} {
		deleteRange(b, column.Generic, kindPrefix(nil, pendingScope, kind, id))
	}
	for _, kind := range []byte{refusalRow, refusalIndexRow} {
		deleteRange(b, column.Generic, kindPrefix(nil, refusedScope, kind, id))
	}
	merkle.Delete(b, *id)
}

func deleteRange(b *engine.Batch, col column.Column, prefix []byte) {
	end := engine.Successor(prefix)
	if end == nil { // a context id of FF bytes: all that is longer than the longest key
		end = append(make([]byte, 0, engine.MaxKey+1), prefix...)
		for len(end) <= engine.MaxKey {
			end = append(end, 0xFF)
		}
	}
	b.DeleteRange(col, prefix, end)
}

// exclusively calls fn while nothing else writes the context, which is loaded
// again afterwards, and makes the changes of fn's batch, synced. fn may also write
// to the engine itself.
func (s *Store) exclusively(id codec.ContextID, fn func(*engine.Batch) error) error {
	r := &request{Task: task{alone: true}}
	r.Task.do = func(g *writeGroup) error {
		var b engine.Batch
		if err := fn(&b); err != nil {
			return err
		}
		err := s.db.Apply(&b)
		g.q.applied() // who watches sees what has become of the context
		return err
	}
	if err := s.submit(context.Background(), id, r); err != nil {
		return err
	}
	return r.Err
}

// readMeta returns the metadata of a context, which may not have begun here, or
// [ErrNoContext].
func readMeta(r engine.Getter, id codec.ContextID) (codec.ContextMetaValue, error) {
	meta, err := engine.Get(r, keys.ContextMeta{Context: id})
	if errors.Is(err, engine.ErrNotFound) {
		return governedMeta(r, id)
	}
	return meta, err
}

// view calls fn with the store as it is now, which is valid during the call.
func (s *Store) view(fn func(engine.Reader) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	snapshot, err := s.db.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	return fn(snapshot)
}

// Context returns what is known of a context, or [ErrNoContext].
func (s *Store) Context(id codec.ContextID) (info ContextInfo, err error) {
	err = s.view(func(r engine.Reader) error {
		meta, err := readMeta(r, id)
		if err != nil {
			return err
		}
		info, err = readInfo(r, id, &meta)
		return err
	})
	return info, err
}

// Contexts returns the contexts whose ids come after after, in ascending order, at
// most limit; 0: all. The zero id is before the first.
func (s *Store) Contexts(after codec.ContextID, limit int) (list []ContextInfo, err error) {
	err = s.view(func(r engine.Reader) error {
		rg := engine.Range{Limit: limit}
		if !after.IsZero() {
			rg.Start = append(after[:], 0)
		}
		it, err := r.Iterate(column.Meta, rg)
		if err != nil {
			return err
		}
		defer it.Close()
		for it.Next() {
			key, err := keys.ContextMeta{}.Parse(it.Key())
			if err != nil {
				return damagedRow(column.Meta, it.Key(), err.Error())
			}
			meta, err := codec.ContextMetaValue{}.Decode(it.Value())
			if err != nil {
				return damagedRow(column.Meta, it.Key(), err.Error())
			}
			info, err := readInfo(r, key.Context, &meta)
			if err != nil {
				return err
			}
			list = append(list, info)
		}
		return it.Err()
	})
	return list, err
}

func readInfo(r engine.Reader, id codec.ContextID, meta *codec.ContextMetaValue) (ContextInfo, error) {
	c := loaded{id: id}
	info := ContextInfo{ID: id, Application: meta.Application, Root: meta.RootHash}
	row, err := readContextRow(r, id)
	if err == nil {
		info.Heads, err = HeadsOf(r, id, meta.DagHeads)
	}
	if err == nil {
		info.Applied, err = lastSeq(r, id)
	}
	if err == nil {
		err = c.loadPending(r)
	}
	if err == nil {
		err = c.loadRefused(r)
	}
	if err != nil {
		return ContextInfo{}, err
	}
	info.Applied -= min(info.Applied, row.withdrawn)
	info.Pending, info.PendingBytes, info.Refused = c.waiting, c.waitingBytes, c.refusals()
	info.Base, info.BaseHLC, info.Reseed = row.base.id, row.base.hlc, row.reseed
	info.Adopting = row.phase == adopting
	return info, nil
}

// watch returns a channel that is closed when deltas of the context have been
// applied after the call. It is to be asked for again after that; release gives it
// back.
func (s *Store) watch(id codec.ContextID) (applied <-chan struct{}, release func(), err error) {
	q, err := s.writeQueue(id)
	if err != nil {
		return nil, nil, err
	}
	return q.watchApplied(), func() { s.release(q) }, nil
}
