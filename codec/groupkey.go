package codec

// GroupSigningKeyValue is an Ed25519 key that this node holds for a group: prefix
// 0x25, secret.
type GroupSigningKeyValue struct {
	PrivateKey Secret // the seed
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupSigningKeyValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupSigningKeyValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupSigningKeyValue) Decode(src []byte) (v GroupSigningKeyValue, err error) {
	c := decoder("GroupSigningKeyValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupSigningKeyValue) run(c coder) (GroupSigningKeyValue, coder) { v.layout(&c); return v, c }

func (v *GroupSigningKeyValue) layout(c *coder) {
	c.secret("private_key", &v.PrivateKey)
}

// GroupKeyValue is a key under which a group seals its operations: prefix 0x3A,
// secret. On disk it is a byte string, of exactly 32 bytes.
type GroupKeyValue struct {
	Key Secret
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupKeyValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupKeyValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupKeyValue) Decode(src []byte) (v GroupKeyValue, err error) {
	c := decoder("GroupKeyValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupKeyValue) run(c coder) (GroupKeyValue, coder) { v.layout(&c); return v, c }

func (v *GroupKeyValue) layout(c *coder) {
	c.secretBytes("key", &v.Key)
}
