package dag

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Governed is returned for counters of a context that a group has: they follow from the
// ops of its namespace, and would be another node's no more.
type Governed struct {
	Context codec.ContextID
	Group   codec.GroupID
}

// Error says whose the counters are.
func (e *Governed) Error() string {
	return fmt.Sprintf("dag: context %s belongs to group %s, whose ops alone raise its counters", e.Context, e.Group)
}

// There returns [ErrNoContext] unless the context is in the store, or a group here has it,
// so that it begins with the first that is written to it.
func (s *Store) There(id codec.ContextID) error { return there(s.db, id) }

func there(r engine.Getter, id codec.ContextID) error {
	has, err := engine.Has(r, keys.ContextMeta{Context: id})
	if !has && err == nil {
		has, err = engine.Has(r, keys.ContextGroupRef{Context: id})
	}
	if !has && err == nil {
		err = fmt.Errorf("%w: %s", ErrNoContext, id)
	}
	return err
}

// Config returns the revision counters of a context, zeros if nothing was counted yet. It
// returns [ErrNoContext], or the engine's error.
func (s *Store) Config(id codec.ContextID) (codec.ContextConfigValue, error) {
	if err := s.There(id); err != nil {
		return codec.ContextConfigValue{}, err
	}
	return readConfig(s.db, id)
}

func readConfig(r engine.Getter, id codec.ContextID) (codec.ContextConfigValue, error) {
	v, err := engine.Get(r, keys.ContextConfig{Context: id})
	return v, ignoreAbsent(err)
}

// BumpConfig raises those counters by one that are named, durably, and returns them. It
// returns [ErrNoContext], [*Governed], or the engine's error.
func (s *Store) BumpConfig(id codec.ContextID, application, members bool) (v codec.ContextConfigValue, err error) {
	err = s.db.Update(func(r engine.Getter, b *engine.Batch) (err error) {
		if err := there(r, id); err != nil {
			return err
		}
		if err := ungoverned(r, id); err != nil {
			return err
		}
		if v, err = readConfig(r, id); err != nil {
			return err
		}
		if application {
			v.ApplicationRevision++
		}
		if members {
			v.MembersRevision++
		}
		engine.Put(b, keys.ContextConfig{Context: id}, v)
		return nil
	})
	return v, err
}

func ungoverned(r engine.Getter, id codec.ContextID) error {
	group, err := engine.Get(r, keys.ContextGroupRef{Context: id})
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &Governed{id, group.GroupID}
}
