package codec

// leastStatedMember is the fewest bytes that a StatedMember takes.
const leastStatedMember = 32 + 1 + 4

// StatedMember is who a member of a group is when its authority is stated.
type StatedMember struct {
	Member       Identity
	Role         GroupMemberRole
	Capabilities Capabilities
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v StatedMember) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("StatedMember", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (StatedMember) Decode(src []byte) (v StatedMember, err error) {
	c := decoder("StatedMember", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v StatedMember) run(c coder) (StatedMember, coder) { v.layout(&c); return v, c }

func (v *StatedMember) layout(c *coder) {
	id(c, "member", &v.Member)
	c.enum("role", "GroupMemberRole", (*uint8)(&v.Role), memberRoles)
	c.mask("capabilities", (*uint32)(&v.Capabilities), AllCapabilities)
}
