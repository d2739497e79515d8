package codec

// GroupMemberRole is the role of a member of a group: prefix 0x21. The zero role
// is Admin, as on disk.
type GroupMemberRole uint8

// The roles.
const (
	Admin GroupMemberRole = iota
	Member
	ReadOnly
)

var memberRoles = []string{"admin", "member", "read_only"}

// String returns "admin", "member", "read_only", or "GroupMemberRole(n)".
func (v GroupMemberRole) String() string {
	return enumName("GroupMemberRole", uint8(v), memberRoles)
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupMemberRole) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMemberRole", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupMemberRole) Decode(src []byte) (v GroupMemberRole, err error) {
	c := decoder("GroupMemberRole", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupMemberRole) run(c coder) (GroupMemberRole, coder) { v.layout(&c); return v, c }

func (v *GroupMemberRole) layout(c *coder) {
	c.enum("role", "GroupMemberRole", (*uint8)(v), memberRoles)
}

// MemberContextValue is the identity that a member uses in a context: prefix 0x32.
type MemberContextValue struct {
	Identity Identity
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v MemberContextValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("MemberContextValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (MemberContextValue) Decode(src []byte) (v MemberContextValue, err error) {
	c := decoder("MemberContextValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v MemberContextValue) run(c coder) (MemberContextValue, coder) { v.layout(&c); return v, c }

func (v *MemberContextValue) layout(c *coder) {
	id(c, "identity", &v.Identity)
}
