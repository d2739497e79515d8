package codec

// The fewest bytes that a KeyEnvelope, a KeyRotation, a CarriedKey and a NewKey take.
const (
	leastEnvelope = 32 + 32 + 48
	leastRotation = 32 + 32 + 1 + 4
	leastCarried  = 32 + 48
	leastKey      = 32 + 32 + 4 + 4
)

// KeyEnvelope is a group key sealed to one member.
type KeyEnvelope struct {
	Recipient Identity
	Ephemeral Hash     // an X25519 public key, for this envelope only
	Sealed    [48]byte // the key, and a tag of 16 bytes
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v KeyEnvelope) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("KeyEnvelope", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (KeyEnvelope) Decode(src []byte) (v KeyEnvelope, err error) {
	c := decoder("KeyEnvelope", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v KeyEnvelope) run(c coder) (KeyEnvelope, coder) { v.layout(&c); return v, c }

func (v *KeyEnvelope) layout(c *coder) {
	id(c, "recipient", &v.Recipient)
	id(c, "ephemeral", &v.Ephemeral)
	c.fixed("sealed", "48 bytes", v.Sealed[:])
}

// envelopes visits a list of envelopes.
func (c *coder) envelopes(name string, p *[]KeyEnvelope) {
	var spare KeyEnvelope
	for i := range list(c, name, "KeyEnvelope", p, leastEnvelope) {
		c.item(name, i)
		at(*p, i, &spare).layout(c)
		c.end()
	}
	c.listEnd()
}

// PreviousKey is the key that a group had before, sealed under the one that
// follows it.
type PreviousKey struct {
	KeyID  KeyID
	Sealed [72]byte // a nonce of 24 bytes, the key, and a tag of 16 bytes
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v PreviousKey) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("PreviousKey", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (PreviousKey) Decode(src []byte) (v PreviousKey, err error) {
	c := decoder("PreviousKey", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v PreviousKey) run(c coder) (PreviousKey, coder) { v.layout(&c); return v, c }

func (v *PreviousKey) layout(c *coder) {
	id(c, "key_id", &v.KeyID)
	c.fixed("sealed", "72 bytes", v.Sealed[:])
}

// KeyRotation gives a group a new key.
type KeyRotation struct {
	GroupID   GroupID
	NewKeyID  KeyID
	Previous  Option[PreviousKey] // none: the group's first key
	Envelopes []KeyEnvelope       // one for each member, sorted by recipient
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v KeyRotation) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("KeyRotation", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (KeyRotation) Decode(src []byte) (v KeyRotation, err error) {
	c := decoder("KeyRotation", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v KeyRotation) run(c coder) (KeyRotation, coder) { v.layout(&c); return v, c }

func (v *KeyRotation) layout(c *coder) {
	id(c, "group_id", &v.GroupID)
	id(c, "new_key_id", &v.NewKeyID)
	if c.option("previous", "Option<PreviousKey>", &v.Previous.Valid) {
		c.begin("previous", "PreviousKey")
		v.Previous.V.layout(c)
		c.end()
	}
	c.envelopes("envelopes", &v.Envelopes)
}

// CarriedKey is an earlier key of a group, sealed under a later one.
type CarriedKey struct {
	Op     OpID     // that introduced it
	Sealed [48]byte // the key, and a tag of 16 bytes
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v CarriedKey) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("CarriedKey", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (CarriedKey) Decode(src []byte) (v CarriedKey, err error) {
	c := decoder("CarriedKey", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v CarriedKey) run(c coder) (CarriedKey, coder) { v.layout(&c); return v, c }

func (v *CarriedKey) layout(c *coder) {
	id(c, "op", &v.Op)
	c.fixed("sealed", "48 bytes", v.Sealed[:])
}

// NewKey introduces a key of a group, whose name is the group and the op that does so.
type NewKey struct {
	GroupID   GroupID
	KeyID     KeyID         // its SHA-256
	Carried   []CarriedKey  // what it opens, sorted by op
	Envelopes []KeyEnvelope // one for each member, sorted by recipient
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v NewKey) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NewKey", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (NewKey) Decode(src []byte) (v NewKey, err error) {
	c := decoder("NewKey", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v NewKey) run(c coder) (NewKey, coder) { v.layout(&c); return v, c }

func (v *NewKey) layout(c *coder) {
	id(c, "group_id", &v.GroupID)
	id(c, "key_id", &v.KeyID)
	var spare CarriedKey
	for i := range list(c, "carried", "CarriedKey", &v.Carried, leastCarried) {
		c.item("carried", i)
		at(v.Carried, i, &spare).layout(c)
		c.end()
	}
	c.listEnd()
	c.envelopes("envelopes", &v.Envelopes)
}
