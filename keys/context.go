package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// ContextMeta locates the metadata of a context.
//
//	Context 32  →  codec.ContextMetaValue
type ContextMeta struct {
	Context codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ContextMeta) Slot() Slot[codec.ContextMetaValue] {
	return Slot[codec.ContextMetaValue]{Column: column.Meta, Size: 32}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ContextMeta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextMeta", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ContextMeta) Parse(src []byte) (ContextMeta, error) {
	var k ContextMeta
	c := parser("ContextMeta", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ContextMeta) layout(c *coder) {
	id(c, "context_id", &k.Context)
}

// ContextConfig locates the revision counters of a context.
//
//	Context 32  →  codec.ContextConfigValue
type ContextConfig struct {
	Context codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ContextConfig) Slot() Slot[codec.ContextConfigValue] {
	return Slot[codec.ContextConfigValue]{Column: column.Config, Size: 32}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ContextConfig) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextConfig", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ContextConfig) Parse(src []byte) (ContextConfig, error) {
	var k ContextConfig
	c := parser("ContextConfig", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ContextConfig) layout(c *coder) {
	id(c, "context_id", &k.Context)
}

// ContextIdentity locates this node's keypair in a context: secret.
//
//	Context 32  →  codec.ContextIdentityValue
type ContextIdentity struct {
	Context codec.ContextID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ContextIdentity) Slot() Slot[codec.ContextIdentityValue] {
	return Slot[codec.ContextIdentityValue]{Column: column.Identity, Size: 32}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ContextIdentity) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextIdentity", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ContextIdentity) Parse(src []byte) (ContextIdentity, error) {
	var k ContextIdentity
	c := parser("ContextIdentity", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ContextIdentity) layout(c *coder) {
	id(c, "context_id", &k.Context)
}

// ContextDagDelta locates a causal delta.
//
//	Context 32 ‖ Delta 32  →  codec.ContextDagDeltaValue
type ContextDagDelta struct {
	Context codec.ContextID
	Delta   codec.DeltaID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ContextDagDelta) Slot() Slot[codec.ContextDagDeltaValue] {
	return Slot[codec.ContextDagDeltaValue]{Column: column.Delta, Size: 64}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ContextDagDelta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextDagDelta", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ContextDagDelta) Parse(src []byte) (ContextDagDelta, error) {
	var k ContextDagDelta
	c := parser("ContextDagDelta", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ContextDagDelta) layout(c *coder) {
	id(c, "context_id", &k.Context)
	id(c, "delta_id", &k.Delta)
}

// DeltasOf is the prefix of the deltas of a context, by id.
func DeltasOf(context codec.ContextID) Prefix[ContextDagDelta] {
	return prefix[ContextDagDelta](0, context[:])
}
