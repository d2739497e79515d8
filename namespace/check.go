package namespace

import (
	"fmt"

	"filippo.io/edwards25519"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// The limits of an op.
const (
	MaxParents = 64      // the parents of an op
	MaxOp      = 4 << 20 // the bytes of an op
)

// ValidIdentity reports whether id is the encoding, in its only form, of a point of the
// curve that is not of small order: a key that can sign, and be sealed to.
func ValidIdentity(id codec.Identity) bool {
	_, err := new(edwards25519.Point).SetBytes(id[:])
	return err == nil && group.Sound(id)
}

// Check returns a [*Refusal] unless s is in form and its signatures are good: all that
// can be said without its ancestors. It is safe for concurrent use, and what takes time
// before an op is applied.
func Check(s *codec.SignedNamespaceOp) (*Op, error) {
	op, err := NewOp(s)
	if err != nil {
		return nil, &Refusal{Reason: BadForm, Detail: err.Error()}
	}
	if r := checkOp(op, nil); r != nil {
		return nil, r
	}
	return op, nil
}

// checkOp is Check of an op that is whole; nil: it has passed.
func checkOp(op *Op, v *group.Verifier) *Refusal { return checkOps([]*Op{op}, v)[0] }

// checkOps is checkOp of each op, which takes less than for one after the other.
func checkOps(ops []*Op, v *group.Verifier) []*Refusal {
	refused := make([]*Refusal, len(ops))
	var all signatures
	for i, op := range ops {
		if detail := formFault(op); detail != "" {
			refused[i] = &Refusal{op.ID, BadForm, detail}
		} else {
			all.add(i, op)
		}
	}
	all.verify(v, func(i int, detail string) { refused[i] = &Refusal{ops[i].ID, BadSignature, detail} })
	for i, op := range ops {
		if refused[i] == nil {
			if detail := joinFault(op); detail != "" {
				refused[i] = &Refusal{op.ID, BadSignature, detail}
			}
		}
	}
	return refused
}

// signatures are those of ops that are to be verified.
type signatures struct {
	messages []group.SignedMessage
	of       []int    // which op
	faults   []string // what is said of it where it is not good
}

// add adds the signatures of op i.
func (s *signatures) add(i int, op *Op) {
	s.message(i, group.SignedMessage{Signer: op.Signed.Signer, Message: group.Unsigned(op.signed), Signature: op.Signed.Signature}, "not the signer's")
	if op.Clear == nil {
		return
	}
	const fault = "that of the group's op is not the signer's"
	inner, err := innerOf(op.Signed)
	if err != nil {
		s.message(i, group.SignedMessage{}, fault)
		return
	}
	s.message(i, group.MessageOf(inner, op.Signed.Signer), fault)
}

func (s *signatures) message(i int, m group.SignedMessage, fault string) {
	s.messages, s.of, s.faults = append(s.messages, m), append(s.of, i), append(s.faults, fault)
}

// verify calls fn with each op of which a signature is not good, and with the first of these.
func (s *signatures) verify(v *group.Verifier, fn func(i int, fault string)) {
	last := -1
	for j, good := range v.VerifyAll(s.messages) {
		if i := s.of[j]; !good && i != last {
			fn(i, s.faults[j])
			last = i
		}
	}
}

func signatureFault(op *Op, v *group.Verifier) (detail string) {
	var all signatures
	all.add(0, op)
	if all.verify(v, func(_ int, fault string) { detail = fault }); detail != "" {
		return detail
	}
	return joinFault(op)
}

// joinFault says which of the signatures is not good with which a member joins.
func joinFault(op *Op) string {
	s := op.Signed
	if r := &s.Op.Root; s.Op.Kind == codec.NamespaceRoot && r.Kind == codec.RootMemberJoined {
		if group.VerifyInvitation(&r.Invitation) != nil {
			return "the invitation's is not the inviter's"
		}
		if group.VerifyJoin(&r.Invitation, r.Member, r.JoinerSignature) != nil {
			return "the joiner's is not the member's"
		}
	}
	return ""
}

func formFault(op *Op) string {
	s := op.Signed
	creating := op.Root != nil && op.Root.Kind == codec.RootNamespaceCreated
	version2 := s.Version == codec.OpVersion2
	switch {
	case len(op.wire()) > MaxOp:
		return fmt.Sprintf("more than %d bytes", MaxOp)
	case len(s.Parents) > MaxParents:
		return fmt.Sprintf("%d parents, more than %d", len(s.Parents), MaxParents)
	case !codec.Ascending(s.Parents):
		return "parents are not in ascending order, or not distinct"
	case creating != (len(s.Parents) == 0):
		return "only the op that creates the namespace has no parents, and it has none"
	case op.Root != nil && (op.Root.Kind == codec.RootKeyDelivery && version2 || (op.Root.Kind == codec.RootKeyDelivered || op.Root.Kind == codec.RootAuthorityStated) && !version2),
		op.Root == nil && version2 == (s.Op.Kind == codec.NamespaceGroup):
		return fmt.Sprintf("an op of version %d has no %s", s.Version+1, kindOf(op))
	case op.Root != nil:
		return rootFault(s, op.Root)
	case op.Clear != nil:
		return clearFault(op)
	case len(s.Op.Sealed) < sealOverhead:
		return fmt.Sprintf("%d sealed bytes are too few", len(s.Op.Sealed))
	}
	return rotationFault(s.Op.Rotations)
}

func kindOf(op *Op) string {
	if op.Root != nil {
		return op.Root.Kind.String()
	}
	return op.Signed.Op.Kind.String()
}

// IsClear reports whether an op of a group says who may do what, which in version 2 is
// never sealed.
func IsClear(k codec.GroupOpKind) bool {
	switch k {
	case codec.OpMemberAdded, codec.OpMemberRemoved, codec.OpMembersRemoved, codec.OpMemberLeft, codec.OpMemberRoleSet,
		codec.OpMemberCapabilitySet, codec.OpDefaultCapabilitiesSet, codec.OpAdminTransferred, codec.OpKeyRotated:
		return true
	default:
		return false
	}
}

func clearFault(op *Op) string {
	b, keys := op.Clear, op.Signed.Op.Keys
	switch {
	case !IsClear(b.Kind):
		return b.Kind.String() + " is not said in clear"
	case names(b) && !ValidIdentity(b.Member):
		return "member " + b.Member.String() + " is not a key"
	case b.Kind == codec.OpMembersRemoved && (len(b.Members) == 0 || !codec.Ascending(b.Members)):
		return "members are not in ascending order, not distinct, or none"
	}
	for i, k := range keys {
		if i > 0 && codec.CompareID(keys[i-1].GroupID, k.GroupID) >= 0 {
			return "keys are not in ascending order of groups, or not distinct"
		}
		if !codec.Ascending(op.Keys[i].Carried) {
			return "carried keys are not in ascending order, or not distinct"
		}
		if fault := envelopesFault(k.Envelopes); fault != "" {
			return fault
		}
	}
	return ""
}

func rootFault(s *codec.SignedNamespaceOp, r *codec.RootOp) string {
	switch r.Kind {
	case codec.RootNamespaceCreated, codec.RootGroupCreated:
		id, err := CreationID(r)
		switch {
		case err != nil || id != r.GroupID:
			return "the group's id is not that of its content"
		case r.Creator != s.Signer:
			return "the creator is not the signer"
		case (r.Kind == codec.RootNamespaceCreated) != (r.GroupID == s.NamespaceID):
			return "the namespace's id is not that of its content"
		}
	case codec.RootGroupReparented, codec.RootGroupDeleted:
		if r.GroupID == s.NamespaceID {
			return "the namespace itself can't be moved or deleted"
		}
	case codec.RootMemberJoined:
		v := &r.Invitation
		switch {
		case v.NamespaceID != s.NamespaceID:
			return "the invitation is of another namespace"
		case v.Invitee.Valid && v.Invitee.V != r.Member:
			return "the invitation is for somebody else"
		}
	case codec.RootKeyDelivery, codec.RootKeyDelivered:
		return envelopesFault(r.Envelopes)
	case codec.RootAuthorityStated:
		return statementFault(r)
	}
	return ""
}

func statementFault(r *codec.RootOp) string {
	if !r.AdminIdentity.IsZero() && !ValidIdentity(r.AdminIdentity) {
		return "admin identity " + r.AdminIdentity.String() + " is not a key"
	}
	named := map[codec.Identity]bool{r.AdminIdentity: true}
	for _, m := range r.Members {
		switch {
		case !ValidIdentity(m.Member):
			return "member " + m.Member.String() + " is not a key"
		case named[m.Member]:
			return "member " + m.Member.String() + " is stated twice"
		}
		named[m.Member] = true
	}
	return ""
}

func rotationFault(rotations []codec.KeyRotation) string {
	for i, r := range rotations {
		if i > 0 && codec.CompareID(rotations[i-1].GroupID, r.GroupID) >= 0 {
			return "rotations are not in ascending order of groups, or not distinct"
		}
		if r.Previous.Valid && r.Previous.V.KeyID == r.NewKeyID {
			return "a key is its own previous one"
		}
		if fault := envelopesFault(r.Envelopes); fault != "" {
			return fault
		}
	}
	return ""
}

func envelopesFault(envelopes []codec.KeyEnvelope) string {
	ids := recipients(envelopes)
	if len(ids) == 0 {
		return "no envelopes"
	}
	if !codec.Ascending(ids) {
		return "envelopes are not in ascending order of recipients, or not distinct"
	}
	for _, id := range ids {
		if !ValidIdentity(id) {
			return "recipient " + id.String() + " is not a key"
		}
	}
	return ""
}
