package namespace

import (
	"context"
	"io"

	"github.com/stoadb/stoa/codec"
)

// Create is what a namespace begins with.
type Create struct {
	AppKey              codec.Hash
	TargetApplicationID codec.ApplicationID
	UpgradePolicy       codec.UpgradePolicy
	Alias               codec.Option[codec.AliasName] // the name of its root group
}

// Create makes a namespace, of which this node is the admin identity, by an identity
// that is made for it. It returns its id, and what to send to others.
func (s *Store) Create(ctx context.Context, n Create) (codec.GroupID, Proposed, error) {
	if err := ctx.Err(); err != nil {
		return codec.GroupID{}, Proposed{}, err
	}
	identity, err := newIdentity(s.options.Rand)
	if err != nil {
		return codec.GroupID{}, Proposed{}, err
	}
	root := codec.RootOp{Creator: identity.PublicKey, AppKey: n.AppKey, TargetApplicationID: n.TargetApplicationID,
		UpgradePolicy: n.UpgradePolicy, CreatedAt: uint64(s.options.Now().Unix())}
	if _, err := io.ReadFull(s.options.Rand, root.Salt[:]); err != nil {
		return codec.GroupID{}, Proposed{}, err
	}
	if root.GroupID, err = CreationID(&root); err != nil {
		return codec.GroupID{}, Proposed{}, err
	}
	ns := root.GroupID
	var done Proposed
	r := &request{Task: func(b *batch) error {
		if err := b.identify(identity); err != nil {
			return err
		}
		p := proposing{batch: b, done: &done}
		op := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Nonce: 1, Op: codec.NamespaceOp{Root: root}}
		if err := p.signAndTake(op, nil, nil, &done.Answer); err != nil || !n.Alias.Valid {
			return err
		}
		return p.group(ns, codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: n.Alias}, &Answer{})
	}}
	if err := s.submit(ns, r); err != nil {
		return ns, Proposed{}, err
	}
	if r.Err != nil {
		return ns, Proposed{}, r.Err
	}
	return ns, done, nil
}
