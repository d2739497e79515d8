package codec

// NamespaceIdentityValue is this node's identity in a namespace: prefix 0x37,
// secret.
type NamespaceIdentityValue struct {
	PublicKey  Identity
	PrivateKey Secret // the Ed25519 seed
	SenderKey  Secret
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v NamespaceIdentityValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceIdentityValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (NamespaceIdentityValue) Decode(src []byte) (v NamespaceIdentityValue, err error) {
	c := decoder("NamespaceIdentityValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v NamespaceIdentityValue) run(c coder) (NamespaceIdentityValue, coder) {
	v.layout(&c)
	return v, c
}

func (v *NamespaceIdentityValue) layout(c *coder) {
	id(c, "public_key", &v.PublicKey)
	c.secret("private_key", &v.PrivateKey)
	c.secret("sender_key", &v.SenderKey)
}

// NamespaceGovOpValue is one operation of a namespace's governance DAG: prefix
// 0x38.
type NamespaceGovOpValue struct {
	SkeletonBytes []byte // a borsh StoredNamespaceOp
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v NamespaceGovOpValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceGovOpValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (NamespaceGovOpValue) Decode(src []byte) (v NamespaceGovOpValue, err error) {
	c := decoder("NamespaceGovOpValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v NamespaceGovOpValue) run(c coder) (NamespaceGovOpValue, coder) { v.layout(&c); return v, c }

func (v *NamespaceGovOpValue) layout(c *coder) {
	c.bytes("skeleton_bytes", &v.SkeletonBytes)
}

// NamespaceGovHeadValue is the tip of a namespace's governance DAG: prefix 0x39.
type NamespaceGovHeadValue struct {
	Sequence uint64 // the next nonce of this node
	DagHeads []OpID // the ops that no other op names as parent
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v NamespaceGovHeadValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceGovHeadValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (NamespaceGovHeadValue) Decode(src []byte) (v NamespaceGovHeadValue, err error) {
	c := decoder("NamespaceGovHeadValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v NamespaceGovHeadValue) run(c coder) (NamespaceGovHeadValue, coder) { v.layout(&c); return v, c }

func (v *NamespaceGovHeadValue) layout(c *coder) {
	c.u64("sequence", &v.Sequence)
	ids(c, "dag_heads", &v.DagHeads)
}
