package govwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What ops do. That one is of its kind is for its encoding to say.
var (
	_ = op.Tags[codec.GroupOp]("*", ",optional", "Kind", "kind")
	_ = op.Also(byKindOfGroupOp, needsRole)
	_ = op.Tags[codec.RootOp]("*", ",optional", "Kind", "kind", "Envelopes", "recipients")
	_ = op.Also(byKindOfRootOp, nil)
	_ = op.Pair(fromEnvelopes, envelopes)
	_ = op.Pair(func(*codec.Invitation) []byte { return nil }, invitation) // byKindOfRootOp encodes it
)

// byKindOfGroupOp sets what ops of some kinds have, although it be zero in Go.
func byKindOfGroupOp(m *stoav1.GovGroupOp, o *codec.GroupOp) error {
	switch o.Kind {
	case codec.OpMemberAdded, codec.OpMemberRoleSet:
		m.Role = stoav1.GovRole(o.Role) + 1
	case codec.OpUpgradePolicySet:
		m.UpgradePolicy = fromPolicy(&o.UpgradePolicy)
	}
	return nil
}

func needsRole(m *stoav1.GovGroupOp, o *codec.GroupOp) error {
	if m.GetRole() == 0 && (o.Kind == codec.OpMemberAdded || o.Kind == codec.OpMemberRoleSet) {
		return &op.FieldError{Field: "role", Reason: "no role 0"}
	}
	return nil
}

func byKindOfRootOp(m *stoav1.GovRootOp, o *codec.RootOp) (err error) {
	switch o.Kind {
	case codec.RootNamespaceCreated, codec.RootGroupCreated:
		m.UpgradePolicy = fromPolicy(&o.UpgradePolicy)
	case codec.RootMemberJoined:
		m.Invitation, err = o.Invitation.AppendBinary(nil)
	}
	return err
}

// fromEnvelopes returns for whom there are envelopes, which is all that messages say.
func fromEnvelopes(all *[]codec.KeyEnvelope) (list [][]byte) {
	for i := range *all {
		list = append(list, op.Bytes((*all)[i].Recipient))
	}
	return list
}

func envelopes(field string, list [][]byte) (all []codec.KeyEnvelope, err error) {
	ids, err := op.ParseIDs[codec.Identity](field, list)
	for _, id := range ids {
		all = append(all, codec.KeyEnvelope{Recipient: id})
	}
	return all, err
}

func invitation(field string, b []byte) (codec.Invitation, error) {
	v, err := (codec.Invitation{}).Decode(b)
	if err != nil {
		err = &op.FieldError{Field: field, Reason: err.Error()}
	}
	return v, err
}

// Ops as they are shown.
var (
	_ = op.Tags[namespace.OpInfo]("Body", "group_op", "Wire", "op", "Height", "-", "Seq", "-", "Op", "-")
	_ = op.Tags[namespace.Op]("ID", "op_id", "Root", "root_op", "GroupID", "group_id,optional", "KeyID", "key_id,optional",
		"Rotations", "rotations,optional", "Signed", "-", "Clear", "-", "KeyOp", "key_op,optional", "Keys", "keys,optional")
	_ = op.Tags[namespace.KeySkeleton]("KeyID", "key_id,hash")
	_ = op.Tags[codec.RotationSkeleton]("GroupID", "group_id,hash", "NewKeyID", "new_key_id,hash", "Previous", "previous_key_id,hash")
	_ = op.Also(nil, travelled)
	_ = op.Via(fromEntry, entry)
	_ = op.Tags[namespace.Event]("Change", "changed")
	_ = op.Tags[group.VerdictChange]("Op", "op_id,hash")
	_ = op.Tags[namespace.Voided]("ID", "op_id", "Root", "root_op", "Body", "group_op")
)

// travelled sets a root op to that of its bytes, which have all of it: the fields of a
// message leave out what envelopes hold.
func travelled(_ *stoav1.GovOp, o *namespace.OpInfo) error {
	if o.Root == nil || len(o.Wire) == 0 {
		return nil
	}
	s, err := codec.SignedNamespaceOp{}.Decode(o.Wire)
	if err != nil || s.Op.Kind != codec.NamespaceRoot {
		return &op.FieldError{Field: "op", Reason: "not the bytes of the root op"}
	}
	o.Root = &s.Op.Root
	return nil
}

// logged is an entry of a log as a message has it: without its signature.
type logged struct {
	Seq uint64
	Op  namespace.OpInfo
}

func fromEntry(e *namespace.Entry) logged {
	return logged{e.Seq, namespace.OpInfo{
		Op:   &namespace.Op{ID: e.ID, Parents: e.Op.Parents, Signer: e.Op.Signer, Nonce: e.Op.Nonce, GroupID: e.Op.GroupID},
		Body: &e.Op.Op, Verdict: e.Verdict,
	}}
}

func entry(l *logged) (e namespace.Entry, err error) {
	o := &l.Op
	if o.Body == nil {
		return e, &op.FieldError{Field: "op.group_op", Reason: "not set"}
	}
	return namespace.Entry{Seq: l.Seq, ID: o.ID, Verdict: o.Verdict,
		Op: codec.SignedGroupOp{GroupID: o.GroupID, Parents: o.Parents, Signer: o.Signer, Nonce: o.Nonce, Op: *o.Body}}, nil
}
