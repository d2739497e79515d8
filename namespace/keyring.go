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
	case inner.Op.Kind == codec.OpContextPlaced && group.VerifyPlacement(s.NamespaceID, s.Op.GroupID, &inner.Op) != nil:
		return nil, group.NotPlaced
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
