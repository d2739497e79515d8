package codec

// OpLogValue is one operation of a group's log: prefix 0x30.
type OpLogValue struct {
	Op []byte // a borsh SignedGroupOp
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v OpLogValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("OpLogValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (OpLogValue) Decode(src []byte) (v OpLogValue, err error) {
	c := decoder("OpLogValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v OpLogValue) run(c coder) (OpLogValue, coder) { v.layout(&c); return v, c }

func (v *OpLogValue) layout(c *coder) {
	c.bytes("op", &v.Op)
}

// GroupOpHeadValue is the tip of a group's operation log: prefix 0x31.
type GroupOpHeadValue struct {
	Sequence uint64 // of the latest op; the first is 1
	DagHeads []OpID // the ops that no other op of the group names as parent
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupOpHeadValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupOpHeadValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupOpHeadValue) Decode(src []byte) (v GroupOpHeadValue, err error) {
	c := decoder("GroupOpHeadValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupOpHeadValue) run(c coder) (GroupOpHeadValue, coder) { v.layout(&c); return v, c }

func (v *GroupOpHeadValue) layout(c *coder) {
	c.u64("sequence", &v.Sequence)
	ids(c, "dag_heads", &v.DagHeads)
}

// Nonce is the highest nonce of a signer in a group: prefix 0x2C.
type Nonce uint64

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v Nonce) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Nonce", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (Nonce) Decode(src []byte) (v Nonce, err error) {
	c := decoder("Nonce", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v Nonce) run(c coder) (Nonce, coder) { v.layout(&c); return v, c }

func (v *Nonce) layout(c *coder) {
	c.u64("nonce", (*uint64)(v))
}
