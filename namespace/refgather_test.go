package namespace

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// Gather is the reference of which keys a node has: it adds every key that can be had from
// ops with what is there: from envelopes to the holder of seed, and from keys that carry
// others. Keys are kept whatever becomes of their ops.
func (ring Keyring) Gather(namespace codec.GroupID, ops []*Op, seed codec.Secret) {
	introduced := map[KeyName]codec.KeyID{}
	for _, op := range ops {
		for _, k := range op.Keys {
			introduced[KeyName{k.GroupID, op.ID}] = k.KeyID
		}
		for _, r := range op.Rotations {
			introduced[KeyName{r.GroupID, op.ID}] = r.NewKeyID
		}
	}
	self := group.IdentityOf(seed)
	for _, op := range ops {
		if op.Signed == nil {
			continue
		}
		open := func(k GroupKey, envelopes []codec.KeyEnvelope) {
			for i := range envelopes {
				if envelopes[i].Recipient != self {
					continue
				}
				if key, err := OpenKey(op.Version, seed, namespace, k.GroupID, k.KeyID, &envelopes[i]); err == nil {
					ring[k] = key
				}
			}
		}
		if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivery {
			open(GroupKey{r.GroupID, r.KeyID}, r.Envelopes)
		} else if r != nil && r.Kind == codec.RootKeyDelivered {
			open(GroupKey{r.GroupID, introduced[KeyName{r.GroupID, r.KeyOp}]}, r.Envelopes)
		}
		for i := range op.Signed.Op.Rotations {
			r := &op.Signed.Op.Rotations[i]
			open(GroupKey{r.GroupID, r.NewKeyID}, r.Envelopes)
		}
		for i := range op.Signed.Op.Keys {
			k := &op.Signed.Op.Keys[i]
			open(GroupKey{k.GroupID, k.KeyID}, k.Envelopes)
		}
	}
	for ring.follow(namespace, ops, introduced) {
	}
}

// follow adds the earlier keys that those which are there open, and reports whether that
// were new ones.
func (ring Keyring) follow(namespace codec.GroupID, ops []*Op, introduced map[KeyName]codec.KeyID) (more bool) {
	gain := func(k GroupKey, key codec.Secret) {
		if _, known := ring[k]; !known {
			ring[k] = key
			more = true
		}
	}
	for _, op := range ops {
		if op.Signed == nil {
			continue
		}
		for i := range op.Signed.Op.Rotations {
			r := &op.Signed.Op.Rotations[i]
			key, ok := ring[GroupKey{r.GroupID, r.NewKeyID}]
			if previous, err := OpenPrevious(namespace, r, key); ok && r.Previous.Valid && err == nil {
				gain(GroupKey{r.GroupID, r.Previous.V.KeyID}, previous)
			}
		}
		for i := range op.Signed.Op.Keys {
			k := &op.Signed.Op.Keys[i]
			key, ok := ring[GroupKey{k.GroupID, k.KeyID}]
			for c := range k.Carried {
				id, known := introduced[KeyName{k.GroupID, k.Carried[c].Op}]
				if earlier, err := siteOf(op.Signed, k.GroupID).openCarried(key, &k.Carried[c]); ok && known && err == nil && KeyID(earlier) == id {
					gain(GroupKey{k.GroupID, id}, earlier)
				}
			}
		}
	}
	return more
}
