package group

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Grant names one right in a group that an op gives to an identity, across ledgers of the same
// namespace.
type Grant struct {
	Op    codec.OpID
	Right uint8 // which of the op's
}

// Writer is who writes into the contexts of a group.
type Writer struct {
	Group codec.GroupID
	Who   codec.Identity
}

// Writes returns the grants by which w may write into the contexts of the group, as of the last
// Settle: those that stand, where the role is not ReadOnly. None: w may not.
func (l *Ledger) Writes(w Writer) (by []Grant) {
	in := l.tree.groups[w.Group]
	if in == nil {
		return nil
	}
	reads := in.roles[w.Who] == codec.ReadOnly
	for _, g := range l.judge.standing[holder{w.Group, w.Who}] {
		reads = reads && g.right > rightAdmin
		by = append(by, Grant{l.Op(g.op).ID, uint8(g.right)})
	}
	if reads {
		return nil
	}
	return by
}

// Stands reports whether a grant of w stands, as of the last Settle.
func (l *Ledger) Stands(w Writer, g Grant) bool {
	return l.tree.groups[w.Group] != nil && slices.ContainsFunc(l.judge.standing[holder{w.Group, w.Who}], func(s *grant) bool {
		return uint8(s.right) == g.Right && slices.ContainsFunc(s.ops, func(i int) bool { return l.Op(i).ID == g.Op })
	})
}

// SetBack reports whether w was made ReadOnly by an op that is effective, as of the last Settle, and
// that known does not have.
func (l *Ledger) SetBack(w Writer, known func(codec.OpID) bool) bool {
	return slices.ContainsFunc(l.about[w.Who], func(i int) bool {
		return l.makesReadOnly(i, w) && l.verdicts[i].Outcome == Effective && !known(l.Op(i).ID)
	})
}

// makesReadOnly reports whether op i gives w the role ReadOnly.
func (l *Ledger) makesReadOnly(i int, w Writer) bool {
	op := l.Op(i)
	if r := op.Root; r != nil {
		switch r.Kind {
		case codec.RootMemberJoined:
			return r.Invitation.GroupID == w.Group && r.Member == w.Who && r.Invitation.Role == codec.ReadOnly
		case codec.RootAuthorityStated:
			return r.GroupID == w.Group && slices.ContainsFunc(r.Members, func(m codec.StatedMember) bool {
				return m.Member == w.Who && m.Role == codec.ReadOnly
			})
		}
		return false
	}
	return op.Body != nil && op.Group == w.Group && op.Body.Member == w.Who && op.Body.Role == codec.ReadOnly &&
		(op.Body.Kind == codec.OpMemberAdded || op.Body.Kind == codec.OpMemberRoleSet)
}
