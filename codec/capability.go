package codec

import (
	"fmt"
	"strings"
)

// Capabilities is a set of rights in a group, one bit each. Other bits than those
// below have no stored form.
type Capabilities uint32

// The capabilities.
const (
	ManageMembers Capabilities = 1 << iota
	ManageContexts
	ManageSubgroups
	ManageCapabilities
	ManageApplication // target, upgrades, migration
	ManageAliases
	InviteMembers

	AllCapabilities = InviteMembers<<1 - 1
)

var capabilityNames = []string{"manage_members", "manage_contexts", "manage_subgroups",
	"manage_capabilities", "manage_application", "manage_aliases", "invite_members"}

// Has reports whether all of want are in c.
func (c Capabilities) Has(want Capabilities) bool { return c&want == want }

// String returns the names in c joined by "|", or "none"; unknown bits in hex.
func (c Capabilities) String() string {
	var names []string
	for i, name := range capabilityNames {
		if c.Has(1 << i) {
			names = append(names, name)
		}
	}
	if unknown := c &^ AllCapabilities; unknown != 0 {
		names = append(names, fmt.Sprintf("%#x", uint32(unknown)))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "|")
}

// GroupMemberCapabilityValue is what a member may do: prefix 0x26.
type GroupMemberCapabilityValue struct {
	Capabilities Capabilities
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupMemberCapabilityValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMemberCapabilityValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupMemberCapabilityValue) Decode(src []byte) (v GroupMemberCapabilityValue, err error) {
	c := decoder("GroupMemberCapabilityValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupMemberCapabilityValue) run(c coder) (GroupMemberCapabilityValue, coder) {
	v.layout(&c)
	return v, c
}

func (v *GroupMemberCapabilityValue) layout(c *coder) {
	c.mask("capabilities", (*uint32)(&v.Capabilities), AllCapabilities)
}

// GroupDefaultCapsValue is what a new member may do: prefix 0x29.
type GroupDefaultCapsValue struct {
	Capabilities Capabilities
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupDefaultCapsValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupDefaultCapsValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupDefaultCapsValue) Decode(src []byte) (v GroupDefaultCapsValue, err error) {
	c := decoder("GroupDefaultCapsValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupDefaultCapsValue) run(c coder) (GroupDefaultCapsValue, coder) { v.layout(&c); return v, c }

func (v *GroupDefaultCapsValue) layout(c *coder) {
	c.mask("capabilities", (*uint32)(&v.Capabilities), AllCapabilities)
}

// ContextCapability is the capability mask that replaces a member's own in one
// context: prefix 0x33. Its bits are those of [Capabilities].
type ContextCapability uint8

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ContextCapability) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextCapability", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ContextCapability) Decode(src []byte) (v ContextCapability, err error) {
	c := decoder("ContextCapability", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ContextCapability) run(c coder) (ContextCapability, coder) { v.layout(&c); return v, c }

func (v *ContextCapability) layout(c *coder) {
	c.mask8("capability", (*uint8)(v), AllCapabilities)
}

// Capabilities returns the mask as a set.
func (v ContextCapability) Capabilities() Capabilities { return Capabilities(v) }
