package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// admit is the reference of what a [Store] refuses: a [*Refusal] unless op, which passed
// [Check], may stand on its ancestors, which must be complete; their order does not
// matter. It asks only what is clear of them: the signer is known, has the next nonce,
// and the groups and keys it names exist. It looks at all ancestors, where a Store has
// indexes.
func admit(op *Op, ancestors []*Op) error {
	if len(op.Parents) == 0 {
		return asError(nonceFault(op, 1))
	}
	last, known := uint64(0), false
	for _, a := range ancestors {
		if a.Signer == op.Signer {
			last = max(last, a.Nonce)
		}
		known = known || introduces(a, op.Signer)
	}
	if !known {
		return &Refusal{op.ID, Stranger, "signed by " + op.Signer.String()}
	}
	if r := nonceFault(op, last+1); r != nil {
		return r
	}
	if err := groupFault(op, ancestors); err != nil {
		return err
	}
	return keyFault(op, ancestors)
}

// groupFault asks of every group that op is about whether an ancestor creates it.
func groupFault(op *Op, ancestors []*Op) error {
	created := map[codec.GroupID]bool{}
	for _, a := range ancestors {
		if a.Root != nil && (a.Root.Kind == codec.RootNamespaceCreated || a.Root.Kind == codec.RootGroupCreated) {
			created[a.Root.GroupID] = true
		}
	}
	var about []codec.GroupID
	if r := op.Root; r != nil {
		about = map[codec.RootOpKind][]codec.GroupID{
			codec.RootGroupCreated:      {r.ParentID},
			codec.RootGroupReparented:   {r.ParentID, r.GroupID},
			codec.RootGroupDeleted:      {r.GroupID},
			codec.RootMemberJoined:      {r.Invitation.GroupID},
			codec.RootInvitationRevoked: {r.GroupID},
			codec.RootKeyDelivery:       {r.GroupID},
		}[r.Kind]
	} else {
		about = append(about, op.GroupID)
	}
	for _, r := range op.Rotations {
		about = append(about, r.GroupID)
	}
	for _, g := range about {
		if !created[g] {
			return &Refusal{op.ID, UnknownGroup, "no ancestor creates group " + g.String()}
		}
	}
	return nil
}

// introduces reports whether a is clear about id being someone: it created the
// namespace, joined, or was sent a key. Who was added by a sealed op can't read it, nor
// seal anything, before that.
func introduces(a *Op, id codec.Identity) bool {
	if a.Root == nil {
		return slices.ContainsFunc(a.Rotations, func(r codec.RotationSkeleton) bool { return slices.Contains(r.Recipients, id) })
	}
	switch a.Root.Kind {
	case codec.RootNamespaceCreated:
		return a.Signer == id
	case codec.RootMemberJoined:
		return a.Root.Member == id
	case codec.RootKeyDelivery:
		return slices.Contains(recipients(a.Root.Envelopes), id)
	default:
		return false
	}
}

func keyFault(op *Op, ancestors []*Op) error {
	if op.Root != nil && op.Root.Kind != codec.RootKeyDelivery {
		return nil
	}
	held := holdings(ancestors)
	if op.Root != nil {
		if k := (GroupKey{op.Root.GroupID, op.Root.KeyID}); !held[k][op.Signer] {
			return &Refusal{op.ID, UnknownKey, "the signer delivers key " + k.KeyID.String() + ", which it was never sent"}
		}
		return nil
	}
	sealedUnder := GroupKey{op.GroupID, op.KeyID}
	introduced := held[sealedUnder] != nil
	for _, r := range op.Rotations {
		if held[GroupKey{r.GroupID, r.NewKeyID}] != nil {
			return &Refusal{op.ID, UnknownKey, "the new key " + r.NewKeyID.String() + " is not new"}
		}
		if r.Previous.Valid && held[GroupKey{r.GroupID, r.Previous.V}] == nil {
			return &Refusal{op.ID, UnknownKey, "no ancestor introduces the previous key " + r.Previous.V.String()}
		}
		introduced = introduced || GroupKey{r.GroupID, r.NewKeyID} == sealedUnder
	}
	if !introduced {
		return &Refusal{op.ID, UnknownKey, "no ancestor introduces " + op.KeyID.String()}
	}
	return nil
}

// asError returns r as an error, which is nil where r is.
func asError(r *Refusal) error {
	if r == nil {
		return nil
	}
	return r
}
