// Package govwire turns what packages group and namespace have into the messages of
// the services Namespace and Group and back, for both ends. Ids in fields are package
// dagwire's.
package govwire

import (
	"bytes"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What codec counts from 0 the protocol counts from 1, where 0 is not set.

// FromRole returns a role as it goes over the wire.
func FromRole(r codec.GroupMemberRole) stoav1.GovRole { return stoav1.GovRole(r) + 1 }

// Role returns the role in a field.
func Role(field string, r stoav1.GovRole) (codec.GroupMemberRole, error) {
	if r < stoav1.GovRole_GOV_ROLE_ADMIN || r > stoav1.GovRole_GOV_ROLE_READ_ONLY {
		return 0, &op.FieldError{Field: field, Reason: fmt.Sprintf("no role %d", r)}
	}
	return codec.GroupMemberRole(r - 1), nil
}

// FromPolicy returns a policy as it goes over the wire.
func FromPolicy(p codec.UpgradePolicy) stoav1.GovUpgradePolicy { return stoav1.GovUpgradePolicy(p) + 1 }

// Policy returns the policy in a field; one that is not set is codec.UpgradeAuto.
func Policy(field string, p stoav1.GovUpgradePolicy) (codec.UpgradePolicy, error) {
	if p < 0 || p > stoav1.GovUpgradePolicy_GOV_UPGRADE_POLICY_FROZEN {
		return 0, &op.FieldError{Field: field, Reason: fmt.Sprintf("no policy %d", p)}
	}
	return codec.UpgradePolicy(max(p, 1) - 1), nil
}

// FromGroupOp returns an op of a group as it goes over the wire.
func FromGroupOp(o *codec.GroupOp) *stoav1.GovGroupOp {
	m := &stoav1.GovGroupOp{
		Kind: stoav1.GovGroupOpKind(o.Kind) + 1, ContextId: op.OptionalBytes(o.ContextID), Member: op.OptionalBytes(o.Member),
		Capabilities: uint32(o.Capabilities), AppKey: op.OptionalBytes(o.AppKey),
		TargetApplicationId: op.OptionalBytes(o.TargetApplicationID),
		FromVersion:         o.FromVersion, ToVersion: o.ToVersion, Total: o.Total, Completed: o.Completed, Failed: o.Failed,
		Method: o.Method, Identity: op.OptionalBytes(o.Identity), At: o.At, Number: o.Number,
	}
	if o.Placement != (codec.Signature{}) {
		m.Placement = bytes.Clone(o.Placement[:])
	}
	switch o.Kind {
	case codec.OpMemberAdded, codec.OpMemberRoleSet:
		m.Role = FromRole(o.Role)
	case codec.OpUpgradePolicySet:
		m.UpgradePolicy = FromPolicy(o.UpgradePolicy)
	}
	if o.Migration.Valid {
		m.Migration = &o.Migration.V
	}
	if o.Name.Valid {
		name := string(o.Name.V)
		m.Name = &name
	}
	if o.Capability.Valid {
		mask := uint32(o.Capability.V)
		m.Capability = &mask
	}
	return m
}

// GroupOp returns the op of a group in a field. That it is one of its kind is for its
// encoding to say.
func GroupOp(field string, m *stoav1.GovGroupOp) (o codec.GroupOp, err error) {
	if k := m.GetKind(); k < 1 || k > stoav1.GovGroupOpKind_GOV_GROUP_OP_KIND_CONTEXT_PLACED {
		return o, &op.FieldError{Field: field + ".kind", Reason: fmt.Sprintf("no kind %d", k)}
	}
	o = codec.GroupOp{
		Kind: codec.GroupOpKind(m.GetKind() - 1), Capabilities: codec.Capabilities(m.GetCapabilities()),
		FromVersion: m.GetFromVersion(), ToVersion: m.GetToVersion(), Total: m.GetTotal(),
		Completed: m.GetCompleted(), Failed: m.GetFailed(), Method: m.GetMethod(), At: m.GetAt(), Number: m.GetNumber(),
	}
	switch n := len(m.GetPlacement()); n {
	case 0:
	case len(o.Placement):
		o.Placement = codec.Signature(m.GetPlacement())
	default:
		return o, &op.FieldError{Field: field + ".placement", Reason: fmt.Sprintf("%d bytes instead of %d", n, len(o.Placement))}
	}
	if m.GetRole() != 0 || o.Kind == codec.OpMemberAdded || o.Kind == codec.OpMemberRoleSet {
		if o.Role, err = Role(field+".role", m.GetRole()); err != nil {
			return o, err
		}
	}
	if o.UpgradePolicy, err = Policy(field+".upgrade_policy", m.GetUpgradePolicy()); err != nil {
		return o, err
	}
	if m.Migration != nil {
		o.Migration = codec.Some(m.GetMigration())
	}
	if m.Name != nil {
		o.Name = codec.Some(codec.AliasName(m.GetName()))
	}
	if m.Capability != nil {
		if m.GetCapability() > uint32(codec.AllCapabilities) {
			return o, &op.FieldError{Field: field + ".capability", Reason: fmt.Sprintf("no capabilities %#x", m.GetCapability())}
		}
		o.Capability = codec.Some(codec.ContextCapability(m.GetCapability()))
	}
	return o, groupOpIDs(field, m, &o)
}

// groupOpIDs is GroupOp for the ids.
func groupOpIDs(field string, m *stoav1.GovGroupOp, o *codec.GroupOp) (err error) {
	if o.ContextID, err = op.ParseOptional[codec.ContextID](field+".context_id", m.GetContextId()); err != nil {
		return err
	}
	if o.Member, err = op.ParseOptional[codec.Identity](field+".member", m.GetMember()); err != nil {
		return err
	}
	if o.AppKey, err = op.ParseOptional[codec.Hash](field+".app_key", m.GetAppKey()); err != nil {
		return err
	}
	if o.TargetApplicationID, err = op.ParseOptional[codec.ApplicationID](field+".target_application_id", m.GetTargetApplicationId()); err != nil {
		return err
	}
	o.Identity, err = op.ParseOptional[codec.Identity](field+".identity", m.GetIdentity())
	return err
}
