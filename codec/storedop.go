package codec

// StoredOpKind says in which form an op is kept.
type StoredOpKind uint8

// The forms.
const (
	StoredSigned    StoredOpKind = iota // whole
	StoredOpaque                        // without its payload; of version 1
	StoredForgotten                     // likewise; of version 2
)

var storedOps = []string{"signed", "opaque", "forgotten"}

// String returns "signed", "opaque", "forgotten", or "StoredOpKind(n)".
func (k StoredOpKind) String() string { return enumName("StoredOpKind", uint8(k), storedOps) }

// OpaqueSkeleton is what is left of an op of a group whose payload this node was
// told to forget: its place in the DAG, and all that is clear about keys.
type OpaqueSkeleton struct {
	OpID      OpID
	Parents   []OpID
	Signer    Identity
	Nonce     uint64
	GroupID   GroupID
	KeyID     KeyID
	Rotations []RotationSkeleton
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v OpaqueSkeleton) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("OpaqueSkeleton", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (OpaqueSkeleton) Decode(src []byte) (v OpaqueSkeleton, err error) {
	c := decoder("OpaqueSkeleton", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v OpaqueSkeleton) run(c coder) (OpaqueSkeleton, coder) { v.layout(&c); return v, c }

func (v *OpaqueSkeleton) layout(c *coder) {
	id(c, "op_id", &v.OpID)
	ids(c, "parents", &v.Parents)
	id(c, "signer", &v.Signer)
	c.u64("nonce", &v.Nonce)
	id(c, "group_id", &v.GroupID)
	id(c, "key_id", &v.KeyID)
	var spare RotationSkeleton
	for i := range list(c, "rotations", "RotationSkeleton", &v.Rotations, leastRotation) {
		c.item("rotations", i)
		at(v.Rotations, i, &spare).layout(c)
		c.end()
	}
	c.listEnd()
}

// empty reports whether v is the zero OpaqueSkeleton.
func (v *OpaqueSkeleton) empty() bool {
	return v.OpID.IsZero() && len(v.Parents) == 0 && v.Signer.IsZero() && v.Nonce == 0 && v.GroupID.IsZero() &&
		v.KeyID.IsZero() && len(v.Rotations) == 0
}

// RotationSkeleton is a [KeyRotation] without the keys in it: who holds what.
type RotationSkeleton struct {
	GroupID    GroupID
	NewKeyID   KeyID
	Previous   Option[KeyID]
	Recipients []Identity
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v RotationSkeleton) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("RotationSkeleton", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (RotationSkeleton) Decode(src []byte) (v RotationSkeleton, err error) {
	c := decoder("RotationSkeleton", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v RotationSkeleton) run(c coder) (RotationSkeleton, coder) { v.layout(&c); return v, c }

func (v *RotationSkeleton) layout(c *coder) {
	id(c, "group_id", &v.GroupID)
	id(c, "new_key_id", &v.NewKeyID)
	optionalID(c, "previous", "Option<KeyID>", &v.Previous)
	ids(c, "recipients", &v.Recipients)
}

// SealedSkeleton is what is left of a sealed op of version 2 whose payload this node was
// told to forget: its place in the DAG, and the name of its key.
type SealedSkeleton struct {
	OpID    OpID
	Parents []OpID
	Signer  Identity
	Nonce   uint64
	GroupID GroupID
	KeyOp   OpID
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v SealedSkeleton) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("SealedSkeleton", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (SealedSkeleton) Decode(src []byte) (v SealedSkeleton, err error) {
	c := decoder("SealedSkeleton", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v SealedSkeleton) run(c coder) (SealedSkeleton, coder) { v.layout(&c); return v, c }

func (v *SealedSkeleton) layout(c *coder) {
	id(c, "op_id", &v.OpID)
	ids(c, "parents", &v.Parents)
	id(c, "signer", &v.Signer)
	c.u64("nonce", &v.Nonce)
	id(c, "group_id", &v.GroupID)
	id(c, "key_op", &v.KeyOp)
}

// empty reports whether v is the zero SealedSkeleton.
func (v *SealedSkeleton) empty() bool {
	return v.OpID.IsZero() && len(v.Parents) == 0 && v.Signer.IsZero() && v.Nonce == 0 && v.GroupID.IsZero() && v.KeyOp.IsZero()
}

// StoredNamespaceOp is how an op lies in prefix 0x38. Which of the three
// counts depends on the kind; the others are zero, or there is no stored form.
type StoredNamespaceOp struct {
	Kind      StoredOpKind
	Signed    SignedNamespaceOp
	Opaque    OpaqueSkeleton
	Forgotten SealedSkeleton
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v StoredNamespaceOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("StoredNamespaceOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (StoredNamespaceOp) Decode(src []byte) (v StoredNamespaceOp, err error) {
	c := decoder("StoredNamespaceOp", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v StoredNamespaceOp) run(c coder) (StoredNamespaceOp, coder) { v.layout(&c); return v, c }

func (v *StoredNamespaceOp) layout(c *coder) {
	c.variant((*uint8)(&v.Kind), storedOps)
	if v.Kind == StoredSigned {
		v.Signed.layout(c)
	} else {
		c.absent("signed", v.Signed.empty())
	}
	if v.Kind == StoredOpaque {
		v.Opaque.layout(c)
	} else {
		c.absent("opaque", v.Opaque.empty())
	}
	if v.Kind == StoredForgotten {
		v.Forgotten.layout(c)
	} else {
		c.absent("forgotten", v.Forgotten.empty())
	}
	c.end()
}
