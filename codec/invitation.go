package codec

// Invitation is a member's word that somebody may join a group.
type Invitation struct {
	NamespaceID GroupID
	GroupID     GroupID
	Role        GroupMemberRole
	Inviter     Identity
	Invitee     Option[Identity] // none: whoever has it
	ExpiresAt   uint64           // unix seconds, which the admitting member compares with its own clock
	Nonce       Hash             // random
	Signature   Signature        // the inviter's, over "stoa.invitation.v1" and the bytes before
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v Invitation) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Invitation", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (Invitation) Decode(src []byte) (v Invitation, err error) {
	c := decoder("Invitation", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v Invitation) run(c coder) (Invitation, coder) { v.layout(&c); return v, c }

func (v *Invitation) layout(c *coder) {
	id(c, "namespace_id", &v.NamespaceID)
	id(c, "group_id", &v.GroupID)
	c.enum("role", "GroupMemberRole", (*uint8)(&v.Role), memberRoles)
	id(c, "inviter", &v.Inviter)
	optionalID(c, "invitee", "Option<Identity>", &v.Invitee)
	c.u64("expires_at", &v.ExpiresAt)
	id(c, "nonce", &v.Nonce)
	c.signature("signature", &v.Signature)
}
