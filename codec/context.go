package codec

// ContextMetaValue is the metadata of a context: column Meta.
type ContextMetaValue struct {
	Application ApplicationMeta // the application it runs
	RootHash    Hash            // the Merkle root of its state
	DagHeads    []DeltaID       // the deltas that no other delta names as parent
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ContextMetaValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextMetaValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ContextMetaValue) Decode(src []byte) (v ContextMetaValue, err error) {
	c := decoder("ContextMetaValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ContextMetaValue) run(c coder) (ContextMetaValue, coder) { v.layout(&c); return v, c }

func (v *ContextMetaValue) layout(c *coder) {
	c.begin("application", "ApplicationMeta")
	v.Application.layout(c)
	c.end()
	id(c, "root_hash", &v.RootHash)
	ids(c, "dag_heads", &v.DagHeads)
}

// ContextConfigValue counts the revisions of a context: column Config.
type ContextConfigValue struct {
	ApplicationRevision uint64
	MembersRevision     uint64
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ContextConfigValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextConfigValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ContextConfigValue) Decode(src []byte) (v ContextConfigValue, err error) {
	c := decoder("ContextConfigValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ContextConfigValue) run(c coder) (ContextConfigValue, coder) { v.layout(&c); return v, c }

func (v *ContextConfigValue) layout(c *coder) {
	c.u64("application_revision", &v.ApplicationRevision)
	c.u64("members_revision", &v.MembersRevision)
}

// ContextIdentityValue is this node's keypair in a context: column Identity, secret.
type ContextIdentityValue struct {
	PrivateKey Option[Secret] // an Ed25519 seed
	SenderKey  Option[Secret]
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ContextIdentityValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextIdentityValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ContextIdentityValue) Decode(src []byte) (v ContextIdentityValue, err error) {
	c := decoder("ContextIdentityValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ContextIdentityValue) run(c coder) (ContextIdentityValue, coder) { v.layout(&c); return v, c }

func (v *ContextIdentityValue) layout(c *coder) {
	c.optionalSecret("private_key", &v.PrivateKey)
	c.optionalSecret("sender_key", &v.SenderKey)
}
