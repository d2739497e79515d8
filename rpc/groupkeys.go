package rpc

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var groupKeys = op.New(op.Method{Number: 409, Name: "Group.Keys", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inGroup) ([]namespace.KeyInfo, error) {
		return s.Keys(a.GroupID)
	})

// Keys returns the keys of a group, by (height, op); see [namespace.Store.Keys].
func (g *Groups) Keys(ctx context.Context, id codec.GroupID) ([]namespace.KeyInfo, error) {
	return call(ctx, g.c, groupKeys, inGroup{id})
}

var groupRotate = op.New(op.Method{Number: 410, Name: "Group.Rotate", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *rotation) (namespace.Proposed, error) {
		return s.Rotate(ctx, a.GroupID, a.Now)
	})

// rotation are the arguments of Rotate.
type rotation struct {
	inGroup
	Now bool
}

// Rotate gives a group a key, where it has none that only members hold or where now is
// set, and sends the current one to the members who lack it; see
// [namespace.Store.Rotate].
func (g *Groups) Rotate(ctx context.Context, id codec.GroupID, now bool) (namespace.Proposed, error) {
	return call(ctx, g.c, groupRotate, rotation{inGroup{id}, now})
}

var groupSigningKeys = op.New(op.Method{Number: 411, Name: "Group.SigningKeys", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inGroup) ([]codec.Identity, error) {
		return s.SigningKeys(a.GroupID)
	})

// SigningKeys returns the public halves of the Ed25519 keys that the daemon holds for
// a group, sorted; see [namespace.Store.SigningKeys].
func (g *Groups) SigningKeys(ctx context.Context, id codec.GroupID) ([]codec.Identity, error) {
	return call(ctx, g.c, groupSigningKeys, inGroup{id})
}

// newSigningKey are the arguments of AddSigningKey.
type newSigningKey struct {
	inGroup
	Seed codec.Option[codec.Secret] `wire:",hash"`
}

var groupAddSigningKey = op.New(op.Method{Number: 412, Name: "Group.AddSigningKey", Role: access.Signer},
	func(_ context.Context, s *namespace.Store, a *newSigningKey) (codec.Identity, error) {
		return s.AddSigningKey(a.GroupID, a.Seed)
	})

// AddSigningKey has the daemon keep the key with this seed for a group, or a new one
// if there is none, on disk, and returns its public half; see
// [namespace.Store.AddSigningKey].
func (g *Groups) AddSigningKey(ctx context.Context, id codec.GroupID, seed codec.Option[codec.Secret]) (codec.Identity, error) {
	return call(ctx, g.c, groupAddSigningKey, newSigningKey{inGroup{id}, seed})
}

// ofSigningKey are arguments about a signing key.
type ofSigningKey struct {
	inGroup
	PublicKey codec.Identity
}

var groupDeleteSigningKey = op.New(op.Method{Number: 413, Name: "Group.DeleteSigningKey", Role: access.Signer},
	func(_ context.Context, s *namespace.Store, a *ofSigningKey) (op.Nothing, error) {
		return op.Nothing{}, s.DeleteSigningKey(a.GroupID, a.PublicKey)
	})

// DeleteSigningKey forgets a key, on disk; see [namespace.Store.DeleteSigningKey].
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

var groupPlace = op.New(op.Method{Number: 415, Name: "Group.Place", Role: access.Secrets},
	func(_ context.Context, s *namespace.Store, a *placing) (placed codec.GroupOp, err error) {
		ns := a.NamespaceID
		if ns.IsZero() {
			if ns, err = s.NamespaceOf(a.GroupID); err != nil {
				return placed, err
			}
		}
		return s.Place(a.ContextID, ns, a.GroupID)
	})

// Place returns the op that places a context in a group of a namespace, which needs
// not be here: for a node that has the right to register contexts there, which
// proposes it; see [namespace.Store.Place]. A zero namespace is the one that has the
// group there.
func (g *Groups) Place(ctx context.Context, c codec.ContextID, ns, id codec.GroupID) (codec.GroupOp, error) {
	return call(ctx, g.c, groupPlace, placing{inGroup{id}, c, ns})
}
