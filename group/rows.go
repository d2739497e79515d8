package group

import (
	"bytes"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
)

// writer gathers rows, and the first error.
type writer struct {
	rows []Row
	err  error
}

func put[K keys.Key[K, V], V codec.Value[V]](w *writer, key K, value V) {
	k, err := key.AppendBinary(nil)
	if err == nil {
		var v []byte
		if v, err = value.AppendBinary([]byte{}); err == nil {
			w.rows = append(w.rows, Row{k, v})
			return
		}
	}
	if w.err == nil {
		w.err = err
	}
}

// rows returns all rows of the Group column that follow from the ops: those of every
// group of the tree, the nonces and heads of every group that ever was, and the heads
// of the namespace. The log and the ops themselves (0x30, 0x38) are in the order and
// form in which a node has them, and secrets (0x25, 0x37, 0x3A) its own.
func (j *judge) rows(t *tree, self codec.Identity) ([]Row, error) {
	w := &writer{}
	for id, s := range t.groups {
		j.memberRows(w, id, s)
		s.ownRows(w, id)
		for c, cs := range s.contexts {
			cs.rows(w, id, c)
		}
		if id != t.namespace {
			put(w, keys.GroupParentRef{Child: id}, codec.ParentRefValue{ParentID: s.parent})
			put(w, keys.GroupChildIndex{Parent: s.parent, Child: id}, codec.Present{})
		}
	}
	j.logRows(w)
	j.headRow(w, self)
	slices.SortFunc(w.rows, func(a, b Row) int { return bytes.Compare(a.Key, b.Key) })
	return w.rows, w.err
}

// memberRows writes the standing grants of a group: 0x20, 0x21, 0x26.
func (j *judge) memberRows(w *writer, id codec.GroupID, s *state) {
	meta := s.meta
	var first *grant
	for h, grants := range j.of {
		if h.group != id {
			continue
		}
		var has [rightBit + capabilityBits]bool
		for _, g := range grants {
			if !j.stands(g) {
				continue
			}
			if has[g.right] = true; g.right == rightIdentity && (first == nil || j.above(g, first)) {
				first, meta.AdminIdentity = g, g.who
			}
		}
		var caps codec.Capabilities
		for i := range capabilityBits {
			if has[int(rightBit)+i] {
				caps |= 1 << i
			}
		}
		if caps != 0 {
			put(w, keys.GroupMemberCapability{Group: id, Identity: h.who}, codec.GroupMemberCapabilityValue{Capabilities: caps})
		}
		if role, given := s.roles[h.who]; slices.Contains(has[:], true) {
			switch {
			case has[rightIdentity] || has[rightAdmin]:
				role = codec.Admin
			case !given:
				role = codec.Member // made an Admin at once, and demoted by someone who could not say to what
			}
			put(w, keys.GroupMember{Group: id, Identity: h.who}, role)
		}
	}
	put(w, keys.GroupMeta{Group: id}, meta)
}

// ownRows writes what is set for a group as a whole: 0x24, 0x29, 0x2D, 0x2E.
func (s *state) ownRows(w *writer, id codec.GroupID) {
	if s.upgrade != nil {
		put(w, keys.GroupUpgradeKey{Group: id}, *s.upgrade)
	}
	if s.defaults != nil {
		put(w, keys.GroupDefaultCaps{Group: id}, codec.GroupDefaultCapsValue{Capabilities: *s.defaults})
	}
	if s.name != "" {
		put(w, keys.GroupAlias{Group: id}, s.name)
	}
	for m, name := range s.names {
		put(w, keys.GroupMemberAlias{Group: id, Identity: m}, name)
	}
}

// rows writes what is set for a context: 0x22, 0x23, 0x2B, 0x2F, 0x32, 0x33.
func (s *contextState) rows(w *writer, g codec.GroupID, c codec.ContextID) {
	put(w, keys.GroupContextIndex{Group: g, Context: c}, codec.Present{})
	put(w, keys.ContextGroupRef{Context: c}, codec.GroupRefValue{GroupID: g})
	if s.migration != nil {
		put(w, keys.GroupContextLastMigration{Group: g, Context: c}, codec.GroupContextLastMigrationValue{Method: *s.migration})
	}
	if s.name != "" {
		put(w, keys.GroupContextAlias{Group: g, Context: c}, s.name)
	}
	for m, id := range s.identities {
		put(w, keys.GroupMemberContext{Group: g, Identity: m, Context: c}, codec.MemberContextValue{Identity: id})
	}
	for m, mask := range s.masks {
		put(w, keys.GroupContextMemberCap{Group: g, Context: c, Identity: m}, mask)
	}
}

// logRows writes the nonces of each group, 0x2C, and the heads of its readable ops, 0x31.
func (j *judge) logRows(w *writer) {
	nonces := map[holder]uint64{}
	readable := map[codec.GroupID][]int{}
	for i, op := range j.ops {
		if op.hasNonce() {
			h := holder{op.Group, op.Signer}
			nonces[h] = max(nonces[h], op.Nonce)
		}
		if op.isLogged() {
			readable[op.Group] = append(readable[op.Group], i)
		}
	}
	for h, n := range nonces {
		put(w, keys.GroupLocalGovNonce{Group: h.group, Signer: h.who}, codec.Nonce(n))
	}
	for g, ops := range readable {
		put(w, keys.GroupOpHead{Group: g}, codec.GroupOpHeadValue{Sequence: uint64(len(ops)), DagHeads: j.heads(ops)})
	}
}

// headRow writes the heads of the namespace: 0x39.
func (j *judge) headRow(w *writer, self codec.Identity) {
	all, nonce := make([]int, len(j.ops)), uint64(0)
	for i, op := range j.ops {
		all[i] = i
		if op.Signer == self {
			nonce = max(nonce, op.Nonce)
		}
	}
	put(w, keys.NamespaceGovHead{Namespace: j.namespace}, codec.NamespaceGovHeadValue{Sequence: nonce + 1, DagHeads: j.heads(all)})
}

// heads returns those of ops that no other of them descends from, by id.
func (j *judge) heads(ops []int) (ids []codec.OpID) {
	for _, a := range ops {
		if !slices.ContainsFunc(ops, func(b int) bool { return j.follows(b, a) }) {
			ids = append(ids, j.ops[a].ID)
		}
	}
	slices.SortFunc(ids, codec.CompareID)
	return ids
}
