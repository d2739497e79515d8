package govwire

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromMember returns a member as it goes over the wire.
func FromMember(i *namespace.MemberInfo) *stoav1.GroupMember {
	return &stoav1.GroupMember{Identity: dagwire.Bytes(i.Identity), Role: FromRole(i.Role), Capabilities: uint32(i.Capabilities),
		Name: string(i.Name), Nonce: i.Nonce}
}

// Member returns the member that came over the wire.
func Member(m *stoav1.GroupMember) (i namespace.MemberInfo, err error) {
	i = namespace.MemberInfo{Capabilities: codec.Capabilities(m.GetCapabilities()), Name: codec.AliasName(m.GetName()), Nonce: m.GetNonce()}
	if i.Identity, err = dagwire.ID[codec.Identity]("identity", m.GetIdentity()); err != nil {
		return i, err
	}
	i.Role, err = Role("role", m.GetRole())
	return i, err
}

// maxContextMembers is how many members of a context a message tells of.
const maxContextMembers = 1000

// FromContext returns a context as it goes over the wire.
func FromContext(c *namespace.ContextInfo) *stoav1.GroupContext {
	m := &stoav1.GroupContext{ContextId: dagwire.Bytes(c.ID), Name: string(c.Name), LastMigration: c.LastMigration}
	for _, who := range c.Members[:min(len(c.Members), maxContextMembers)] {
		mm := &stoav1.GroupContextMember{Member: dagwire.Bytes(who.Member), Identity: dagwire.OptionalBytes(who.Identity)}
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
	if c.ID, err = dagwire.ID[codec.ContextID]("context_id", m.GetContextId()); err != nil {
		return c, err
	}
	for _, mm := range m.GetMembers() {
		var who namespace.ContextMember
		if who.Member, err = dagwire.ID[codec.Identity]("members.member", mm.GetMember()); err != nil {
			return c, err
		}
		if who.Identity, err = dagwire.Optional[codec.Identity]("members.identity", mm.GetIdentity()); err != nil {
			return c, err
		}
		if mm.Capability != nil {
			if mm.GetCapability() > uint32(codec.AllCapabilities) {
				return c, &dagwire.FieldError{Field: "members.capability", Reason: fmt.Sprintf("no capabilities %#x", mm.GetCapability())}
			}
			who.Capability = codec.Some(codec.ContextCapability(mm.GetCapability()))
		}
		c.Members = append(c.Members, who)
	}
	return c, nil
}

// FromKey returns what is known of a key as it goes over the wire.
func FromKey(k *namespace.KeyInfo) *stoav1.GroupKey {
	return &stoav1.GroupKey{KeyId: dagwire.Bytes(k.ID), Here: k.Here, Current: k.Current, Holders: dagwire.List(k.Holders),
		OpId: dagwire.Bytes(k.Op), Height: uint64(k.Height)}
}

// Key returns what is known of a key, as it came over the wire.
func Key(m *stoav1.GroupKey) (k namespace.KeyInfo, err error) {
	k = namespace.KeyInfo{Here: m.GetHere(), Current: m.GetCurrent(), Height: int(m.GetHeight())}
	if k.ID, err = dagwire.Hash[codec.KeyID]("key_id", m.GetKeyId()); err != nil {
		return k, err
	}
	if k.Op, err = dagwire.Hash[codec.OpID]("op_id", m.GetOpId()); err != nil {
		return k, err
	}
	k.Holders, err = dagwire.IDs[codec.Identity]("holders", m.GetHolders())
	return k, err
}
