package govwire

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromRootOp returns a root op as it goes over the wire.
func FromRootOp(o *codec.RootOp) (*stoav1.GovRootOp, error) {
	m := &stoav1.GovRootOp{
		Kind: stoav1.GovRootOpKind(o.Kind) + 1, GroupId: op.OptionalBytes(o.GroupID), ParentId: op.OptionalBytes(o.ParentID),
		Creator: op.OptionalBytes(o.Creator), Salt: op.OptionalBytes(o.Salt), AppKey: op.OptionalBytes(o.AppKey),
		TargetApplicationId: op.OptionalBytes(o.TargetApplicationID), CreatedAt: o.CreatedAt,
		Member: op.OptionalBytes(o.Member), InvitationId: op.OptionalBytes(o.InvitationID), KeyId: op.OptionalBytes(o.KeyID),
	}
	switch o.Kind {
	case codec.RootNamespaceCreated, codec.RootGroupCreated:
		m.UpgradePolicy = FromPolicy(o.UpgradePolicy)
	case codec.RootMemberJoined:
		var err error
		if m.Invitation, err = o.Invitation.AppendBinary(nil); err != nil {
			return nil, err
		}
		m.JoinerSignature = o.JoinerSignature[:]
	}
	for i := range o.Envelopes {
		m.Recipients = append(m.Recipients, op.Bytes(o.Envelopes[i].Recipient))
	}
	return m, nil
}

// RootOp returns the root op in a field. The envelopes of a KeyDelivery are none but
// their recipients.
func RootOp(field string, m *stoav1.GovRootOp) (o codec.RootOp, err error) {
	if k := m.GetKind(); k < 1 || k > stoav1.GovRootOpKind_GOV_ROOT_OP_KIND_MERGE {
		return o, &op.FieldError{Field: field + ".kind", Reason: fmt.Sprintf("no kind %d", k)}
	}
	o = codec.RootOp{Kind: codec.RootOpKind(m.GetKind() - 1), CreatedAt: m.GetCreatedAt()}
	if o.UpgradePolicy, err = Policy(field+".upgrade_policy", m.GetUpgradePolicy()); err != nil {
		return o, err
	}
	if len(m.GetInvitation()) > 0 {
		if o.Invitation, err = (codec.Invitation{}).Decode(m.GetInvitation()); err != nil {
			return o, &op.FieldError{Field: field + ".invitation", Reason: err.Error()}
		}
	}
	if n := len(m.GetJoinerSignature()); n == len(o.JoinerSignature) {
		o.JoinerSignature = codec.Signature(m.GetJoinerSignature())
	} else if n > 0 {
		return o, &op.FieldError{Field: field + ".joiner_signature", Reason: fmt.Sprintf("%d bytes instead of %d", n, len(o.JoinerSignature))}
	}
	ids, err := op.ParseIDs[codec.Identity](field+".recipients", m.GetRecipients())
	for _, id := range ids {
		o.Envelopes = append(o.Envelopes, codec.KeyEnvelope{Recipient: id})
	}
	if err != nil {
		return o, err
	}
	return o, rootOpIDs(field, m, &o)
}

// rootOpIDs is RootOp for the ids.
func rootOpIDs(field string, m *stoav1.GovRootOp, o *codec.RootOp) (err error) {
	if o.GroupID, err = op.ParseOptional[codec.GroupID](field+".group_id", m.GetGroupId()); err != nil {
		return err
	}
	if o.ParentID, err = op.ParseOptional[codec.GroupID](field+".parent_id", m.GetParentId()); err != nil {
		return err
	}
	if o.Creator, err = op.ParseOptional[codec.Identity](field+".creator", m.GetCreator()); err != nil {
		return err
	}
	if o.Salt, err = op.ParseOptional[codec.Hash](field+".salt", m.GetSalt()); err != nil {
		return err
	}
	if o.AppKey, err = op.ParseOptional[codec.Hash](field+".app_key", m.GetAppKey()); err != nil {
		return err
	}
	if o.TargetApplicationID, err = op.ParseOptional[codec.ApplicationID](field+".target_application_id", m.GetTargetApplicationId()); err != nil {
		return err
	}
	if o.Member, err = op.ParseOptional[codec.Identity](field+".member", m.GetMember()); err != nil {
		return err
	}
	if o.InvitationID, err = op.ParseOptional[codec.Hash](field+".invitation_id", m.GetInvitationId()); err != nil {
		return err
	}
	o.KeyID, err = op.ParseOptional[codec.KeyID](field+".key_id", m.GetKeyId())
	return err
}
