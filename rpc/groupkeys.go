package rpc

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var groupKeys = op.New(op.Method{Number: 409, Name: "Group.Keys"},
	func(_ context.Context, s *namespace.Store, a *inGroup) ([]namespace.KeyInfo, error) {
		return s.Keys(a.GroupID)
	})

// Keys is namespace.Store's.
func (g *Groups) Keys(ctx context.Context, id codec.GroupID) ([]namespace.KeyInfo, error) {
	return call(ctx, g.c, groupKeys, inGroup{id})
}

var groupRotate = op.New(op.Method{Number: 410, Name: "Group.Rotate"},
	func(ctx context.Context, s *namespace.Store, a *inGroup) (namespace.Proposed, error) {
		return s.Rotate(ctx, a.GroupID)
	})

// Rotate is namespace.Store's.
func (g *Groups) Rotate(ctx context.Context, id codec.GroupID) (namespace.Proposed, error) {
	return call(ctx, g.c, groupRotate, inGroup{id})
}

var groupSigningKeys = op.New(op.Method{Number: 411, Name: "Group.SigningKeys"},
	func(_ context.Context, s *namespace.Store, a *inGroup) ([]codec.Identity, error) {
		return s.SigningKeys(a.GroupID)
	})

// SigningKeys is namespace.Store's.
func (g *Groups) SigningKeys(ctx context.Context, id codec.GroupID) ([]codec.Identity, error) {
	return call(ctx, g.c, groupSigningKeys, inGroup{id})
}

// newSigningKey are the arguments of AddSigningKey.
type newSigningKey struct {
	inGroup
	Seed codec.Option[codec.Secret] `wire:",hash"`
}

var groupAddSigningKey = op.New(op.Method{Number: 412, Name: "Group.AddSigningKey"},
	func(_ context.Context, s *namespace.Store, a *newSigningKey) (codec.Identity, error) {
		return s.AddSigningKey(a.GroupID, a.Seed)
	})

// AddSigningKey is namespace.Store's.
func (g *Groups) AddSigningKey(ctx context.Context, id codec.GroupID, seed codec.Option[codec.Secret]) (codec.Identity, error) {
	return call(ctx, g.c, groupAddSigningKey, newSigningKey{inGroup{id}, seed})
}

// ofSigningKey are arguments about a signing key.
type ofSigningKey struct {
	inGroup
	PublicKey codec.Identity
}

var groupDeleteSigningKey = op.New(op.Method{Number: 413, Name: "Group.DeleteSigningKey"},
	func(_ context.Context, s *namespace.Store, a *ofSigningKey) (op.Nothing, error) {
		return op.Nothing{}, s.DeleteSigningKey(a.GroupID, a.PublicKey)
	})

// DeleteSigningKey is namespace.Store's.
func (g *Groups) DeleteSigningKey(ctx context.Context, id codec.GroupID, public codec.Identity) error {
	_, err := call(ctx, g.c, groupDeleteSigningKey, ofSigningKey{inGroup{id}, public})
	return err
}

// placing are the arguments of Place.
type placing struct {
	inGroup
	ContextID   codec.ContextID
	NamespaceID codec.GroupID `wire:",optional"`
}

var groupPlace = op.New(op.Method{Number: 415, Name: "Group.Place", Access: op.AccessSecrets},
	func(_ context.Context, s *namespace.Store, a *placing) (placed codec.GroupOp, err error) {
		ns := a.NamespaceID
		if ns.IsZero() {
			if ns, err = s.NamespaceOf(a.GroupID); err != nil {
				return placed, err
			}
		}
		return s.Place(a.ContextID, ns, a.GroupID)
	})

// Place is namespace.Store's; a zero namespace is the one that has the group there.
func (g *Groups) Place(ctx context.Context, c codec.ContextID, ns, id codec.GroupID) (codec.GroupOp, error) {
	return call(ctx, g.c, groupPlace, placing{inGroup{id}, c, ns})
}
