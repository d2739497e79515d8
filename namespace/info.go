package namespace

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Info describes a namespace.
type Info struct {
	ID       codec.GroupID
	Name     codec.AliasName // of its root group; empty: it has none here
	Identity codec.Identity  // of this node; zeros: it has none
	Ops      int
	Pending  int // ops that wait for others
	Groups   int
	Heads    []codec.OpID // by id
}

// Namespace describes a namespace. It returns [ErrNoNamespace].
func (s *Store) Namespace(ns codec.GroupID) (Info, error) {
	info := Info{ID: ns}
	err := s.view(ns, func(c *loaded) error {
		info.Identity, info.Ops, info.Pending = c.self(), c.ledger.Len(), len(c.pending.ops)
		info.Groups, info.Heads = len(c.ledger.Groups()), c.ledger.Heads()
		name, err := engine.Get(s.db, keys.GroupAlias{Group: ns})
		if errors.Is(err, engine.ErrNotFound) {
			err = nil
		}
		info.Name = name
		return err
	})
	if errors.Is(err, ErrNoNamespace) {
		err = fmt.Errorf("%w: %s", ErrNoNamespace, ns)
	}
	return info, err
}
