package codec

// NamespaceOpKind says whom a [NamespaceOp] is for.
type NamespaceOpKind uint8

// The kinds of namespace op.
const (
	NamespaceRoot  NamespaceOpKind = iota // all members of the namespace: Root, in clear
	NamespaceGroup                        // the members of a group: the other fields
)

var namespaceOps = []string{"root", "group"}

// String returns "root", "group", or "NamespaceOpKind(n)".
func (k NamespaceOpKind) String() string { return enumName("NamespaceOpKind", uint8(k), namespaceOps) }

// NamespaceOp is what an op of the governance DAG carries.
type NamespaceOp struct {
	Kind      NamespaceOpKind
	Root      RootOp
	GroupID   GroupID
	KeyID     KeyID         // the group key under which Sealed is
	Sealed    []byte        // a nonce of 24 bytes, then a sealed borsh SignedGroupOp
	Rotations []KeyRotation // sorted by group
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v NamespaceOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (NamespaceOp) Decode(src []byte) (NamespaceOp, error) {
	var v NamespaceOp
	c := decoder("NamespaceOp", src)
	v.layout(&c)
	return ended(v, &c)
}

func (v NamespaceOp) run(c coder) (NamespaceOp, coder) { v.layout(&c); return v, c }

func (v *NamespaceOp) layout(c *coder) {
	c.variant((*uint8)(&v.Kind), namespaceOps)
	if v.Kind == NamespaceRoot {
		c.absent("group_id", v.GroupID.IsZero())
		c.absent("key_id", v.KeyID.IsZero())
		c.absent("sealed", len(v.Sealed) == 0)
		c.absent("rotations", len(v.Rotations) == 0)
		c.begin("op", "RootOp")
		v.Root.layout(c)
		c.end()
		c.end()
		return
	}
	c.absent("op", v.Root.empty())
	id(c, "group_id", &v.GroupID)
	id(c, "key_id", &v.KeyID)
	c.bytes("sealed", &v.Sealed)
	var spare KeyRotation
	for i := range list(c, "rotations", "KeyRotation", &v.Rotations, leastRotation) {
		c.item("rotations", i)
		at(v.Rotations, i, &spare).layout(c)
		c.end()
	}
	c.listEnd()
	c.end()
}

// empty reports whether v is the zero RootOp.
func (v *RootOp) empty() bool {
	return v.Kind == 0 && v.GroupID.IsZero() && v.ParentID.IsZero() && v.unbegun() && v.Invitation == Invitation{} &&
		v.Member.IsZero() && v.JoinerSignature.IsZero() && v.InvitationID.IsZero() && v.KeyID.IsZero() && len(v.Envelopes) == 0
}

// empty reports whether v is the zero NamespaceOp.
func (v *NamespaceOp) empty() bool {
	return v.Kind == 0 && v.Root.empty() && v.GroupID.IsZero() && v.KeyID.IsZero() && len(v.Sealed) == 0 && len(v.Rotations) == 0
}

// SignedNamespaceOp is one op of the governance DAG of a namespace, as it travels.
type SignedNamespaceOp struct {
	NamespaceID GroupID
	Parents     []OpID // the heads on which it was made, sorted
	Signer      Identity
	Nonce       uint64 // the signer's greatest among the op's ancestors, plus one
	Op          NamespaceOp
	Signature   Signature // over "stoa.namespace.v1" and the bytes before
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v SignedNamespaceOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("SignedNamespaceOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (SignedNamespaceOp) Decode(src []byte) (SignedNamespaceOp, error) {
	var v SignedNamespaceOp
	c := decoder("SignedNamespaceOp", src)
	v.layout(&c)
	return ended(v, &c)
}

func (v SignedNamespaceOp) run(c coder) (SignedNamespaceOp, coder) { v.layout(&c); return v, c }

func (v *SignedNamespaceOp) layout(c *coder) {
	c.version("version", opVersion)
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
	return v.NamespaceID.IsZero() && len(v.Parents) == 0 && v.Signer.IsZero() && v.Nonce == 0 && v.Op.empty() && v.Signature.IsZero()
}
