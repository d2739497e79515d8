package codec

// RootOpKind says what a [RootOp] does. A number is never used again for
// something else.
type RootOpKind uint8

// The kinds of root op.
const (
	RootNamespaceCreated  RootOpKind = iota // GroupID begins as a root group
	RootGroupCreated                        // GroupID begins below ParentID
	RootGroupReparented                     // GroupID moves below ParentID
	RootGroupDeleted                        // GroupID ends, and all below it
	RootMemberJoined                        // Member joins by Invitation
	RootInvitationRevoked                   // InvitationID of GroupID admits nobody any more
	RootKeyDelivery                         // KeyID of GroupID for those who lack it; of version 1
	RootMerge                               // nothing: it joins heads
	RootKeyDelivered                        // the key of GroupID that KeyOp introduces, for those who lack it; of version 2
	RootAuthorityStated                     // AdminIdentity and Members take the place of what version 1 has given in GroupID; of version 2
)

var rootOps = []string{"namespace_created", "group_created", "group_reparented", "group_deleted", "member_joined",
	"invitation_revoked", "key_delivery", "merge", "key_delivered", "authority_stated"}

// String returns "namespace_created", …, or "RootOpKind(n)".
func (k RootOpKind) String() string { return enumName("RootOpKind", uint8(k), rootOps) }

// The fields that a root op may have, one bit each, in stored order.
const (
	rootGroup uint32 = 1 << iota
	rootParent
	rootBeginning // of a group: creator to created_at
	rootJoin      // invitation, member, joiner_signature
	rootInvitation
	rootKey
	rootKeyOp
	rootEnvelopes
	rootStatement // admin_identity to default_capabilities
)

// rootOpFields are the fields of each kind of root op. It is never written to.
var rootOpFields = []uint32{
	RootNamespaceCreated:  rootGroup | rootBeginning,
	RootGroupCreated:      rootGroup | rootParent | rootBeginning,
	RootGroupReparented:   rootGroup | rootParent,
	RootGroupDeleted:      rootGroup,
	RootMemberJoined:      rootJoin,
	RootInvitationRevoked: rootGroup | rootInvitation,
	RootKeyDelivery:       rootGroup | rootKey | rootEnvelopes,
	RootMerge:             0,
	RootKeyDelivered:      rootGroup | rootKeyOp | rootEnvelopes,
	RootAuthorityStated:   rootGroup | rootStatement,
}

// RootOp is an op that is clear to all members of a namespace. Which fields count
// depends on the kind; the others are zero, or there is no stored form.
type RootOp struct {
	Kind     RootOpKind
	GroupID  GroupID // of NamespaceCreated the namespace's
	ParentID GroupID

	Creator             Identity
	Salt                Hash
	AppKey              Hash
	TargetApplicationID ApplicationID
	UpgradePolicy       UpgradePolicy
	CreatedAt           uint64 // unix seconds, its author's words

	Invitation      Invitation
	Member          Identity
	JoinerSignature Signature // the member's, over "stoa.join.v1", the invitation and the member

	InvitationID Hash

	KeyID     KeyID
	KeyOp     OpID
	Envelopes []KeyEnvelope // sorted by recipient

	AdminIdentity Identity       // zeros: not stated
	Members       []StatedMember // those above before those below, the admin identity not among them
	Defaults      Capabilities   // with which new members begin
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v RootOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("RootOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (RootOp) Decode(src []byte) (v RootOp, err error) {
	c := decoder("RootOp", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v RootOp) run(c coder) (RootOp, coder) { v.layout(&c); return v, c }

func (v *RootOp) layout(c *coder) {
	c.variant((*uint8)(&v.Kind), rootOps)
	has := rootOpFields[v.Kind]
	if c.holds(has, rootGroup, "group_id", v.GroupID.IsZero()) {
		id(c, "group_id", &v.GroupID)
	}
	if c.holds(has, rootParent, "parent_id", v.ParentID.IsZero()) {
		id(c, "parent_id", &v.ParentID)
	}
	if c.holds(has, rootBeginning, "creator", v.unbegun()) {
		id(c, "creator", &v.Creator)
		id(c, "salt", &v.Salt)
		id(c, "app_key", &v.AppKey)
		id(c, "target_application_id", &v.TargetApplicationID)
		c.enum("upgrade_policy", "UpgradePolicy", (*uint8)(&v.UpgradePolicy), upgradePolicies)
		c.u64("created_at", &v.CreatedAt)
	}
	if c.holds(has, rootJoin, "invitation", v.Invitation == Invitation{} && v.Member.IsZero() && v.JoinerSignature.IsZero()) {
		c.begin("invitation", "Invitation")
		v.Invitation.layout(c)
		c.end()
		id(c, "member", &v.Member)
		c.signature("joiner_signature", &v.JoinerSignature)
	}
	if c.holds(has, rootInvitation, "invitation_id", v.InvitationID.IsZero()) {
		id(c, "invitation_id", &v.InvitationID)
	}
	if c.holds(has, rootKey, "key_id", v.KeyID.IsZero()) {
		id(c, "key_id", &v.KeyID)
	}
	if c.holds(has, rootKeyOp, "key_op", v.KeyOp.IsZero()) {
		id(c, "key_op", &v.KeyOp)
	}
	if c.holds(has, rootEnvelopes, "envelopes", len(v.Envelopes) == 0) {
		c.envelopes("envelopes", &v.Envelopes)
	}
	if c.holds(has, rootStatement, "admin_identity", v.unstated()) {
		id(c, "admin_identity", &v.AdminIdentity)
		var spare StatedMember
		for i := range list(c, "members", "StatedMember", &v.Members, leastStatedMember) {
			c.item("members", i)
			at(v.Members, i, &spare).layout(c)
			c.end()
		}
		c.listEnd()
		c.mask("default_capabilities", (*uint32)(&v.Defaults), AllCapabilities)
	}
	c.end()
}

func (v *RootOp) unbegun() bool {
	return v.Creator.IsZero() && v.Salt.IsZero() && v.AppKey.IsZero() && v.TargetApplicationID.IsZero() &&
		v.UpgradePolicy == 0 && v.CreatedAt == 0
}

func (v *RootOp) unstated() bool {
	return v.AdminIdentity.IsZero() && len(v.Members) == 0 && v.Defaults == 0
}
