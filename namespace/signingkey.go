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
