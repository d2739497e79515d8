package rpc

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Voided is namespace.Store's.
func (g *Groups) Voided(id codec.GroupID) ([]namespace.Voided, error) {
	res, err := dagCall(g.c, "voided", g.c.group.Voided, &stoav1.GroupVoidedRequest{GroupId: id[:]})
	if err != nil {
		return nil, err
	}
	return collect("voided", res.GetOps(), func(m *stoav1.GroupVoidedOp) (v namespace.Voided, err error) {
		if v.ID, err = op.ParseID[codec.OpID]("op_id", m.GetOpId()); err == nil {
			v.Root, v.Body, err = govwire.Content(m)
		}
		return v, err
	})
}

// Reissue is namespace.Store's. The errors in it say why for people only.
func (g *Groups) Reissue(ctx context.Context, id codec.GroupID) ([]namespace.Reissued, error) {
	ctx, cancel := g.c.within(ctx)
	defer cancel()
	res, err := dagCall(g.c.WithContext(ctx), "reissue", g.c.group.Reissue, &stoav1.GroupReissueRequest{GroupId: id[:]})
	if err != nil {
		return nil, err
	}
	return collect("reissue", res.GetReissued(), func(m *stoav1.GroupReissued) (r namespace.Reissued, err error) {
		if r.Old, err = op.ParseID[codec.OpID]("op_id", m.GetOpId()); err != nil {
			return r, err
		}
		if m.GetFailed() != "" {
			r.Err = errors.New(m.GetFailed())
			return r, nil
		}
		r.New, err = govwire.Proposed(m.GetProposed())
		return r, err
	})
}

// Keys is namespace.Store's.
func (g *Groups) Keys(id codec.GroupID) ([]namespace.KeyInfo, error) {
	res, err := dagCall(g.c, "keys", g.c.group.Keys, &stoav1.GroupKeysRequest{GroupId: id[:]})
	if err != nil {
		return nil, err
	}
	return collect("keys", res.GetKeys(), govwire.Key)
}

// Rotate is namespace.Store's.
func (g *Groups) Rotate(ctx context.Context, id codec.GroupID) (namespace.Proposed, error) {
	ctx, cancel := g.c.within(ctx)
	defer cancel()
	res, err := dagCall(g.c.WithContext(ctx), "rotate", g.c.group.Rotate, &stoav1.GroupRotateRequest{GroupId: id[:]})
	if err != nil {
		return namespace.Proposed{}, err
	}
	done, err := govwire.Proposed(res.GetProposed())
	return done, odd("rotate", err)
}

// SigningKeys is namespace.Store's.
func (g *Groups) SigningKeys(id codec.GroupID) ([]codec.Identity, error) {
	res, err := dagCall(g.c, "signing keys", g.c.group.SigningKeys, &stoav1.GroupSigningKeysRequest{GroupId: id[:]})
	if err != nil {
		return nil, err
	}
	all, err := op.ParseIDs[codec.Identity]("public_keys", res.GetPublicKeys())
	return all, odd("signing keys", err)
}

// AddSigningKey is namespace.Store's.
func (g *Groups) AddSigningKey(id codec.GroupID, seed codec.Option[codec.Secret]) (codec.Identity, error) {
	ask := &stoav1.GroupAddSigningKeyRequest{GroupId: id[:]}
	if seed.Valid {
		ask.Seed = seed.V[:]
	}
	res, err := dagCall(g.c, "add signing key", g.c.group.AddSigningKey, ask)
	if err != nil {
		return codec.Identity{}, err
	}
	public, err := op.ParseID[codec.Identity]("public_key", res.GetPublicKey())
	return public, odd("add signing key", err)
}

// DeleteSigningKey is namespace.Store's.
func (g *Groups) DeleteSigningKey(id codec.GroupID, public codec.Identity) error {
	_, err := dagCall(g.c, "delete signing key", g.c.group.DeleteSigningKey,
		&stoav1.GroupDeleteSigningKeyRequest{GroupId: id[:], PublicKey: public[:]})
	return err
}

// Place is namespace.Store's; a zero namespace is the one that has the group there.
func (g *Groups) Place(c codec.ContextID, ns, id codec.GroupID) (placed codec.GroupOp, err error) {
	res, err := dagCall(g.c, "place context", g.c.group.Place, &stoav1.GroupPlaceRequest{ContextId: c[:], GroupId: id[:], NamespaceId: op.OptionalBytes(ns)})
	if err != nil {
		return placed, err
	}
	placed, err = govwire.GroupOp("op", res.GetOp())
	return placed, odd("place context", err)
}
