package namespace

import (
	"cmp"
	"io"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// This is version 1, in which a namespace goes on that began so; of version 2 sealing.go
// has what this file is for.

// standpoint is a cut of the DAG and who is a member there. It answers which key is
// current at the cut, and who lacks it.
type standpoint struct {
	*loaded
	cut    group.Cut
	ledger *group.Ledger // of the ops of the cut
}

// here is the standpoint of all ops. The ledger must be settled.
func (c *loaded) here() standpoint {
	cut, _ := c.ledger.Cut(c.ledger.Heads()) // the heads are there
	return standpoint{c, cut, c.ledger}
}

// at is the standpoint of op i.
func (c *loaded) at(i int) (standpoint, error) {
	cut, err := c.ledger.Cut([]codec.OpID{c.ledger.Op(i).ID})
	if err != nil || cut.All() {
		return standpoint{c, cut, c.ledger}, err
	}
	part := group.NewLedger(c.id, codec.Identity{})
	part.Hold()
	for k := range i + 1 {
		if !cut.Has(k) {
			continue
		}
		if _, err := part.Add(c.ledger.Op(k)); err != nil {
			return standpoint{}, err
		}
	}
	part.Settle()
	return standpoint{c, cut, part}, nil
}

// current returns the current key of g, if there is one, without those that op except
// introduces: of the keys of rotations that count, whose holders are all members, the
// one introduced last by (height, key id).
func (p standpoint) current(g codec.GroupID, except int) (key codec.KeyID, ok bool, err error) {
	candidates := slices.Clone(p.holders.groups[g])
	slices.SortFunc(candidates, func(a, b rotation) int {
		return cmp.Or(p.loaded.ledger.Height(b.op)-p.loaded.ledger.Height(a.op), codec.CompareID(b.key, a.key))
	})
	for _, r := range candidates {
		if r.op == except || !p.cut.Has(r.op) || !p.within(GroupKey{g, r.key}, p.ledger) {
			continue
		}
		if good, err := p.counts(r, g); err != nil || good {
			return r.key, good, err
		}
	}
	return key, false, nil
}

// within reports whether all who hold a key are members by a ledger.
func (p standpoint) within(k GroupKey, members *group.Ledger) bool {
	return p.holders.all(k, p.cut, func(id codec.Identity) bool { return members.IsMember(k.GroupID, id) })
}

// counts reports whether a rotation was due, by a member and to exactly the members, at
// the cut that its op is the head of.
func (c *loaded) counts(r rotation, g codec.GroupID) (bool, error) {
	memo := rotationAt{c.ledger.Op(r.op).ID, g}
	if good, known := c.due[memo]; known {
		return good, nil
	}
	p, err := c.at(r.op)
	if err != nil {
		return false, err
	}
	good, err := p.isDue(r, g)
	if err == nil {
		c.due[memo] = good
	}
	return good, err
}

// isDue is counts at the rotation's own cut.
func (p standpoint) isDue(r rotation, g codec.GroupID) (bool, error) {
	var to []codec.Identity
	for _, own := range p.ops[r.op].rotations {
		if own.GroupID == g && own.NewKeyID == r.key {
			to = own.Recipients
		}
	}
	if !p.ledger.IsMember(g, p.loaded.ledger.Op(r.op).Signer) || !slices.Equal(p.ledger.Members(g), to) {
		return false, nil
	}
	_, has, err := p.current(g, r.op)
	return !has, err
}

// without returns the members of g, by a ledger, who do not hold a key, by identity.
func (p standpoint) without(k GroupKey, members *group.Ledger) []codec.Identity {
	held := map[codec.Identity]bool{}
	p.holders.all(k, p.cut, func(id codec.Identity) bool { held[id] = true; return true })
	return lacking(members.Members(k.GroupID), held)
}

// NewRotation makes the rotation of g to key, with an envelope for each recipient and,
// where there is one, the previous key sealed under the new one.
func NewRotation(random io.Reader, namespace, g codec.GroupID, key codec.Secret, previous codec.Option[codec.Secret],
	to []codec.Identity) (codec.KeyRotation, error) {
	r := codec.KeyRotation{GroupID: g, NewKeyID: KeyID(key)}
	if previous.Valid {
		r.Previous = codec.Some(codec.PreviousKey{KeyID: KeyID(previous.V)})
		sealed, err := seal(random, key, previous.V[:], chained(namespace, &r))
		if err != nil {
			return r, err
		}
		copy(r.Previous.V.Sealed[:], sealed)
	}
	envelopes, err := SealKeyTo(random, namespace, g, key, to)
	r.Envelopes = envelopes
	return r, err
}

// SealKeyTo returns an envelope of key for each recipient, sorted as an op needs them.
func SealKeyTo(random io.Reader, namespace, g codec.GroupID, key codec.Secret, to []codec.Identity) ([]codec.KeyEnvelope, error) {
	var envelopes []codec.KeyEnvelope
	for _, id := range slices.SortedFunc(slices.Values(to), codec.CompareID) {
		e, err := SealKey(random, namespace, g, key, id)
		if err != nil {
			return nil, err
		}
		envelopes = append(envelopes, e)
	}
	return envelopes, nil
}

// OpenPrevious returns the key that r's new key, which is key, follows; else [ErrOpen].
func OpenPrevious(namespace codec.GroupID, r *codec.KeyRotation, key codec.Secret) (codec.Secret, error) {
	if !r.Previous.Valid || KeyID(key) != r.NewKeyID {
		return codec.Secret{}, ErrOpen
	}
	plain, err := open(key, r.Previous.V.Sealed[:], chained(namespace, r))
	if err != nil || KeyID(codec.Secret(plain)) != r.Previous.V.KeyID {
		return codec.Secret{}, ErrOpen
	}
	return codec.Secret(plain), nil
}

// chained is what a previous key is bound to.
func chained(namespace codec.GroupID, r *codec.KeyRotation) []byte {
	b := []byte(domainPrevious)
	for _, part := range [][32]byte{namespace, r.GroupID, r.NewKeyID, r.Previous.V.KeyID} {
		b = append(b, part[:]...)
	}
	return b
}

// deliver completes s, which has its place, as the delivery of key.
func deliver(random io.Reader, seed codec.Secret, s *codec.SignedNamespaceOp, k GroupKey, key codec.Secret, to []codec.Identity) error {
	envelopes, err := SealKeyTo(random, s.NamespaceID, k.GroupID, key, to)
	if err != nil {
		return err
	}
	s.Op = codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootKeyDelivery, GroupID: k.GroupID, KeyID: k.KeyID, Envelopes: envelopes}}
	return Sign(s, seed)
}
