package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// ContextState locates an entry of the shared state of a context.
//
//	Context 32 ‖ AppKey var  →  codec.Raw
type ContextState struct {
	Context codec.ContextID
	AppKey  Bytes
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ContextState) Slot() Slot[codec.Raw] {
	return Slot[codec.Raw]{Column: column.State, Size: 32, MaxVar: MaxVariable}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ContextState) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextState", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ContextState) Parse(src []byte) (ContextState, error) {
	var k ContextState
	c := parser("ContextState", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ContextState) layout(c *coder) {
	id(c, "context_id", &k.Context)
	c.rest("app_key", &k.AppKey)
}

// StateOf is the prefix of the shared state of a context.
func StateOf(context codec.ContextID) Prefix[ContextState] {
	return prefix[ContextState](0, context[:])
}

// StateUnder is the prefix of the shared state of a context whose app keys begin with
// leading.
func StateUnder(context codec.ContextID, leading []byte) Prefix[ContextState] {
	return prefix[ContextState](0, context[:], leading)
}

// ContextPrivateState locates an entry of the node-local state of a context.
//
//	Context 32 ‖ AppKey var  →  codec.Raw
type ContextPrivateState struct {
	Context codec.ContextID
	AppKey  Bytes
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ContextPrivateState) Slot() Slot[codec.Raw] {
	return Slot[codec.Raw]{Column: column.PrivateState, Size: 32, MaxVar: MaxVariable}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ContextPrivateState) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ContextPrivateState", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ContextPrivateState) Parse(src []byte) (ContextPrivateState, error) {
	var k ContextPrivateState
	c := parser("ContextPrivateState", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ContextPrivateState) layout(c *coder) {
	id(c, "context_id", &k.Context)
	c.rest("app_key", &k.AppKey)
}

// PrivateStateOf is the prefix of the node-local state of a context.
func PrivateStateOf(context codec.ContextID) Prefix[ContextPrivateState] {
	return prefix[ContextPrivateState](0, context[:])
}

// PrivateStateUnder is the prefix of the node-local state of a context whose app keys
// begin with leading.
func PrivateStateUnder(context codec.ContextID, leading []byte) Prefix[ContextPrivateState] {
	return prefix[ContextPrivateState](0, context[:], leading)
}
