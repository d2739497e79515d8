package namespace

import (
	"maps"
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
	last, known, isStated, began := uint64(0), false, false, codec.OpVersion2
	for _, a := range ancestors {
		isStated = isStated || states(a)
		began = min(began, a.Version)
		if a.Signer == op.Signer {
			last = max(last, a.Nonce)
		}
		known = known || introduces(a, op.Signer)
	}
	if op.Version != began && !states(op) && (op.Version == codec.OpVersion1 || !isStated) || op.Version == codec.OpVersion1 && isStated {
		return &Refusal{op.ID, BadForm, "of another version than the namespace"}
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

// states reports whether op says what stands in groups, after which ops are of version 2.
func states(op *Op) bool { return op.Root != nil && op.Root.Kind == codec.RootAuthorityStated }

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
			codec.RootKeyDelivered:      {r.GroupID},
			codec.RootAuthorityStated:   {r.GroupID},
		}[r.Kind]
	} else {
		about = append(about, op.GroupID)
	}
	for _, r := range op.Rotations {
		about = append(about, r.GroupID)
	}
	for _, k := range op.Keys {
		about = append(about, k.GroupID)
	}
	for _, g := range about {
		if !created[g] {
			return &Refusal{op.ID, UnknownGroup, "no ancestor creates group " + g.String()}
		}
	}
	return nil
}

// introduces reports whether a is clear about id being someone: it created the
// namespace, joined, was given something in clear, or was sent a key by an op of version 1.
func introduces(a *Op, id codec.Identity) bool {
	if a.Clear != nil {
		return names(a.Clear) && a.Clear.Member == id
	}
	if a.Root == nil {
		return slices.ContainsFunc(a.Rotations, func(r codec.RotationSkeleton) bool { return slices.Contains(r.Recipients, id) })
	}
	switch a.Root.Kind {
	case codec.RootNamespaceCreated:
		return a.Signer == id
	case codec.RootMemberJoined:
		return a.Root.Member == id
	case codec.RootAuthorityStated:
		return a.Root.AdminIdentity == id || slices.ContainsFunc(a.Root.Members, func(m codec.StatedMember) bool { return m.Member == id })
	case codec.RootKeyDelivery:
		return slices.Contains(recipients(a.Root.Envelopes), id)
	default:
		return false
	}
}

func keyFault(op *Op, ancestors []*Op) error {
	if op.Version == codec.OpVersion2 {
		return nameFault(op, ancestors)
	}
	if op.Root != nil && op.Root.Kind != codec.RootKeyDelivery {
		return nil
	}
	held := map[GroupKey]map[codec.Identity]bool{} // by what is clear of it
	give := func(k GroupKey, ids ...codec.Identity) {
		if held[k] == nil {
			held[k] = map[codec.Identity]bool{}
		}
		for _, id := range ids {
			held[k][id] = true
		}
	}
	for _, a := range ancestors {
		for _, r := range a.Rotations {
			give(GroupKey{r.GroupID, r.NewKeyID}, append([]codec.Identity{a.Signer}, r.Recipients...)...)
		}
		if r := a.Root; r != nil && r.Kind == codec.RootKeyDelivery {
			give(GroupKey{r.GroupID, r.KeyID}, recipients(r.Envelopes)...)
		}
	}
	for range ancestors { // a chain is no longer
		for _, a := range ancestors {
			for _, r := range a.Rotations {
				if r.Previous.Valid {
					give(GroupKey{r.GroupID, r.Previous.V}, slices.Collect(maps.Keys(held[GroupKey{r.GroupID, r.NewKeyID}]))...)
				}
			}
		}
	}
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

// nameFault asks of every key that op names whether an ancestor introduces it.
func nameFault(op *Op, ancestors []*Op) error {
	introduced := map[KeyName]bool{}
	for _, a := range ancestors {
		for _, k := range a.Keys {
			introduced[KeyName{k.GroupID, a.ID}] = true
		}
	}
	var named []KeyName
	if op.sealed() {
		named = append(named, KeyName{op.GroupID, op.KeyOp})
	}
	if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivered {
		named = append(named, KeyName{r.GroupID, r.KeyOp})
	}
	for _, k := range op.Keys {
		for _, earlier := range k.Carried {
			named = append(named, KeyName{k.GroupID, earlier})
		}
	}
	for _, name := range named {
		if !introduced[name] {
			return &Refusal{op.ID, UnknownKey, "no ancestor introduces the key of op " + name.Op.String()}
		}
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
