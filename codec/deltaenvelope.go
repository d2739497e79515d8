package codec

// DeltaEnvelope is a delta of a context with a group, as it travels: signed by its author,
// and sealed for the group's members. What is clear is what is needed to judge whether its
// author may write, and to know what must be here before it.
type DeltaEnvelope struct {
	ContextID ContextID
	Author    Identity
	Cut       []OpID       // the heads of the governance DAG that the author had seen, sorted
	KeyOp     OpID         // the op that introduces the group key under which Sealed is
	Parents   []EnvelopeID // those of the delta's parents, sorted
	Nonce     [24]byte
	Sealed    []byte    // the delta, as it travels without an envelope, and a tag of 16 bytes
	Signature Signature // over "stoa.delta.envelope.v1" and the bytes before
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v DeltaEnvelope) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("DeltaEnvelope", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (DeltaEnvelope) Decode(src []byte) (v DeltaEnvelope, err error) {
	c := decoder("DeltaEnvelope", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v DeltaEnvelope) run(c coder) (DeltaEnvelope, coder) { v.layout(&c); return v, c }

func (v *DeltaEnvelope) layout(c *coder) {
	c.version("version", 1)
	id(c, "context_id", &v.ContextID)
	id(c, "author", &v.Author)
	ids(c, "cut", &v.Cut)
	id(c, "key_op", &v.KeyOp)
	ids(c, "parents", &v.Parents)
	c.fixed("nonce", "[u8; 24]", v.Nonce[:])
	c.bytes("sealed", &v.Sealed)
	c.signature("signature", &v.Signature)
}
