package namespace

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// Gather is the reference of which keys a node has: it adds every key that can be had from ops with what is there: from envelopes to
// the holder of seed, and from the chain of previous keys. Keys are kept whatever
// becomes of their ops.
func (ring Keyring) Gather(namespace codec.GroupID, ops []*Op, seed codec.Secret) {
	self := group.IdentityOf(seed)
	for _, op := range ops {
		if op.Signed == nil {
			continue
		}
		if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivery {
			ring.openEnvelope(namespace, GroupKey{r.GroupID, r.KeyID}, r.Envelopes, self, seed)
		}
		for i := range op.Signed.Op.Rotations {
			r := &op.Signed.Op.Rotations[i]
			ring.openEnvelope(namespace, GroupKey{r.GroupID, r.NewKeyID}, r.Envelopes, self, seed)
		}
	}
	for ring.follow(namespace, ops) {
	}
}

func (ring Keyring) openEnvelope(namespace codec.GroupID, k GroupKey, envelopes []codec.KeyEnvelope, self codec.Identity, seed codec.Secret) {
	for i := range envelopes {
		if envelopes[i].Recipient != self {
			continue
		}
		if key, err := OpenKey(seed, namespace, k.GroupID, k.KeyID, &envelopes[i]); err == nil {
			ring[k] = key
		}
	}
}

// follow adds the previous keys of those that are there, and reports whether that were
// new ones.
func (ring Keyring) follow(namespace codec.GroupID, ops []*Op) (more bool) {
	for _, op := range ops {
		if op.Signed == nil {
			continue
		}
		for i := range op.Signed.Op.Rotations {
			r := &op.Signed.Op.Rotations[i]
			key, ok := ring[GroupKey{r.GroupID, r.NewKeyID}]
			if !ok || !r.Previous.Valid {
				continue
			}
			before := GroupKey{r.GroupID, r.Previous.V.KeyID}
			if _, known := ring[before]; known {
				continue
			}
			if previous, err := OpenPrevious(namespace, r, key); err == nil {
				ring[before] = previous
				more = true
			}
		}
	}
	return more
}

// ReadAll is Read of many.
func (ring Keyring) ReadAll(ops []*Op) []group.Op {
	read := make([]group.Op, len(ops))
	for i, op := range ops {
		read[i] = ring.Read(op)
	}
	return read
}
