package dag

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// A context that a group here has is there as if it had been created, empty and with the
// application that the group targets: other nodes have it, and send its deltas. It has no
// row of Meta before something is written to it, so that registering many costs nothing.

// governedMeta returns the metadata of a context that has none, and that a group has; else
// [ErrNoContext].
func governedMeta(r engine.Getter, id codec.ContextID) (meta codec.ContextMetaValue, err error) {
	ref, err := engine.Get(r, keys.ContextGroupRef{Context: id})
	if errors.Is(err, engine.ErrNotFound) {
		return meta, fmt.Errorf("%w: %s", ErrNoContext, id)
	}
	if err != nil {
		return meta, err
	}
	meta.RootHash = merkle.EmptyRoot()
	g, err := engine.Get(r, keys.GroupMeta{Group: ref.GroupID})
	if err != nil && !errors.Is(err, engine.ErrNotFound) || g.TargetApplicationID.IsZero() {
		return meta, ignoreAbsent(err)
	}
	meta.Application, err = engine.Get(r, keys.ApplicationMeta{App: g.TargetApplicationID})
	meta.Application.ApplicationID = g.TargetApplicationID
	return meta, ignoreAbsent(err)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return err
}

// begin writes the metadata of a context that a group has, while nothing else writes the
// context. It returns [ErrNoContext] where none has it.
func (s *Store) begin(id codec.ContextID) error {
	meta, err := governedMeta(s.db, id)
	if err != nil {
		return err
	}
	b := engine.Batch{Durability: engine.Synced}
	engine.Put(&b, keys.ContextMeta{Context: id}, meta)
	return s.db.Apply(&b)
}

// Begin sees to it that a context is in the store: one that a group here has, and that has
// not begun, begins. It returns [ErrNoContext], or the error of the engine.
func (s *Store) Begin(id codec.ContextID) error {
	if has, err := engine.Has(s.db, keys.ContextMeta{Context: id}); has || err != nil {
		return err
	}
	return s.exclusively(id, func(*engine.Batch) error {
		has, err := engine.Has(s.db, keys.ContextMeta{Context: id})
		if has || err != nil {
			return err
		}
		return s.begin(id)
	})
}
