package namespace

import (
	"errors"
	"fmt"
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

var (
	// ErrContextTaken is returned for a context that another group has, and that its
	// creator has not placed in this one since.
	ErrContextTaken = errors.New("the context is another group's")
	// ErrNotPlaced is returned for a placement that is not by the key of its context, or
	// for another group or namespace.
	ErrNotPlaced = errors.New("namespace: the context's creator has not signed for the group")
	// ErrNoContextKey is returned where the key of a context is not here: the node that
	// created the context has it.
	ErrNoContextKey = errors.New("namespace: the key of the context is not here")
)

func taken(c codec.ContextID, g, by codec.GroupID) error {
	return fmt.Errorf("%w: %w: context %s belongs to group %s, and its creator has not signed for group %s since", ErrNotEffective, ErrContextTaken, c, by, g)
}

// NewContextKey makes the key of a new context, on disk, and returns its public half: the
// context's id. The context itself is for package dag to make. Whoever has the key says
// which group has the context.
func (s *Store) NewContextKey() (id codec.ContextID, err error) {
	var seed codec.Secret
	if _, err := io.ReadFull(s.options.Rand, seed[:]); err != nil {
		return id, err
	}
	id = codec.ContextID(group.IdentityOf(seed))
	_, err = s.AddSigningKey(codec.GroupID(id), codec.Some(seed))
	return id, err
}

// contextKey returns the key of a context, if it is here. It lies under the context's id as
// group and as key.
func contextKey(r engine.Getter, c codec.ContextID) (seed codec.Secret, ok bool, err error) {
	v, ok, err := optional(r, keys.GroupSigningKey{Group: codec.GroupID(c), Key: codec.KeyID(c)})
	return v.PrivateKey, ok, err
}

// HasContextKey reports whether the key of a context is here.
func (s *Store) HasContextKey(c codec.ContextID) (has bool, err error) {
	err = s.reading(func(r engine.Reader) error {
		has, err = engine.Has(r, keys.GroupSigningKey{Group: codec.GroupID(c), Key: codec.KeyID(c)})
		return err
	})
	return has, err
}

// Place returns the op that places a context in a group of a namespace, which needs not be
// here: for a node that has the right to register contexts there, which proposes it. It
// goes before all that the context's key has signed before, as far as this node knows. It
// returns [ErrNoContextKey].
func (s *Store) Place(c codec.ContextID, ns, g codec.GroupID) (op codec.GroupOp, err error) {
	err = s.reading(func(r engine.Reader) error {
		seed, ok, err := contextKey(r, c)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %s", ErrNoContextKey, c)
		}
		if err == nil {
			op, err = s.place(r, seed, c, ns, g)
		}
		return err
	})
	return op, err
}

// place makes that op. Its number is the time in microseconds, so that a node which does
// not know of a placement that it has made, or another one with the same key, makes none
// with the same number; and more than that of each placement that is known here.
func (s *Store) place(r engine.Reader, seed codec.Secret, c codec.ContextID, ns, g codec.GroupID) (op codec.GroupOp, err error) {
	all, err := claimsOn(r, c)
	if err != nil {
		return op, err
	}
	op = codec.GroupOp{Kind: codec.OpContextPlaced, ContextID: c, Number: uint64(max(s.options.Now().UnixMicro(), 1))}
	for _, v := range all {
		op.Number = max(op.Number, v.Number+1)
	}
	op.Placement = group.SignPlacement(ns, g, op.Number, seed)
	return op, nil
}

// placing returns the op that registers a context as it is to be made: with the word of the
// context's key, if that is here. Any other is returned as it is.
func (p *proposing) placing(g codec.GroupID, body codec.GroupOp) (codec.GroupOp, error) {
	switch body.Kind {
	case codec.OpContextPlaced:
		if group.VerifyPlacement(p.c.id, g, &body) != nil {
			return body, fmt.Errorf("%w: context %s, group %s of namespace %s", ErrNotPlaced, body.ContextID, g, p.c.id)
		}
	case codec.OpContextRegistered:
		if _, err := body.AppendBinary(nil); err != nil {
			return body, err
		}
		seed, ok, err := contextKey(p.s.db, body.ContextID)
		if err != nil || !ok {
			return body, err
		}
		return p.s.place(p.s.db, seed, body.ContextID, p.c.id, g)
	}
	return body, nil
}

// contest returns [ErrContextTaken] for an op that registers a context which groups of
// other namespaces keep from having it.
func (p *proposing) contest(g codec.GroupID, body *codec.GroupOp) error {
	if body.Kind != codec.OpContextRegistered && body.Kind != codec.OpContextPlaced {
		return nil
	}
	all, err := claimsOn(p.s.db, body.ContextID)
	if err != nil {
		return err
	}
	delete(all, p.c.id)
	for _, other := range all {
		mine := group.Claim{Group: g, Number: body.Number}
		if home, _ := group.Home([]group.Claim{mine, other}); home != mine {
			return taken(body.ContextID, g, other.Group)
		}
	}
	return nil
}
