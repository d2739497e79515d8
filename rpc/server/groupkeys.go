package server

import (
	"context"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Keys is Group.Keys.
func (t *groupService) Keys(_ context.Context, r *stoav1.GroupKeysRequest) (*stoav1.GroupKeysResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	all, err := t.store().Keys(g)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	res := &stoav1.GroupKeysResponse{Keys: make([]*stoav1.GroupKey, len(all))}
	for i := range all {
		res.Keys[i] = govwire.FromKey(&all[i])
	}
	return res, nil
}

// Rotate is Group.Rotate.
func (t *groupService) Rotate(ctx context.Context, r *stoav1.GroupRotateRequest) (*stoav1.GroupRotateResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	done, err := t.store().Rotate(ctx, g)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	return &stoav1.GroupRotateResponse{Proposed: govwire.FromProposed(&done)}, nil
}

// SigningKeys is Group.SigningKeys.
func (t *groupService) SigningKeys(_ context.Context, r *stoav1.GroupSigningKeysRequest) (*stoav1.GroupSigningKeysResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	all, err := t.store().SigningKeys(g)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	return &stoav1.GroupSigningKeysResponse{PublicKeys: op.FromIDs(all)}, nil
}

// AddSigningKey is Group.AddSigningKey.
func (t *groupService) AddSigningKey(_ context.Context, r *stoav1.GroupAddSigningKeyRequest) (*stoav1.GroupAddSigningKeyResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	var seed codec.Option[codec.Secret]
	if n := len(r.GetSeed()); n > 0 {
		if n != len(seed.V) {
			return nil, badField("seed", fmt.Sprintf("%d bytes instead of %d", n, len(seed.V)))
		}
		seed = codec.Some(codec.Secret(r.GetSeed()))
	}
	public, err := t.store().AddSigningKey(g, seed)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	return &stoav1.GroupAddSigningKeyResponse{PublicKey: op.Bytes(public)}, nil
}

// DeleteSigningKey is Group.DeleteSigningKey.
func (t *groupService) DeleteSigningKey(_ context.Context, r *stoav1.GroupDeleteSigningKeyRequest) (*stoav1.GroupDeleteSigningKeyResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	public, err := op.ParseID[codec.Identity]("public_key", r.GetPublicKey())
	if err != nil {
		return nil, field(err)
	}
	if err := t.store().DeleteSigningKey(g, public); err != nil {
		return nil, aboutGroup(err, g)
	}
	return &stoav1.GroupDeleteSigningKeyResponse{}, nil
}

// Place is Group.Place.
func (t *groupService) Place(ctx context.Context, r *stoav1.GroupPlaceRequest) (*stoav1.GroupPlaceResponse, error) {
	if err := t.s.maySeal(ctx); err != nil {
		return nil, err
	}
	c, err := contextID(r)
	if err != nil {
		return nil, err
	}
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	ns, err := op.ParseOptional[codec.GroupID]("namespace_id", r.GetNamespaceId())
	if err != nil {
		return nil, field(err)
	}
	if ns.IsZero() {
		if ns, err = t.store().NamespaceOf(g); err != nil {
			return nil, aboutGroup(err, g)
		}
	}
	op, err := t.store().Place(c, ns, g)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	return &stoav1.GroupPlaceResponse{Op: govwire.FromGroupOp(&op)}, nil
}
