package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// GroupContextIndex marks a context as belonging to a group.
//
//	0x22 ‖ Group 32 ‖ Context 32  →  codec.Present
type GroupContextIndex struct {
	Group   codec.GroupID
	Context codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupContextIndex) Slot() Slot[codec.Present] {
	return Slot[codec.Present]{Column: column.Group, Tag: tagGroupContextIndex, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupContextIndex) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupContextIndex", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupContextIndex) Parse(src []byte) (GroupContextIndex, error) {
	var k GroupContextIndex
	c := parser("GroupContextIndex", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupContextIndex) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "context_id", &k.Context)
}

// ContextsOf is the prefix of the contexts of a group.
func ContextsOf(g codec.GroupID) Prefix[GroupContextIndex] {
	return prefix[GroupContextIndex](tagGroupContextIndex, g[:])
}

// ContextGroupRef locates the group of a context.
//
//	0x23 ‖ Context 32  →  codec.GroupRefValue
type ContextGroupRef struct {
	Context codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ContextGroupRef) Slot() Slot[codec.GroupRefValue] {
	return Slot[codec.GroupRefValue]{Column: column.Group, Tag: tagContextGroupRef, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ContextGroupRef) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextGroupRef", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ContextGroupRef) Parse(src []byte) (ContextGroupRef, error) {
	var k ContextGroupRef
	c := parser("ContextGroupRef", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ContextGroupRef) layout(c *coder) {
	id(c, "context_id", &k.Context)
}

// GroupContextLastMigration locates the method that migrated a context last.
//
//	0x2B ‖ Group 32 ‖ Context 32  →  codec.GroupContextLastMigrationValue
type GroupContextLastMigration struct {
	Group   codec.GroupID
	Context codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupContextLastMigration) Slot() Slot[codec.GroupContextLastMigrationValue] {
	return Slot[codec.GroupContextLastMigrationValue]{Column: column.Group, Tag: tagGroupContextLastMigration, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupContextLastMigration) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupContextLastMigration", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupContextLastMigration) Parse(src []byte) (GroupContextLastMigration, error) {
	var k GroupContextLastMigration
	c := parser("GroupContextLastMigration", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupContextLastMigration) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "context_id", &k.Context)
}

// MigrationsOf is the prefix of the last migrations of the contexts of a group.
func MigrationsOf(g codec.GroupID) Prefix[GroupContextLastMigration] {
	return prefix[GroupContextLastMigration](tagGroupContextLastMigration, g[:])
}

// GroupContextAlias locates the name of a context in a group.
//
//	0x2F ‖ Group 32 ‖ Context 32  →  codec.AliasName
type GroupContextAlias struct {
	Group   codec.GroupID
	Context codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupContextAlias) Slot() Slot[codec.AliasName] {
	return Slot[codec.AliasName]{Column: column.Group, Tag: tagGroupContextAlias, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupContextAlias) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupContextAlias", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupContextAlias) Parse(src []byte) (GroupContextAlias, error) {
	var k GroupContextAlias
	c := parser("GroupContextAlias", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupContextAlias) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "context_id", &k.Context)
}

// ContextAliasesOf is the prefix of the names of the contexts of a group.
func ContextAliasesOf(g codec.GroupID) Prefix[GroupContextAlias] {
	return prefix[GroupContextAlias](tagGroupContextAlias, g[:])
}

// GroupContextMemberCap locates the capabilities that replace a member's own in
// one context.
//
//	0x33 ‖ Group 32 ‖ Context 32 ‖ Identity 32  →  codec.ContextCapability
type GroupContextMemberCap struct {
	Group    codec.GroupID
	Context  codec.ContextID
	Identity codec.Identity
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupContextMemberCap) Slot() Slot[codec.ContextCapability] {
	return Slot[codec.ContextCapability]{Column: column.Group, Tag: tagGroupContextMemberCap, Size: 97}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupContextMemberCap) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupContextMemberCap", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupContextMemberCap) Parse(src []byte) (GroupContextMemberCap, error) {
	var k GroupContextMemberCap
	c := parser("GroupContextMemberCap", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupContextMemberCap) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "context_id", &k.Context)
	id(c, "identity", &k.Identity)
}

// ContextCapsOf is the prefix of the capabilities of members in a context of a group.
func ContextCapsOf(g codec.GroupID, context codec.ContextID) Prefix[GroupContextMemberCap] {
	return prefix[GroupContextMemberCap](tagGroupContextMemberCap, g[:], context[:])
}

// ContextCapsIn is the prefix of the capabilities of members in the contexts of a
// group, by context.
func ContextCapsIn(g codec.GroupID) Prefix[GroupContextMemberCap] {
	return prefix[GroupContextMemberCap](tagGroupContextMemberCap, g[:])
}
