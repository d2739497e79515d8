package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// GroupChildIndex marks a group as the child of another.
//
//	0x35 ‖ Parent 32 ‖ Child 32  →  codec.Present
type GroupChildIndex struct {
	Parent codec.GroupID
	Child  codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupChildIndex) Slot() Slot[codec.Present] {
	return Slot[codec.Present]{Column: column.Group, Tag: tagGroupChildIndex, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupChildIndex) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupChildIndex", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupChildIndex) Parse(src []byte) (GroupChildIndex, error) {
	var k GroupChildIndex
	c := parser("GroupChildIndex", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupChildIndex) layout(c *coder) {
	id(c, "parent_id", &k.Parent)
	id(c, "child_id", &k.Child)
}

// ChildrenOf is the prefix of the children of a group.
func ChildrenOf(parent codec.GroupID) Prefix[GroupChildIndex] {
	return prefix[GroupChildIndex](tagGroupChildIndex, parent[:])
}

// GroupParentRef locates the parent of a group.
//
//	0x36 ‖ Child 32  →  codec.ParentRefValue
type GroupParentRef struct {
	Child codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupParentRef) Slot() Slot[codec.ParentRefValue] {
	return Slot[codec.ParentRefValue]{Column: column.Group, Tag: tagGroupParentRef, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupParentRef) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupParentRef", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupParentRef) Parse(src []byte) (GroupParentRef, error) {
	var k GroupParentRef
	c := parser("GroupParentRef", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupParentRef) layout(c *coder) {
	id(c, "child_id", &k.Child)
}
