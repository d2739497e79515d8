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

// ErrIdentityExists is returned where this node has an identity in a namespace: it is
// made once.
var ErrIdentityExists = errors.New("namespace: this node has an identity there already")

// Identity returns who this node is in a namespace, or [ErrNoIdentity].
func (s *Store) Identity(ns codec.GroupID) (codec.Identity, error) {
	v, err := s.ExportIdentity(ns)
	return v.PublicKey, err
}

// ExportIdentity returns the identity of this node in a namespace with its private key,
// or [ErrNoIdentity]. It is for the caller to seal it.
func (s *Store) ExportIdentity(ns codec.GroupID) (codec.NamespaceIdentityValue, error) {
	p, err := s.queue(ns)
	if err != nil {
		return codec.NamespaceIdentityValue{}, err
	}
	defer s.leave(p)
	p.look.RLock()
	defer p.look.RUnlock()
	v, err := engine.Get(s.db, keys.NamespaceIdentity{Namespace: ns})
	if errors.Is(err, engine.ErrNotFound) {
		err = fmt.Errorf("%w: %s", ErrNoIdentity, ns)
	}
	return v, err
}

// NewIdentity makes the identity of this node in a namespace, which it has to be before
// it joins. It returns [ErrIdentityExists] where there is one, and codec.ErrMalformed for
// the id of zeros, which no namespace has.
func (s *Store) NewIdentity(ns codec.GroupID) (codec.Identity, error) {
	v, err := newIdentity(s.options.Rand)
	if err != nil {
		return codec.Identity{}, err
	}
	return v.PublicKey, s.ImportIdentity(ns, v)
}

func newIdentity(random io.Reader) (v codec.NamespaceIdentityValue, err error) {
	if _, err = io.ReadFull(random, v.PrivateKey[:]); err != nil {
		return v, err
	}
	if _, err = io.ReadFull(random, v.SenderKey[:]); err != nil {
		return v, err
	}
	v.PublicKey = group.IdentityOf(v.PrivateKey)
	return v, nil
}

// ImportIdentity makes v the identity of this node in a namespace, and opens what it
// opens. It returns [ErrIdentityExists] where there is another, [ErrIdentity] where the
// private key is not that of the public one, and codec.ErrMalformed for the id of zeros,
// which no namespace has.
func (s *Store) ImportIdentity(ns codec.GroupID, v codec.NamespaceIdentityValue) error {
	if ns.IsZero() {
		return fmt.Errorf("namespace: identity: %w: no namespace has the id of zeros, as an id is a hash: name the one that you are to join, which its invitation says",
			codec.ErrMalformed)
	}
	if group.IdentityOf(v.PrivateKey) != v.PublicKey {
		return fmt.Errorf("%w: the private key is not that of %s", ErrIdentity, v.PublicKey)
	}
	r := &request{Task: func(b *batch) error { return b.identify(v) }}
	if err := s.submit(ns, r); err != nil {
		return err
	}
	return r.Err
}

func (b *batch) identify(v codec.NamespaceIdentityValue) error {
	c := b.c
	if c.identity.Valid {
		if c.identity.V == v {
			return nil
		}
		return fmt.Errorf("%w: it is %s", ErrIdentityExists, c.self())
	}
	engine.Put(&b.rows, keys.NamespaceIdentity{Namespace: c.id}, v)
	c.identity = codec.Some(v)
	c.ledger.SetSelf(v.PublicKey)
	if c.ledger.Len() > 0 {
		b.taken++ // the row of the heads has the next nonce
	}
	return b.collectAgain()
}

// ErrNoSigningKey is returned for a signing key that this node does not hold.
var ErrNoSigningKey = errors.New("namespace: no such signing key")

// SigningKeys returns the public halves of the Ed25519 keys that this node holds for a
// group, sorted. They are this node's own, and no op tells of them.
func (s *Store) SigningKeys(g codec.GroupID) (list []codec.Identity, err error) {
	err = s.reading(func(r engine.Reader) error {
		for e, err := range engine.Scan(r, keys.SigningKeysOf(g)) {
			if err != nil {
				return err
			}
			list = append(list, codec.Identity(e.Key.Key))
		}
		return nil
	})
	return list, err
}

// AddSigningKey keeps the key with this seed for a group, or a new one if there is
// none, on disk, and returns its public half. One that is there already is left as it
// is.
func (s *Store) AddSigningKey(g codec.GroupID, seed codec.Option[codec.Secret]) (codec.Identity, error) {
	if g.IsZero() {
		return codec.Identity{}, fmt.Errorf("namespace: signing key: %w: the zero group id", codec.ErrMalformed)
	}
	if !seed.Valid {
		if _, err := io.ReadFull(s.options.Rand, seed.V[:]); err != nil {
			return codec.Identity{}, err
		}
	}
	public := group.IdentityOf(seed.V)
	return public, s.reading(func(engine.Reader) error {
		b := engine.Batch{Durability: engine.Synced}
		engine.Put(&b, keys.GroupSigningKey{Group: g, Key: codec.KeyID(public)}, codec.GroupSigningKeyValue{PrivateKey: seed.V})
		return s.db.Apply(&b)
	})
}

// DeleteSigningKey forgets a key, on disk. It returns [ErrNoSigningKey].
func (s *Store) DeleteSigningKey(g codec.GroupID, public codec.Identity) error {
	return s.reading(func(r engine.Reader) error {
		key := keys.GroupSigningKey{Group: g, Key: codec.KeyID(public)}
		has, err := engine.Has(r, key)
		if err != nil {
			return err
		}
		if !has {
			return fmt.Errorf("%w: %s of group %s", ErrNoSigningKey, public, g)
		}
		b := engine.Batch{Durability: engine.Synced}
		engine.Delete(&b, key)
		return s.db.Apply(&b)
	})
}
