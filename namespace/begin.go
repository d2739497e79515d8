package namespace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
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

// FollowNamespace has this node take ops of a namespace in which it has neither an identity
// nor ops: those of others are refused as [NotFollowed], and nothing is kept of them. It is
// for a node that begins with what a peer sends without being invited. It returns
// codec.ErrMalformed for the id of zeros, which no namespace has.
func (s *Store) FollowNamespace(ns codec.GroupID) error {
	if ns.IsZero() {
		return fmt.Errorf("namespace: follow: %w: no namespace has the id of zeros, as an id is a hash", codec.ErrMalformed)
	}
	r := &request{Task: func(b *batch) error {
		if !b.c.isFollowed() {
			b.rows.Put(column.Generic, scoped(nil, followedScope, ns), nil)
			b.c.told = true
		}
		return nil
	}}
	if err := s.submit(ns, r); err != nil {
		return err
	}
	return r.Err
}

// MarkRestored has the Store of db, which is being restored from a copy, sign nothing in the
// namespaces in which it has an identity and ops until [Store.Resume]. An op that it made
// anew with a nonce that it gave another since the copy was made is an equivocation. Nobody
// else may use db. It returns how many namespaces there are.
func MarkRestored(db engine.Engine, at time.Time) (n int, err error) {
	var b engine.Batch
	value := binary.LittleEndian.AppendUint64(nil, uint64(at.Unix()))
	lead := keys.Prefix[keys.NamespaceIdentity]{}.AppendTo(nil)
	ids, err := idsAfter(db, column.Group, lead, codec.GroupID{}, 0)
	if err != nil {
		return 0, err
	}
	for _, ns := range ids {
		has, err := engine.Has(db, keys.NamespaceGovHead{Namespace: ns})
		if err != nil {
			return 0, err
		}
		if has {
			b.Put(column.Generic, scoped(nil, restoredScope, ns), value)
			n++
		}
	}
	b.Durability = engine.Synced
	return n, db.Apply(&b)
}

// Resume has this node sign again in a namespace whose store was restored from a copy: it has
// been given what other nodes have of it, or there are none. It does nothing elsewhere. [Sync]
// calls it of both sides.
func (s *Store) Resume(ctx context.Context, ns codec.GroupID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	restored := false
	err := s.reading(func(r engine.Reader) (err error) {
		restored, err = isRestored(r, ns)
		return err
	})
	if err != nil || !restored {
		return err
	}
	r := &request{Task: func(b *batch) error {
		b.rows.Delete(column.Generic, scoped(nil, restoredScope, ns))
		b.c.restored = false
		return nil
	}}
	if err := s.submit(ns, r); err != nil {
		return err
	}
	return r.Err
}

// isFollowed reports whether this node takes ops of the namespace.
func (c *loaded) isFollowed() bool { return c.told || c.identity.Valid || c.ledger.Len() > 0 }

// follows is isFollowed of a namespace that need not be loaded, by what is on disk. What is
// followed once stays so; of one in use the row of its heads, which may be large, is not read
// for each op.
func (s *Store) follows(ns codec.GroupID) (bool, error) {
	if p := s.inUse(ns); p != nil && p.followed.Load() {
		return true, nil
	}
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.calls.Done()
	return followed(s.db, ns)
}

// followed reports whether a row says that this node takes ops of a namespace.
func followed(r engine.Getter, ns codec.GroupID) (bool, error) {
	has, err := engine.Has(r, keys.NamespaceGovHead{Namespace: ns})
	if err == nil && !has {
		has, err = engine.Has(r, keys.NamespaceIdentity{Namespace: ns})
	}
	if err == nil && !has {
		has, err = isTold(r, ns)
	}
	return has, err
}

// isTold reports whether this node was told to follow a namespace.
func isTold(r engine.Getter, ns codec.GroupID) (bool, error) {
	return hasRow(r, followedScope, ns)
}

// isRestored reports whether the store is a restored copy in which a namespace has yet to be
// resumed.
func isRestored(r engine.Getter, ns codec.GroupID) (bool, error) {
	return hasRow(r, restoredScope, ns)
}

// hasRow reports whether a namespace has a row in a scope.
func hasRow(r engine.Getter, scope keys.Scope, ns codec.GroupID) (bool, error) {
	_, err := r.Get(nil, column.Generic, scoped(nil, scope, ns))
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// unfollowed refuses an op of a namespace that this node does not follow.
func unfollowed(op *Op) *Refusal {
	ns := op.Signed.NamespaceID
	return &Refusal{op.ID, NotFollowed, "this node has no part in namespace " + ns.String() + ", and keeps nothing of it: stoa namespace follow " + ns.String()}
}
