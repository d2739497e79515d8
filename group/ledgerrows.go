package group

import (
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// RowChange is a row to be written, or to be deleted if Value is nil.
type RowChange struct {
	Column column.Column
	Key    []byte
	Value  []byte
	All    bool // all rows whose keys begin with Key are to be deleted
}

// Rows returns the rows that may have changed since it was last called, as they are
// now; whole: all were looked at, most of which will be what they were. The ledger must
// be settled.
func (l *Ledger) Rows() (rows []RowChange, whole bool, err error) {
	w := &changes{}
	if whole = l.whole; whole {
		for id, s := range l.tree.groups {
			l.tree.touchAll(id, s)
		}
	}
	gone := l.gone()
	for p := range l.journal.touched {
		if gone[p.group] < l.many || !p.kind.inGroup() {
			l.row(w, p)
		}
	}
	for g, n := range gone {
		if n >= l.many {
			w.dropGroup(g)
		}
	}
	l.journal.touched = emptied(l.journal.touched)
	l.whole = false
	return w.rows, whole, w.err
}

type changes struct {
	rows []RowChange
	err  error
}

// manyRows is from how many touched rows on those of a group that is gone are deleted as
// ranges, so that however many there are fit in a batch.
const manyRows = 256

// gone returns how many touched rows there are of each group that is there no more.
func (l *Ledger) gone() map[codec.GroupID]int {
	gone := map[codec.GroupID]int{}
	for p := range l.journal.touched {
		if p.kind.inGroup() && l.tree.groups[p.group] == nil {
			gone[p.group]++
		}
	}
	return gone
}

// dropGroup notes that all rows of a group are to be deleted, but for its nonces, its log
// and its keys; and for those whose keys do not begin with it.
func (w *changes) dropGroup(g codec.GroupID) {
	dropAll(w, keys.GroupMeta{Group: g})
	dropAll(w, keys.GroupMember{Group: g})
	dropAll(w, keys.GroupContextIndex{Group: g})
	dropAll(w, keys.GroupUpgradeKey{Group: g})
	dropAll(w, keys.GroupMemberCapability{Group: g})
	dropAll(w, keys.GroupDefaultCaps{Group: g})
	dropAll(w, keys.GroupContextLastMigration{Group: g})
	dropAll(w, keys.GroupMemberAlias{Group: g})
	dropAll(w, keys.GroupAlias{Group: g})
	dropAll(w, keys.GroupContextAlias{Group: g})
	dropAll(w, keys.GroupMemberContext{Group: g})
	dropAll(w, keys.GroupContextMemberCap{Group: g})
}

// dropAll notes that all rows with the prefix and the group of key are to be deleted.
func dropAll[K keys.Key[K, V], V codec.Value[V]](w *changes, key K) {
	k, err := key.AppendBinary(nil)
	if err != nil {
		if w.err == nil {
			w.err = err
		}
		return
	}
	w.rows = append(w.rows, RowChange{Column: key.Slot().Column, Key: k[:1+len(codec.GroupID{})], All: true})
}

// record notes a row, which is not there if has is false.
func record[K keys.Key[K, V], V codec.Value[V]](w *changes, has bool, key K, value V) {
	k, err := key.AppendBinary(nil)
	var v []byte
	if err == nil && has {
		v, err = value.AppendBinary([]byte{})
	}
	if err != nil && w.err == nil {
		w.err = err
	}
	w.rows = append(w.rows, RowChange{Column: key.Slot().Column, Key: k, Value: v})
}

// row notes the row that p names.
func (l *Ledger) row(w *changes, p rowRef) {
	switch p.kind {
	case rowHeads:
		l.headsRow(w, p.group)
		return
	case rowNamespaceHeads:
		record(w, true, keys.NamespaceGovHead{Namespace: l.judge.namespace}, codec.NamespaceGovHeadValue{Sequence: l.nonce + 1, DagHeads: l.Heads()})
		return
	case rowNonce:
		if log := l.logs[p.group]; log != nil && log.nonces[p.who] > 0 { // else it was only tried
			record(w, true, keys.GroupLocalGovNonce{Group: p.group, Signer: p.who}, codec.Nonce(log.nonces[p.who]))
		}
		return
	case rowChild:
		s := l.tree.groups[codec.GroupID(p.who)]
		record(w, s != nil && s.parent == p.group && !p.group.IsZero(), keys.GroupChildIndex{Parent: p.group, Child: codec.GroupID(p.who)}, codec.Present{})
		return
	case rowHome, rowConfig:
		l.homeRow(w, p)
		return
	case rowContext, rowMigration, rowContextName, rowJoined, rowMask:
		l.contextRow(w, p, l.tree.groups[p.group])
		return
	}
	s := l.tree.groups[p.group]
	has := s != nil
	if !has {
		s = &state{}
	}
	switch p.kind {
	case rowMeta:
		record(w, has, keys.GroupMeta{Group: p.group}, l.meta(p.group, s))
	case rowMember:
		l.memberRows(w, p, has, s)
	case rowUpgrade:
		var v codec.GroupUpgradeValue
		if s.upgrade != nil {
			v = *s.upgrade
		}
		record(w, s.upgrade != nil, keys.GroupUpgradeKey{Group: p.group}, v)
	case rowDefaults:
		var v codec.GroupDefaultCapsValue
		if s.defaults != nil {
			v.Capabilities = *s.defaults
		}
		record(w, s.defaults != nil, keys.GroupDefaultCaps{Group: p.group}, v)
	case rowName:
		record(w, s.name != "", keys.GroupAlias{Group: p.group}, s.name)
	case rowMemberName:
		name, named := s.names[p.who]
		record(w, named, keys.GroupMemberAlias{Group: p.group, Identity: p.who}, name)
	case rowParent:
		record(w, has && p.group != l.tree.namespace, keys.GroupParentRef{Child: p.group}, codec.ParentRefValue{ParentID: s.parent})
	}
}

func (l *Ledger) headsRow(w *changes, g codec.GroupID) {
	if log := l.logs[g]; log != nil && log.count > 0 {
		record(w, true, keys.GroupOpHead{Group: g}, codec.GroupOpHeadValue{Sequence: log.count, DagHeads: l.idsOf(log.heads)})
	}
}

func (l *Ledger) idsOf(ops []int) (ids []codec.OpID) {
	for _, i := range ops {
		ids = append(ids, l.past.ids[i])
	}
	slices.SortFunc(ids, codec.CompareID)
	return ids
}

// homeRow notes the group of a context, or its revisions.
func (l *Ledger) homeRow(w *changes, p rowRef) {
	claim, has := l.Claim(p.context)
	if p.kind == rowHome {
		record(w, has, keys.ContextGroupRef{Context: p.context}, codec.GroupRefValue{GroupID: claim.Group})
		return
	}
	record(w, has, keys.ContextConfig{Context: p.context}, claim.Config)
}

// Claim returns which group of the namespace has a context, as of the last Settle. That
// it counts is for [Home] to say of the claims of all namespaces.
func (l *Ledger) Claim(c codec.ContextID) (Claim, bool) { return l.tree.claim(c) }

// Claims yields the claims on all contexts that groups of the namespace have, in no order.
func (l *Ledger) Claims() iter.Seq2[codec.ContextID, Claim] { return l.tree.claims() }

func (l *Ledger) contextRow(w *changes, p rowRef, s *state) {
	c := &contextState{}
	has := s != nil && s.contexts[p.context] != nil
	if has {
		c = s.contexts[p.context]
	}
	switch p.kind {
	case rowContext:
		record(w, has, keys.GroupContextIndex{Group: p.group, Context: p.context}, codec.Present{})
	case rowMigration:
		var v codec.GroupContextLastMigrationValue
		if c.migration != nil {
			v.Method = *c.migration
		}
		record(w, c.migration != nil, keys.GroupContextLastMigration{Group: p.group, Context: p.context}, v)
	case rowContextName:
		record(w, c.name != "", keys.GroupContextAlias{Group: p.group, Context: p.context}, c.name)
	case rowJoined:
		id, joined := c.identities[p.who]
		record(w, joined, keys.GroupMemberContext{Group: p.group, Identity: p.who, Context: p.context}, codec.MemberContextValue{Identity: id})
	case rowMask:
		mask, masked := c.masks[p.who]
		record(w, masked, keys.GroupContextMemberCap{Group: p.group, Context: p.context, Identity: p.who}, mask)
	}
}

// meta returns the description of a group, with who stands as its admin identity; of several,
// whose grant ranks first.
func (l *Ledger) meta(id codec.GroupID, s *state) codec.GroupMetaValue {
	meta := s.meta
	var first *grant
	for _, who := range l.everIn[id] {
		for _, g := range l.judge.standing[holder{id, who}] {
			if g.right == rightIdentity && (first == nil || l.judge.above(g, first)) {
				first, meta.AdminIdentity = g, who
			}
		}
	}
	return meta
}

// memberRows notes the role and the capabilities of a member.
func (l *Ledger) memberRows(w *changes, p rowRef, has bool, s *state) {
	standing := l.judge.standing[holder{p.group, p.who}]
	has = has && len(standing) > 0
	var caps codec.Capabilities
	role, given := s.roles[p.who]
	if !given {
		role = codec.Member // made an Admin at once, and demoted by someone who could not say to what
	}
	for _, g := range standing {
		switch {
		case g.right == rightIdentity || g.right == rightAdmin:
			role = codec.Admin
		case g.right >= rightBit:
			caps |= 1 << (g.right - rightBit)
		}
	}
	record(w, has, keys.GroupMember{Group: p.group, Identity: p.who}, role)
	record(w, has && caps != 0, keys.GroupMemberCapability{Group: p.group, Identity: p.who}, codec.GroupMemberCapabilityValue{Capabilities: caps})
}
