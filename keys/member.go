package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// GroupMember locates the role of a member of a group.
//
//	0x21 ‖ Group 32 ‖ Identity 32  →  codec.GroupMemberRole
type GroupMember struct {
	Group    codec.GroupID
	Identity codec.Identity
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupMember) Slot() Slot[codec.GroupMemberRole] {
	return Slot[codec.GroupMemberRole]{Column: column.Group, Tag: tagGroupMember, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupMember) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMember", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupMember) Parse(src []byte) (GroupMember, error) {
	var k GroupMember
	c := parser("GroupMember", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupMember) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "identity", &k.Identity)
}

// MembersOf is the prefix of the members of a group.
func MembersOf(g codec.GroupID) Prefix[GroupMember] {
	return prefix[GroupMember](tagGroupMember, g[:])
}

// GroupMemberCapability locates what a member of a group may do.
//
//	0x26 ‖ Group 32 ‖ Identity 32  →  codec.GroupMemberCapabilityValue
type GroupMemberCapability struct {
	Group    codec.GroupID
	Identity codec.Identity
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupMemberCapability) Slot() Slot[codec.GroupMemberCapabilityValue] {
	return Slot[codec.GroupMemberCapabilityValue]{Column: column.Group, Tag: tagGroupMemberCapability, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupMemberCapability) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMemberCapability", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupMemberCapability) Parse(src []byte) (GroupMemberCapability, error) {
	var k GroupMemberCapability
	c := parser("GroupMemberCapability", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupMemberCapability) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "identity", &k.Identity)
}

// CapabilitiesOf is the prefix of the capabilities of the members of a group.
func CapabilitiesOf(g codec.GroupID) Prefix[GroupMemberCapability] {
	return prefix[GroupMemberCapability](tagGroupMemberCapability, g[:])
}

// GroupMemberAlias locates the name of a member of a group.
//
//	0x2D ‖ Group 32 ‖ Identity 32  →  codec.AliasName
type GroupMemberAlias struct {
	Group    codec.GroupID
	Identity codec.Identity
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupMemberAlias) Slot() Slot[codec.AliasName] {
	return Slot[codec.AliasName]{Column: column.Group, Tag: tagGroupMemberAlias, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupMemberAlias) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMemberAlias", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupMemberAlias) Parse(src []byte) (GroupMemberAlias, error) {
	var k GroupMemberAlias
	c := parser("GroupMemberAlias", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupMemberAlias) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "identity", &k.Identity)
}

// MemberAliasesOf is the prefix of the names of the members of a group.
func MemberAliasesOf(g codec.GroupID) Prefix[GroupMemberAlias] {
	return prefix[GroupMemberAlias](tagGroupMemberAlias, g[:])
}

// GroupMemberContext locates the identity that a member uses in a context.
//
//	0x32 ‖ Group 32 ‖ Identity 32 ‖ Context 32  →  codec.MemberContextValue
type GroupMemberContext struct {
	Group    codec.GroupID
	Identity codec.Identity
	Context  codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupMemberContext) Slot() Slot[codec.MemberContextValue] {
	return Slot[codec.MemberContextValue]{Column: column.Group, Tag: tagGroupMemberContext, Size: 97}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupMemberContext) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMemberContext", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupMemberContext) Parse(src []byte) (GroupMemberContext, error) {
	var k GroupMemberContext
	c := parser("GroupMemberContext", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupMemberContext) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "identity", &k.Identity)
	id(c, "context_id", &k.Context)
}

// MemberContextsOf is the prefix of the contexts that a member of a group has joined.
func MemberContextsOf(g codec.GroupID, identity codec.Identity) Prefix[GroupMemberContext] {
	return prefix[GroupMemberContext](tagGroupMemberContext, g[:], identity[:])
}

// MemberContextsIn is the prefix of the contexts that the members of a group have
// joined, by member.
func MemberContextsIn(g codec.GroupID) Prefix[GroupMemberContext] {
	return prefix[GroupMemberContext](tagGroupMemberContext, g[:])
}
