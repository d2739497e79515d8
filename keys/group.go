package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// GroupMeta locates the description of a group.
//
//	0x20 ‖ Group 32  →  codec.GroupMetaValue
type GroupMeta struct {
	Group codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupMeta) Slot() Slot[codec.GroupMetaValue] {
	return Slot[codec.GroupMetaValue]{Column: column.Group, Tag: tagGroupMeta, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupMeta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMeta", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupMeta) Parse(src []byte) (GroupMeta, error) {
	var k GroupMeta
	c := parser("GroupMeta", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupMeta) layout(c *coder) {
	id(c, "group_id", &k.Group)
}

// GroupUpgradeKey locates the latest upgrade of a group.
//
//	0x24 ‖ Group 32  →  codec.GroupUpgradeValue
type GroupUpgradeKey struct {
	Group codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupUpgradeKey) Slot() Slot[codec.GroupUpgradeValue] {
	return Slot[codec.GroupUpgradeValue]{Column: column.Group, Tag: tagGroupUpgradeKey, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupUpgradeKey) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupUpgradeKey", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupUpgradeKey) Parse(src []byte) (GroupUpgradeKey, error) {
	var k GroupUpgradeKey
	c := parser("GroupUpgradeKey", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupUpgradeKey) layout(c *coder) {
	id(c, "group_id", &k.Group)
}

// GroupDefaultCaps locates what a new member of a group may do.
//
//	0x29 ‖ Group 32  →  codec.GroupDefaultCapsValue
type GroupDefaultCaps struct {
	Group codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupDefaultCaps) Slot() Slot[codec.GroupDefaultCapsValue] {
	return Slot[codec.GroupDefaultCapsValue]{Column: column.Group, Tag: tagGroupDefaultCaps, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupDefaultCaps) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupDefaultCaps", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupDefaultCaps) Parse(src []byte) (GroupDefaultCaps, error) {
	var k GroupDefaultCaps
	c := parser("GroupDefaultCaps", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupDefaultCaps) layout(c *coder) {
	id(c, "group_id", &k.Group)
}

// GroupAlias locates the name of a group.
//
//	0x2E ‖ Group 32  →  codec.AliasName
type GroupAlias struct {
	Group codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupAlias) Slot() Slot[codec.AliasName] {
	return Slot[codec.AliasName]{Column: column.Group, Tag: tagGroupAlias, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupAlias) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupAlias", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupAlias) Parse(src []byte) (GroupAlias, error) {
	var k GroupAlias
	c := parser("GroupAlias", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupAlias) layout(c *coder) {
	id(c, "group_id", &k.Group)
}
