package govwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromOp returns an op with what is known of it as it goes over the wire.
func FromOp(o *namespace.OpInfo) (m *stoav1.GovOp, err error) {
	m = &stoav1.GovOp{
		OpId: op.Bytes(o.ID), Parents: op.FromIDs(o.Parents), Signer: op.Bytes(o.Signer), Nonce: o.Nonce,
		GroupId: op.OptionalBytes(o.GroupID), KeyId: op.OptionalBytes(o.KeyID), Verdict: FromVerdict(o.Verdict), Op: o.Wire,
	}
	for _, r := range o.Rotations {
		m.Rotations = append(m.Rotations, &stoav1.GovRotation{
			GroupId: op.Bytes(r.GroupID), NewKeyId: op.Bytes(r.NewKeyID), PreviousKeyId: op.OptionalBytes(r.Previous.V),
			Recipients: op.FromIDs(r.Recipients),
		})
	}
	if o.Root != nil {
		m.RootOp, err = FromRootOp(o.Root)
	}
	if o.Body != nil {
		m.GroupOp = FromGroupOp(o.Body)
	}
	return m, err
}

// Op returns the op that came over the wire, as [namespace.Store.Op] has it but for its
// height, its number and what is signed.
func Op(m *stoav1.GovOp) (o namespace.OpInfo, err error) {
	o = namespace.OpInfo{Op: &namespace.Op{Nonce: m.GetNonce()}, Verdict: Verdict(m.GetVerdict()), Wire: m.GetOp()}
	if o.ID, err = op.ParseID[codec.OpID]("op_id", m.GetOpId()); err != nil {
		return o, err
	}
	if o.Parents, err = op.ParseIDs[codec.OpID]("parents", m.GetParents()); err != nil {
		return o, err
	}
	if o.Signer, err = op.ParseID[codec.Identity]("signer", m.GetSigner()); err != nil {
		return o, err
	}
	if o.GroupID, err = op.ParseOptional[codec.GroupID]("group_id", m.GetGroupId()); err != nil {
		return o, err
	}
	if o.KeyID, err = op.ParseOptional[codec.KeyID]("key_id", m.GetKeyId()); err != nil {
		return o, err
	}
	if o.Rotations, err = rotations(m.GetRotations()); err != nil {
		return o, err
	}
	if o.Root, o.Body, err = Content(m); err == nil && o.Root != nil && len(o.Wire) > 0 {
		err = travelled(&o)
	}
	return o, err
}

// travelled sets a root op to that of its bytes, which have all of it: the fields of a
// message leave out what envelopes hold.
func travelled(o *namespace.OpInfo) error {
	s, err := codec.SignedNamespaceOp{}.Decode(o.Wire)
	if err != nil || s.Op.Kind != codec.NamespaceRoot {
		return &op.FieldError{Field: "op", Reason: "not the bytes of the root op"}
	}
	o.Root = &s.Op.Root
	return nil
}

func rotations(list []*stoav1.GovRotation) (all []codec.RotationSkeleton, err error) {
	for _, m := range list {
		var r codec.RotationSkeleton
		if r.GroupID, err = op.ParseHash[codec.GroupID]("rotations.group_id", m.GetGroupId()); err != nil {
			return nil, err
		}
		if r.NewKeyID, err = op.ParseHash[codec.KeyID]("rotations.new_key_id", m.GetNewKeyId()); err != nil {
			return nil, err
		}
		if len(m.GetPreviousKeyId()) > 0 {
			r.Previous.Valid = true
			if r.Previous.V, err = op.ParseHash[codec.KeyID]("rotations.previous_key_id", m.GetPreviousKeyId()); err != nil {
				return nil, err
			}
		}
		if r.Recipients, err = op.ParseIDs[codec.Identity]("rotations.recipients", m.GetRecipients()); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// content is what an op does, in a message.
type content interface {
	GetRootOp() *stoav1.GovRootOp
	GetGroupOp() *stoav1.GovGroupOp
}

// Content returns what an op does; both are nil where that is not readable.
func Content(m content) (root *codec.RootOp, body *codec.GroupOp, err error) {
	if m.GetRootOp() != nil {
		r, err := RootOp("root_op", m.GetRootOp())
		return &r, nil, err
	}
	if m.GetGroupOp() != nil {
		g, err := GroupOp("group_op", m.GetGroupOp())
		return nil, &g, err
	}
	return nil, nil, nil
}

// FromEntry returns an entry of a log as it goes over the wire.
func FromEntry(e *namespace.Entry) *stoav1.GroupLogEntry {
	return &stoav1.GroupLogEntry{Seq: e.Seq, Op: &stoav1.GovOp{
		OpId: op.Bytes(e.ID), Parents: op.FromIDs(e.Op.Parents), Signer: op.Bytes(e.Op.Signer), Nonce: e.Op.Nonce,
		GroupId: op.Bytes(e.Op.GroupID), GroupOp: FromGroupOp(&e.Op.Op), Verdict: FromVerdict(e.Verdict),
	}}
}

// Entry returns the entry that came over the wire, without its signature.
func Entry(m *stoav1.GroupLogEntry) (e namespace.Entry, err error) {
	o, err := Op(m.GetOp())
	if err != nil {
		return e, err
	}
	e = namespace.Entry{Seq: m.GetSeq(), ID: o.ID, Verdict: o.Verdict,
		Op: codec.SignedGroupOp{GroupID: o.GroupID, Parents: o.Parents, Signer: o.Signer, Nonce: o.Nonce}}
	if o.Body == nil {
		return e, &op.FieldError{Field: "op.group_op", Reason: "not set"}
	}
	e.Op.Op = *o.Body
	return e, nil
}

// FromEvent returns an event as it goes over the wire.
func FromEvent(e *namespace.Event) *stoav1.GroupEvent {
	if e.Entry != nil {
		return &stoav1.GroupEvent{Event: &stoav1.GroupEvent_Entry{Entry: FromEntry(e.Entry)}}
	}
	return &stoav1.GroupEvent{Event: &stoav1.GroupEvent_Changed{Changed: FromChange(*e.Change)}}
}

// Event returns the event that came over the wire.
func Event(m *stoav1.GroupEvent) (e namespace.Event, err error) {
	if m.GetEntry() != nil {
		entry, err := Entry(m.GetEntry())
		return namespace.Event{Entry: &entry}, err
	}
	change, err := Change(m.GetChanged())
	return namespace.Event{Change: &change}, err
}
