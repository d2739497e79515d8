package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// GroupKey names a key of a group.
type GroupKey struct {
	GroupID codec.GroupID
	KeyID   codec.KeyID
}

// Keyring is the group keys that a node has. It is not safe for concurrent use.
type Keyring map[GroupKey]codec.Secret

// Gather adds every key that can be had from ops with what is there: from envelopes to
// the holder of seed, and from the chain of previous keys. Keys are kept whatever
// becomes of their ops.
func (ring Keyring) Gather(namespace codec.GroupID, ops []*Op, seed codec.Secret) {
	self := group.IdentityOf(seed)
	for _, op := range ops {
		if op.Signed == nil {
			continue
		}
		if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivery {
			ring.unpack(namespace, GroupKey{r.GroupID, r.KeyID}, r.Envelopes, self, seed)
		}
		for i := range op.Signed.Op.Rotations {
			r := &op.Signed.Op.Rotations[i]
			ring.unpack(namespace, GroupKey{r.GroupID, r.NewKeyID}, r.Envelopes, self, seed)
		}
	}
	for ring.follow(namespace, ops) {
	}
}

func (ring Keyring) unpack(namespace codec.GroupID, k GroupKey, envelopes []codec.KeyEnvelope, self codec.Identity, seed codec.Secret) {
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

// Read returns op as this node can read it. A payload that was forgotten, or whose key
// is not there, is not readable yet; one that does not open under its key, or is not
// what its carrier says, is void for good.
func (ring Keyring) Read(op *Op) group.Op {
	read := group.Op{ID: op.ID, Parents: op.Parents, Signer: op.Signer, Nonce: op.Nonce, Root: op.Root, Group: op.GroupID}
	key, ok := ring[GroupKey{op.GroupID, op.KeyID}]
	if op.Root != nil || op.Signed == nil || !ok {
		return read
	}
	o := openWith(op, key, nil)
	read.Body, read.Fault = o.body, o.fault
	return read
}

// ReadAll is Read of many.
func (ring Keyring) ReadAll(ops []*Op) []group.Op {
	read := make([]group.Op, len(ops))
	for i, op := range ops {
		read[i] = ring.Read(op)
	}
	return read
}

// opened is what was found in a sealed op.
type opened struct {
	body  *codec.GroupOp
	inner []byte       // the SignedGroupOp, where there is a body
	fault group.Reason // why there is none
}

// openWith reads a sealed op under its key.
func openWith(op *Op, key codec.Secret, v *group.Verifier) *opened {
	plain, err := OpenOp(op.Signed, key)
	if err != nil {
		return &opened{fault: group.Unopenable}
	}
	body, fault := readInner(op.Signed, plain, v)
	if body == nil {
		plain = nil
	}
	return &opened{body, plain, fault}
}

// readInner reads what s seals.
func readInner(s *codec.SignedNamespaceOp, plain []byte, v *group.Verifier) (*codec.GroupOp, group.Reason) {
	inner, err := codec.SignedGroupOp{}.Decode(plain)
	if err != nil {
		return nil, group.Malformed
	}
	same := inner.GroupID == s.Op.GroupID && inner.Signer == s.Signer && inner.Nonce == s.Nonce && slices.Equal(inner.Parents, s.Parents)
	switch {
	case !same:
		return nil, group.Rewrapped
	case v.VerifyOp(plain, s.Signer) != nil:
		return nil, group.Forged
	case names(&inner.Op) && !ValidIdentity(inner.Op.Member):
		return nil, group.Malformed // nobody could give it a key, so no key could be given to exactly the members
	}
	return &inner.Op, 0
}

// names reports whether op gives standing to the member it names.
func names(op *codec.GroupOp) bool {
	switch op.Kind {
	case codec.OpMemberAdded, codec.OpMemberRoleSet, codec.OpMemberCapabilitySet, codec.OpAdminTransferred:
		return true
	default:
		return false
	}
}
