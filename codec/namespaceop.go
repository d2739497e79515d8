package codec

import "reflect"

// NamespaceOpKind says whom a [NamespaceOp] is for.
type NamespaceOpKind uint8

// The kinds of namespace op.
const (
	NamespaceRoot   NamespaceOpKind = iota // all members of the namespace: Root, in clear
	NamespaceGroup                         // the members of a group: GroupID, KeyID, Sealed, Rotations; of version 1
	NamespaceClear                         // all who see it: GroupID, Op, OpSignature, Keys; of version 2
	NamespaceSealed                        // the members of a group: GroupID, KeyOp, Sealed; of version 2
)

var namespaceOps = []string{"root", "group", "clear", "sealed"}

// String returns "root", "group", "clear", "sealed", or "NamespaceOpKind(n)".
func (k NamespaceOpKind) String() string { return enumName("NamespaceOpKind", uint8(k), namespaceOps) }

// The fields that a namespace op may have, one bit each, in stored order.
const (
	carriedRoot uint32 = 1 << iota
	carriedGroup
	carriedKeyID
	carriedKeyOp
	carriedSealed
	carriedRotations
	carriedOp
	carriedKeys
)

// namespaceOpFields are the fields of each kind of namespace op. It is never written to.
var namespaceOpFields = []uint32{
	NamespaceRoot:   carriedRoot,
	NamespaceGroup:  carriedGroup | carriedKeyID | carriedSealed | carriedRotations,
	NamespaceClear:  carriedGroup | carriedOp | carriedKeys,
	NamespaceSealed: carriedGroup | carriedKeyOp | carriedSealed,
}

// NamespaceOp is what an op of the governance DAG carries. Which fields count depends on
// the kind; the others are zero, or there is no stored form.
type NamespaceOp struct {
	Kind        NamespaceOpKind
	Root        RootOp
	GroupID     GroupID
	KeyID       KeyID         // the group key under which Sealed is
	KeyOp       OpID          // the op that introduces the group key under which Sealed is
	Sealed      []byte        // a nonce of 24 bytes, then a sealed borsh SignedGroupOp
	Rotations   []KeyRotation // sorted by group
	Op          GroupOp
	OpSignature Signature // that of the SignedGroupOp with the place of the carrier
	Keys        []NewKey  // sorted by group
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v NamespaceOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (NamespaceOp) Decode(src []byte) (v NamespaceOp, err error) {
	c := decoder("NamespaceOp", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v NamespaceOp) run(c coder) (NamespaceOp, coder) { v.layout(&c); return v, c }

func (v *NamespaceOp) layout(c *coder) {
	c.variant((*uint8)(&v.Kind), namespaceOps)
	has := namespaceOpFields[v.Kind]
	if c.holds(has, carriedRoot, "op", v.Root.empty()) {
		c.begin("op", "RootOp")
		v.Root.layout(c)
		c.end()
	}
	if c.holds(has, carriedGroup, "group_id", v.GroupID.IsZero()) {
		id(c, "group_id", &v.GroupID)
	}
	if c.holds(has, carriedKeyID, "key_id", v.KeyID.IsZero()) {
		id(c, "key_id", &v.KeyID)
	}
	if c.holds(has, carriedKeyOp, "key_op", v.KeyOp.IsZero()) {
		id(c, "key_op", &v.KeyOp)
	}
	if c.holds(has, carriedSealed, "sealed", len(v.Sealed) == 0) {
		c.bytes("sealed", &v.Sealed)
	}
	if c.holds(has, carriedRotations, "rotations", len(v.Rotations) == 0) {
		var spare KeyRotation
		for i := range list(c, "rotations", "KeyRotation", &v.Rotations, leastRotation) {
			c.item("rotations", i)
			at(v.Rotations, i, &spare).layout(c)
			c.end()
		}
		c.listEnd()
	}
	if c.holds(has, carriedOp, "op", v.Op.empty() && v.OpSignature.IsZero()) {
		c.begin("op", "GroupOp")
		v.Op.layout(c)
		c.end()
		c.signature("op_signature", &v.OpSignature)
	}
	if c.holds(has, carriedKeys, "keys", len(v.Keys) == 0) {
		var spare NewKey
		for i := range list(c, "keys", "NewKey", &v.Keys, leastKey) {
			c.item("keys", i)
			at(v.Keys, i, &spare).layout(c)
			c.end()
		}
		c.listEnd()
	}
	c.end()
}

// empty reports whether v is the zero RootOp.
func (v *RootOp) empty() bool {
	return v.Kind == 0 && v.GroupID.IsZero() && v.ParentID.IsZero() && v.unbegun() && v.Invitation == Invitation{} &&
		v.Member.IsZero() && v.JoinerSignature.IsZero() && v.InvitationID.IsZero() && v.KeyID.IsZero() && v.KeyOp.IsZero() && len(v.Envelopes) == 0 && v.unstated()
}

// empty reports whether v is the zero GroupOp.
func (v *GroupOp) empty() bool {
	rest := *v
	rest.Members = nil
	return len(v.Members) == 0 && reflect.ValueOf(rest).IsZero()
}

// empty reports whether v is the zero NamespaceOp.
func (v *NamespaceOp) empty() bool {
	return v.Kind == 0 && v.Root.empty() && v.GroupID.IsZero() && v.KeyID.IsZero() && v.KeyOp.IsZero() && len(v.Sealed) == 0 &&
		len(v.Rotations) == 0 && v.Op.empty() && v.OpSignature.IsZero() && len(v.Keys) == 0
}

// OpVersion is the version of an op.
type OpVersion uint8

// The versions. What is stored is the number in their names.
const (
	OpVersion1 OpVersion = iota // what groups do is sealed
	OpVersion2                  // who may do what is clear, what they do with it sealed
)

// SignedNamespaceOp is one op of the governance DAG of a namespace, as it travels.
type SignedNamespaceOp struct {
	Version     OpVersion
	NamespaceID GroupID
	Parents     []OpID // the heads on which it was made, sorted
	Signer      Identity
	Nonce       uint64 // the signer's greatest among the op's ancestors, plus one
	Op          NamespaceOp
	Signature   Signature // over "stoa.namespace.v1", or of version 2 "stoa.namespace.v2", and the bytes before
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v SignedNamespaceOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("SignedNamespaceOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (SignedNamespaceOp) Decode(src []byte) (v SignedNamespaceOp, err error) {
	c := decoder("SignedNamespaceOp", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v SignedNamespaceOp) run(c coder) (SignedNamespaceOp, coder) { v.layout(&c); return v, c }

func (v *SignedNamespaceOp) layout(c *coder) {
	c.opVersion("version", &v.Version)
	id(c, "namespace_id", &v.NamespaceID)
	ids(c, "parents", &v.Parents)
	id(c, "signer", &v.Signer)
	c.u64("nonce", &v.Nonce)
	c.begin("op", "NamespaceOp")
	v.Op.layout(c)
	c.end()
	c.signature("signature", &v.Signature)
}

// empty reports whether v is the zero SignedNamespaceOp.
func (v *SignedNamespaceOp) empty() bool {
	return v.Version == 0 && v.NamespaceID.IsZero() && len(v.Parents) == 0 && v.Signer.IsZero() && v.Nonce == 0 && v.Op.empty() && v.Signature.IsZero()
}
