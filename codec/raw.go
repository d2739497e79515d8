package codec

// Raw is bytes that the store does not look into: the values of State,
// PrivateState and Generic.
type Raw []byte

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v Raw) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Raw", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (Raw) Decode(src []byte) (v Raw, err error) {
	c := decoder("Raw", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v Raw) run(c coder) (Raw, coder) { v.layout(&c); return v, c }

func (v *Raw) layout(c *coder) {
	c.rest("value", (*[]byte)(v))
}

// Present is the value where the key says it all; it takes no bytes.
type Present struct{}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v Present) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Present", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (Present) Decode(src []byte) (v Present, err error) {
	c := decoder("Present", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v Present) run(c coder) (Present, coder) { v.layout(&c); return v, c }

func (*Present) layout(*coder) {}
