package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// GroupLocalGovNonce locates the highest nonce of a signer in a group.
//
//	0x2C ‖ Group 32 ‖ Signer 32  →  codec.Nonce
type GroupLocalGovNonce struct {
	Group  codec.GroupID
	Signer codec.Identity
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupLocalGovNonce) Slot() Slot[codec.Nonce] {
	return Slot[codec.Nonce]{Column: column.Group, Tag: tagGroupLocalGovNonce, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupLocalGovNonce) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupLocalGovNonce", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupLocalGovNonce) Parse(src []byte) (GroupLocalGovNonce, error) {
	var k GroupLocalGovNonce
	c := parser("GroupLocalGovNonce", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupLocalGovNonce) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "signer", &k.Signer)
}

// NoncesOf is the prefix of the nonces of the signers in a group.
func NoncesOf(g codec.GroupID) Prefix[GroupLocalGovNonce] {
	return prefix[GroupLocalGovNonce](tagGroupLocalGovNonce, g[:])
}

// GroupOpLog locates one operation of a group's log.
//
//	0x30 ‖ Group 32 ‖ Seq 8 BE  →  codec.OpLogValue
type GroupOpLog struct {
	Group codec.GroupID
	Seq   Seq
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupOpLog) Slot() Slot[codec.OpLogValue] {
	return Slot[codec.OpLogValue]{Column: column.Group, Tag: tagGroupOpLog, Size: 41}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupOpLog) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupOpLog", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupOpLog) Parse(src []byte) (GroupOpLog, error) {
	var k GroupOpLog
	c := parser("GroupOpLog", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupOpLog) layout(c *coder) {
	id(c, "group_id", &k.Group)
	c.seq("seq", &k.Seq)
}

// OpsOf is the prefix of the operations of a group, oldest first.
func OpsOf(g codec.GroupID) Prefix[GroupOpLog] {
	return prefix[GroupOpLog](tagGroupOpLog, g[:])
}

// GroupOpHead locates the tip of a group's operation log.
//
//	0x31 ‖ Group 32  →  codec.GroupOpHeadValue
type GroupOpHead struct {
	Group codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupOpHead) Slot() Slot[codec.GroupOpHeadValue] {
	return Slot[codec.GroupOpHeadValue]{Column: column.Group, Tag: tagGroupOpHead, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupOpHead) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupOpHead", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupOpHead) Parse(src []byte) (GroupOpHead, error) {
	var k GroupOpHead
	c := parser("GroupOpHead", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupOpHead) layout(c *coder) {
	id(c, "group_id", &k.Group)
}
