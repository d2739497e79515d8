package namespace

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// Standing is what this node is in a namespace. The numbers go over the wire.
type Standing uint8

// The standings.
const (
	NoStanding Standing = iota // it has no identity there
	Awaiting                   // it has one, and was never a member
	Belongs                    // it is a member
	Removed                    // it was a member, and is none any more
)

var standings = []string{"none", "waiting", "member", "removed"}

// String returns "none", "waiting", "member" or "removed".
func (s Standing) String() string { return standings[int(s)%len(standings)] }

// Info describes a namespace.
type Info struct {
	ID       codec.GroupID
	Name     codec.AliasName // of its root group; empty: it has none here
	Identity codec.Identity  // of this node; zeros: it has none
	Standing Standing
	Ops      int
	Pending  int // ops that wait for others
	Groups   int
	Heads    []codec.OpID // by id
}

// Namespace describes a namespace, also one in which this node has an identity and no
// op yet, or that it was told to follow. It returns [ErrNoNamespace].
func (s *Store) Namespace(ns codec.GroupID) (Info, error) {
	info := Info{ID: ns}
	err := s.viewAny(ns, func(c *loaded) error {
		if !c.isFollowed() {
			if rows, err := s.onlyRows(ns); err != nil || !rows {
				return errors.Join(err, ErrNoNamespace)
			}
		}
		info.Standing = c.standing()
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

// standing works out what this node is.
func (c *loaded) standing() Standing {
	self := c.self()
	switch {
	case !c.identity.Valid:
		return NoStanding
	case c.ledger.IsMember(c.id, self):
		return Belongs
	}
	for i := range c.ledger.Len() {
		op := c.ledger.Op(i)
		// Whoever signs what counts is a member, whoever is added to a group below is one of
		// the namespace, and of the ops of the root only a join names a member.
		entered := op.Signer == self || op.Root != nil && op.Root.Member == self ||
			op.Body != nil && op.Body.Kind == codec.OpMemberAdded && op.Body.Member == self
		if entered && c.ledger.Verdict(i).Outcome == group.Effective {
			return Removed
		}
	}
	return Awaiting
}

// onlyRows reports whether rows of a namespace are there none of whose ops can be read,
// for a store that passes over damage.
func (s *Store) onlyRows(ns codec.GroupID) (bool, error) {
	if !s.viewing {
		return false, nil
	}
	return engine.Has(s.db, keys.NamespaceGovHead{Namespace: ns})
}
