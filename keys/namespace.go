package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// NamespaceIdentity locates this node's identity in a namespace: secret.
//
//	0x37 ‖ Namespace 32  →  codec.NamespaceIdentityValue
type NamespaceIdentity struct {
	Namespace codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (NamespaceIdentity) Slot() Slot[codec.NamespaceIdentityValue] {
	return Slot[codec.NamespaceIdentityValue]{Column: column.Group, Tag: tagNamespaceIdentity, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k NamespaceIdentity) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceIdentity", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (NamespaceIdentity) Parse(src []byte) (NamespaceIdentity, error) {
	var k NamespaceIdentity
	c := parser("NamespaceIdentity", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *NamespaceIdentity) layout(c *coder) {
	id(c, "namespace_id", &k.Namespace)
}

// NamespaceGovOp locates one operation of a namespace's governance DAG.
//
//	0x38 ‖ Namespace 32 ‖ Delta 32  →  codec.NamespaceGovOpValue
type NamespaceGovOp struct {
	Namespace codec.GroupID
	Delta     codec.OpID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (NamespaceGovOp) Slot() Slot[codec.NamespaceGovOpValue] {
	return Slot[codec.NamespaceGovOpValue]{Column: column.Group, Tag: tagNamespaceGovOp, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k NamespaceGovOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceGovOp", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (NamespaceGovOp) Parse(src []byte) (NamespaceGovOp, error) {
	var k NamespaceGovOp
	c := parser("NamespaceGovOp", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *NamespaceGovOp) layout(c *coder) {
	id(c, "namespace_id", &k.Namespace)
	id(c, "delta_id", &k.Delta)
}

// GovOpsOf is the prefix of the governance operations of a namespace, by id.
func GovOpsOf(ns codec.GroupID) Prefix[NamespaceGovOp] {
	return prefix[NamespaceGovOp](tagNamespaceGovOp, ns[:])
}

// NamespaceGovHead locates the tip of a namespace's governance DAG.
//
//	0x39 ‖ Namespace 32  →  codec.NamespaceGovHeadValue
type NamespaceGovHead struct {
	Namespace codec.GroupID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (NamespaceGovHead) Slot() Slot[codec.NamespaceGovHeadValue] {
	return Slot[codec.NamespaceGovHeadValue]{Column: column.Group, Tag: tagNamespaceGovHead, Size: 33}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k NamespaceGovHead) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("NamespaceGovHead", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (NamespaceGovHead) Parse(src []byte) (NamespaceGovHead, error) {
	var k NamespaceGovHead
	c := parser("NamespaceGovHead", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *NamespaceGovHead) layout(c *coder) {
	id(c, "namespace_id", &k.Namespace)
}
