package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// GroupSigningKey locates an Ed25519 key that this node holds for a group: secret.
// Key is its public half.
//
//	0x25 ‖ Group 32 ‖ Key 32  →  codec.GroupSigningKeyValue
type GroupSigningKey struct {
	Group codec.GroupID
	Key   codec.KeyID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupSigningKey) Slot() Slot[codec.GroupSigningKeyValue] {
	return Slot[codec.GroupSigningKeyValue]{Column: column.Group, Tag: tagGroupSigningKey, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupSigningKey) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupSigningKey", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupSigningKey) Parse(src []byte) (GroupSigningKey, error) {
	var k GroupSigningKey
	c := parser("GroupSigningKey", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupSigningKey) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "key_id", &k.Key)
}

// SigningKeysOf is the prefix of the signing keys that this node holds for a group.
func SigningKeysOf(g codec.GroupID) Prefix[GroupSigningKey] {
	return prefix[GroupSigningKey](tagGroupSigningKey, g[:])
}

// GroupKeyEntry locates a key under which a group seals its operations: secret.
// Key is the SHA-256 of the key.
//
//	0x3A ‖ Group 32 ‖ Key 32  →  codec.GroupKeyValue
type GroupKeyEntry struct {
	Group codec.GroupID
	Key   codec.KeyID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (GroupKeyEntry) Slot() Slot[codec.GroupKeyValue] {
	return Slot[codec.GroupKeyValue]{Column: column.Group, Tag: tagGroupKeyEntry, Size: 65}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k GroupKeyEntry) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupKeyEntry", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (GroupKeyEntry) Parse(src []byte) (GroupKeyEntry, error) {
	var k GroupKeyEntry
	c := parser("GroupKeyEntry", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *GroupKeyEntry) layout(c *coder) {
	id(c, "group_id", &k.Group)
	id(c, "key_id", &k.Key)
}

// KeysOf is the prefix of the sealing keys of a group that this node holds.
func KeysOf(g codec.GroupID) Prefix[GroupKeyEntry] {
	return prefix[GroupKeyEntry](tagGroupKeyEntry, g[:])
}
