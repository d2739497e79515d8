package govwire

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromMember returns a member as it goes over the wire.
func FromMember(i *namespace.MemberInfo) *stoav1.GroupMember {
	return &stoav1.GroupMember{Identity: op.Bytes(i.Identity), Role: FromRole(i.Role), Capabilities: uint32(i.Capabilities),
		Name: string(i.Name), Nonce: i.Nonce}
}

// Member returns the member that came over the wire.
func Member(m *stoav1.GroupMember) (i namespace.MemberInfo, err error) {
	i = namespace.MemberInfo{Capabilities: codec.Capabilities(m.GetCapabilities()), Name: codec.AliasName(m.GetName()), Nonce: m.GetNonce()}
	if i.Identity, err = op.ParseID[codec.Identity]("identity", m.GetIdentity()); err != nil {
		return i, err
	}
	i.Role, err = Role("role", m.GetRole())
	return i, err
}

// maxContextMembers is how many members of a context a message tells of.
const maxContextMembers = 1000

// FromContext returns a context as it goes over the wire.
func FromContext(c *namespace.ContextInfo) *stoav1.GroupContext {
	m := &stoav1.GroupContext{ContextId: op.Bytes(c.ID), Name: string(c.Name), LastMigration: c.LastMigration}
	for _, who := range c.Members[:min(len(c.Members), maxContextMembers)] {
		mm := &stoav1.GroupContextMember{Member: op.Bytes(who.Member), Identity: op.OptionalBytes(who.Identity)}
		if who.Capability.Valid {
			mask := uint32(who.Capability.V)
			mm.Capability = &mask
		}
		m.Members = append(m.Members, mm)
	}
	return m
}

// Context returns the context that came over the wire.
func Context(m *stoav1.GroupContext) (c namespace.ContextInfo, err error) {
	c = namespace.ContextInfo{Name: codec.AliasName(m.GetName()), LastMigration: m.GetLastMigration()}
	if c.ID, err = op.ParseID[codec.ContextID]("context_id", m.GetContextId()); err != nil {
		return c, err
	}
	for _, mm := range m.GetMembers() {
		var who namespace.ContextMember
		if who.Member, err = op.ParseID[codec.Identity]("members.member", mm.GetMember()); err != nil {
			return c, err
		}
		if who.Identity, err = op.ParseOptional[codec.Identity]("members.identity", mm.GetIdentity()); err != nil {
			return c, err
		}
		if mm.Capability != nil {
			if mm.GetCapability() > uint32(codec.AllCapabilities) {
				return c, &op.FieldError{Field: "members.capability", Reason: fmt.Sprintf("no capabilities %#x", mm.GetCapability())}
			}
			who.Capability = codec.Some(codec.ContextCapability(mm.GetCapability()))
		}
		c.Members = append(c.Members, who)
	}
	return c, nil
}

// FromKey returns what is known of a key as it goes over the wire.
func FromKey(k *namespace.KeyInfo) *stoav1.GroupKey {
	return &stoav1.GroupKey{KeyId: op.Bytes(k.ID), Here: k.Here, Current: k.Current, Holders: op.FromIDs(k.Holders),
		OpId: op.Bytes(k.Op), Height: uint64(k.Height)}
}

// Key returns what is known of a key, as it came over the wire.
func Key(m *stoav1.GroupKey) (k namespace.KeyInfo, err error) {
	k = namespace.KeyInfo{Here: m.GetHere(), Current: m.GetCurrent(), Height: int(m.GetHeight())}
	if k.ID, err = op.ParseHash[codec.KeyID]("key_id", m.GetKeyId()); err != nil {
		return k, err
	}
	if k.Op, err = op.ParseHash[codec.OpID]("op_id", m.GetOpId()); err != nil {
		return k, err
	}
	k.Holders, err = op.ParseIDs[codec.Identity]("holders", m.GetHolders())
	return k, err
}
