package namespace

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// MemberInfo is a member of a group.
type MemberInfo struct {
	Identity     codec.Identity
	Role         codec.GroupMemberRole
	Capabilities codec.Capabilities
	Name         codec.AliasName // empty: none here
	Nonce        uint64          // the highest of the member's readable ops of the group
}

// Members returns the members of a group after one of them, by identity; zeros: from
// the first. A limit of 0 is none. It returns [ErrNoGroup].
func (s *Store) Members(g codec.GroupID, after codec.Identity, limit int) (list []MemberInfo, err error) {
	err = s.reading(func(r engine.Reader) error {
		if _, err := meta(r, g); err != nil {
			return err
		}
		from := keys.GroupMember{Group: g, Identity: after}
		for e, err := range engine.ScanWindow(r, keys.MembersOf(g), engine.Window[keys.GroupMember]{From: &from}) {
			if err != nil {
				return err
			}
			if e.Key.Identity == after {
				continue
			}
			m, err := readMember(r, g, e.Key.Identity, e.Value)
			if err != nil {
				return err
			}
			if list = append(list, m); len(list) == limit {
				return nil
			}
		}
		return nil
	})
	return list, err
}

// MemberOf returns the groups of a namespace that somebody is a member of, in ascending order; none
// where the namespace is not here.
func (s *Store) MemberOf(ns codec.GroupID, who codec.Identity) (groups []codec.GroupID, err error) {
	err = s.viewAny(ns, func(c *loaded) error {
		groups = c.ledger.MemberOf(who)
		return nil
	})
	return groups, err
}

// Ended returns the ops that have ended what somebody was in the groups of a namespace; none for who
// never was a member of one, or is.
func (s *Store) Ended(ns codec.GroupID, who codec.Identity) (ops []codec.OpID, err error) {
	err = s.viewAny(ns, func(c *loaded) error {
		ops = c.ledger.Ended(who)
		return nil
	})
	return ops, err
}

// Met is that this node and another had the same of a namespace.
type Met struct {
	Namespace codec.GroupID
	Identity  codec.Identity // zeros: it did not say who it is, as both had the same already
	At        time.Time      // the last time
}

// metEvery is how often it is noted at most.
const metEvery = time.Minute

// Meet notes that this node and that of who have the same of a namespace now.
func (s *Store) Meet(ns codec.GroupID, who codec.Identity) error {
	now := s.options.Now().UnixMilli()
	key := append(scoped(nil, peerScope, ns), who[:]...)
	last, err := s.db.Get(nil, column.Generic, key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
	case err != nil:
		return err
	case len(last) == 8:
		if ago := now - int64(binary.LittleEndian.Uint64(last)); ago >= 0 && ago < metEvery.Milliseconds() {
			return nil
		}
	}
	b := engine.Batch{Durability: engine.WAL}
	b.Put(column.Generic, key, binary.LittleEndian.AppendUint64(nil, uint64(now)))
	return s.db.Apply(&b)
}

// Met returns with whom this node had the same, by namespace and identity, at most limit; 0: all.
func (s *Store) Met(limit int) (list []Met, err error) {
	rg := engine.Prefixed(peerScope[:])
	rg.Limit = limit
	err = s.reading(func(r engine.Reader) error {
		return engine.Each(r, column.Generic, rg, func(key, value []byte) error {
			if len(key) != len(peerScope)+2*32 || len(value) != 8 {
				return damaged(key, "not when two nodes had the same")
			}
			ids := key[len(peerScope):]
			list = append(list, Met{codec.GroupID(ids), codec.Identity(ids[32:]), time.UnixMilli(int64(binary.LittleEndian.Uint64(value)))})
			return nil
		})
	})
	return list, err
}

func readMember(r engine.Getter, g codec.GroupID, id codec.Identity, role codec.GroupMemberRole) (MemberInfo, error) {
	m := MemberInfo{Identity: id, Role: role}
	has, _, err := optional(r, keys.GroupMemberCapability{Group: g, Identity: id})
	if err != nil {
		return m, err
	}
	m.Capabilities = has.Capabilities
	if m.Name, _, err = optional(r, keys.GroupMemberAlias{Group: g, Identity: id}); err != nil {
		return m, err
	}
	nonce, _, err := optional(r, keys.GroupLocalGovNonce{Group: g, Signer: id})
	m.Nonce = uint64(nonce)
	return m, err
}

// ContextInfo is a context of a group.
type ContextInfo struct {
	ID            codec.ContextID
	Name          codec.AliasName // empty: none here
	LastMigration string          // empty: none
	Members       []ContextMember // by member: those of whom there is something to say
}

// ContextMember is what a member is in a context.
type ContextMember struct {
	Member     codec.Identity
	Identity   codec.Identity // that is used there; zeros: the member has not joined it
	Capability codec.Option[codec.ContextCapability]
}

// Contexts returns the contexts of a group after one of them, by id; zeros: from the
// first. A limit of 0 is none. It returns [ErrNoGroup].
func (s *Store) Contexts(g codec.GroupID, after codec.ContextID, limit int) (list []ContextInfo, err error) {
	err = s.reading(func(r engine.Reader) error {
		if _, err := meta(r, g); err != nil {
			return err
		}
		from := keys.GroupContextIndex{Group: g, Context: after}
		for e, err := range engine.ScanWindow(r, keys.ContextsOf(g), engine.Window[keys.GroupContextIndex]{From: &from}) {
			if err != nil {
				return err
			}
			if e.Key.Context == after {
				continue
			}
			c, err := readContext(r, g, e.Key.Context)
			if err != nil {
				return err
			}
			if list = append(list, c); len(list) == limit {
				return nil
			}
		}
		return nil
	})
	return list, err
}

func readContext(r engine.Reader, g codec.GroupID, id codec.ContextID) (c ContextInfo, err error) {
	c.ID = id
	if c.Name, _, err = optional(r, keys.GroupContextAlias{Group: g, Context: id}); err != nil {
		return c, err
	}
	migration, _, err := optional(r, keys.GroupContextLastMigration{Group: g, Context: id})
	if err != nil {
		return c, err
	}
	c.LastMigration = migration.Method
	for e, err := range engine.Scan(r, keys.MembersOf(g)) {
		if err != nil {
			return c, err
		}
		m := ContextMember{Member: e.Key.Identity}
		used, joined, err := optional(r, keys.GroupMemberContext{Group: g, Identity: m.Member, Context: id})
		if err != nil {
			return c, err
		}
		m.Identity = used.Identity
		if m.Capability.V, m.Capability.Valid, err = optional(r, keys.GroupContextMemberCap{Group: g, Context: id, Identity: m.Member}); err != nil {
			return c, err
		}
		if joined || m.Capability.Valid {
			c.Members = append(c.Members, m)
		}
	}
	return c, nil
}
