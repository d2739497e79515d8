package group

import "github.com/stoadb/stoa/codec"

// Access says who may do an op: the admin identity always, and those named here.
type Access struct {
	Admins  bool               // whoever has role Admin
	Caps    codec.Capabilities // whoever has one of these
	Members bool               // every member
}

// who may do what, where the op's kind alone decides. Neither is ever written to.
var (
	groupAccess = [...]Access{
		codec.OpMemberAdded:            {Admins: true, Caps: codec.ManageMembers},
		codec.OpMemberRemoved:          {Admins: true, Caps: codec.ManageMembers},
		codec.OpMemberLeft:             {Admins: true, Members: true},
		codec.OpMemberRoleSet:          {Admins: true, Caps: codec.ManageMembers},
		codec.OpMemberCapabilitySet:    {Admins: true, Caps: codec.ManageCapabilities},
		codec.OpDefaultCapabilitiesSet: {Admins: true, Caps: codec.ManageCapabilities},
		codec.OpUpgradePolicySet:       {Admins: true, Caps: codec.ManageApplication},
		codec.OpTargetApplicationSet:   {Admins: true, Caps: codec.ManageApplication},
		codec.OpUpgradeStarted:         {Admins: true, Caps: codec.ManageApplication},
		codec.OpUpgradeProgressed:      {Admins: true, Caps: codec.ManageApplication},
		codec.OpUpgradeCompleted:       {Admins: true, Caps: codec.ManageApplication},
		codec.OpContextRegistered:      {Admins: true, Caps: codec.ManageContexts},
		codec.OpContextDetached:        {Admins: true, Caps: codec.ManageContexts},
		codec.OpContextMigrated:        {Admins: true, Caps: codec.ManageApplication},
		codec.OpMemberAliasSet:         {Admins: true, Caps: codec.ManageAliases},
		codec.OpGroupAliasSet:          {Admins: true, Caps: codec.ManageAliases},
		codec.OpContextAliasSet:        {Admins: true, Caps: codec.ManageAliases},
		codec.OpContextJoined:          {Admins: true, Members: true},
		codec.OpContextCapabilitySet:   {Admins: true, Caps: codec.ManageCapabilities},
		codec.OpMigrationSet:           {Admins: true, Caps: codec.ManageApplication},
		codec.OpAdminTransferred:       {},
		codec.OpKeyRotated:             {Admins: true, Members: true},
		codec.OpContextPlaced:          {Admins: true, Caps: codec.ManageContexts},
		codec.OpMembersRemoved:         {Admins: true, Caps: codec.ManageMembers},
	}
	rootAccess = [...]Access{
		codec.RootNamespaceCreated:  {},
		codec.RootGroupCreated:      {Admins: true, Caps: codec.ManageSubgroups},
		codec.RootGroupReparented:   {Admins: true, Caps: codec.ManageSubgroups},
		codec.RootGroupDeleted:      {Admins: true, Caps: codec.ManageSubgroups},
		codec.RootMemberJoined:      {Admins: true, Caps: codec.InviteMembers},
		codec.RootInvitationRevoked: {Admins: true, Caps: codec.InviteMembers | codec.ManageMembers},
		codec.RootKeyDelivery:       {Admins: true, Members: true},
		codec.RootMerge:             {Admins: true, Members: true},
		codec.RootKeyDelivered:      {Admins: true, Members: true},
		codec.RootAuthorityStated:   {Admins: true},
	}
)

// AccessTo returns who may do op in a group. Giving the role Admin needs an Admin;
// naming oneself needs a member.
func AccessTo(op *codec.GroupOp, signer codec.Identity) Access {
	switch {
	case op.Kind == codec.OpMemberAliasSet && op.Member == signer:
		return Access{Admins: true, Members: true}
	case gives(op, codec.Admin):
		return Access{Admins: true}
	}
	return groupAccess[op.Kind]
}

// gives reports whether op gives its member that role.
func gives(op *codec.GroupOp, role codec.GroupMemberRole) bool {
	return (op.Kind == codec.OpMemberAdded || op.Kind == codec.OpMemberRoleSet) && op.Role == role
}

// AccessToRoot returns who may do a root op; of MemberJoined, who may have invited.
func AccessToRoot(op *codec.RootOp) Access {
	if op.Kind == codec.RootMemberJoined && op.Invitation.Role == codec.Admin {
		return Access{Admins: true}
	}
	return rootAccess[op.Kind]
}

// need is what an op asks of a grant.
type need struct {
	group  codec.GroupID
	who    codec.Identity
	access Access
}

// needs returns what op asks for; all must be met. Hierarchy is the namespace's, so
// that nodes agree on the tree whatever group keys they have.
func needs(op *Op, namespace codec.GroupID) []need {
	if op.Root == nil {
		return []need{{op.Group, op.Signer, AccessTo(op.Body, op.Signer)}}
	}
	switch r := op.Root; r.Kind {
	case codec.RootMemberJoined:
		// The admitting member has to be one too: else someone removed could admit
		// others on an invitation that was left lying about.
		admitting := Access{Admins: true, Members: true}
		if r.Invitation.Role == codec.Admin {
			admitting.Members = false
		}
		g := r.Invitation.GroupID
		return []need{{g, r.Invitation.Inviter, AccessToRoot(r)}, {g, op.Signer, admitting}}
	case codec.RootInvitationRevoked, codec.RootKeyDelivery, codec.RootKeyDelivered, codec.RootAuthorityStated:
		return []need{{r.GroupID, op.Signer, AccessToRoot(r)}}
	default:
		return []need{{namespace, op.Signer, AccessToRoot(r)}}
	}
}
