package codec

// GroupOpKind says what a [GroupOp] does. A number is never used again for
// something else.
type GroupOpKind uint8

// The kinds of group op.
const (
	OpMemberAdded            GroupOpKind = iota // Member becomes one, with Role
	OpMemberRemoved                             // Member is none any more; of the namespace: in all its groups
	OpMemberLeft                                // the signer is none any more
	OpMemberRoleSet                             // Member has Role
	OpMemberCapabilitySet                       // Member has exactly Capabilities
	OpDefaultCapabilitiesSet                    // new members begin with Capabilities
	OpUpgradePolicySet                          // UpgradePolicy
	OpTargetApplicationSet                      // AppKey and TargetApplicationID
	OpUpgradeStarted                            // FromVersion, ToVersion, Total, Migration, At
	OpUpgradeProgressed                         // Completed and Failed
	OpUpgradeCompleted                          // At
	OpContextRegistered                         // ContextID belongs to the group
	OpContextDetached                           // ContextID does not any more
	OpContextMigrated                           // ContextID was migrated by Method
	OpMemberAliasSet                            // Member is called Name
	OpGroupAliasSet                             // the group is called Name
	OpContextAliasSet                           // ContextID is called Name
	OpContextJoined                             // the signer is Identity in ContextID
	OpContextCapabilitySet                      // Capability replaces those of Member in ContextID
	OpMigrationSet                              // Migration is run on upgrade
	OpAdminTransferred                          // Member is the admin identity
	OpKeyRotated                                // nothing: its carrier brings a key
	OpContextPlaced                             // ContextID belongs to the group, as the context's own key says: Number, Placement
	OpMembersRemoved                            // Members are none any more; of the namespace: in all its groups
)

var groupOps = []string{"member_added", "member_removed", "member_left", "member_role_set", "member_capability_set",
	"default_capabilities_set", "upgrade_policy_set", "target_application_set", "upgrade_started", "upgrade_progressed",
	"upgrade_completed", "context_registered", "context_detached", "context_migrated", "member_alias_set",
	"group_alias_set", "context_alias_set", "context_joined", "context_capability_set", "migration_set", "admin_transferred", "key_rotated",
	"context_placed", "members_removed"}

// String returns "member_added", …, or "GroupOpKind(n)".
func (k GroupOpKind) String() string { return enumName("GroupOpKind", uint8(k), groupOps) }

// The fields that a group op may have, one bit each, in stored order.
const (
	opContext uint32 = 1 << iota
	opMember
	opRole
	opCapabilities
	opPolicy
	opAppKey
	opTarget
	opVersions
	opTotal
	opProgress
	opMigration
	opMethod
	opName
	opIdentity
	opCapability
	opAt
	opPlacement
	opMembers
)

// groupOpFields are the fields of each kind of group op. It is never written to.
var groupOpFields = []uint32{
	OpMemberAdded:            opMember | opRole,
	OpMemberRemoved:          opMember,
	OpMemberLeft:             0,
	OpMemberRoleSet:          opMember | opRole,
	OpMemberCapabilitySet:    opMember | opCapabilities,
	OpDefaultCapabilitiesSet: opCapabilities,
	OpUpgradePolicySet:       opPolicy,
	OpTargetApplicationSet:   opAppKey | opTarget,
	OpUpgradeStarted:         opVersions | opTotal | opMigration | opAt,
	OpUpgradeProgressed:      opProgress,
	OpUpgradeCompleted:       opAt,
	OpContextRegistered:      opContext,
	OpContextDetached:        opContext,
	OpContextMigrated:        opContext | opMethod,
	OpMemberAliasSet:         opMember | opName,
	OpGroupAliasSet:          opName,
	OpContextAliasSet:        opContext | opName,
	OpContextJoined:          opContext | opIdentity,
	OpContextCapabilitySet:   opContext | opMember | opCapability,
	OpMigrationSet:           opMigration,
	OpAdminTransferred:       opMember,
	OpKeyRotated:             0,
	OpContextPlaced:          opContext | opPlacement,
	OpMembersRemoved:         opMembers,
}

// GroupOp is what a signed op does to a group. Which fields count depends on the
// kind; the others are zero, or there is no stored form.
type GroupOp struct {
	Kind                GroupOpKind
	ContextID           ContextID
	Member              Identity
	Role                GroupMemberRole
	Capabilities        Capabilities
	UpgradePolicy       UpgradePolicy
	AppKey              Hash
	TargetApplicationID ApplicationID
	FromVersion         uint64
	ToVersion           uint64
	Total               uint64 // contexts to upgrade
	Completed           uint64 // of them
	Failed              uint64 // of them
	Migration           Option[string]
	Method              string
	Name                Option[AliasName] // none takes the name away
	Identity            Identity
	Capability          Option[ContextCapability] // none takes the mask away
	At                  uint64                    // unix seconds, its author's words
	Number              uint64                    // of what a context's key has signed the greatest counts; never 0
	Placement           Signature                 // by the context's key, over namespace, group, context and number
	Members             []Identity                // sorted
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupOp) Decode(src []byte) (v GroupOp, err error) {
	c := decoder("GroupOp", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupOp) run(c coder) (GroupOp, coder) { v.layout(&c); return v, c }

func (v *GroupOp) layout(c *coder) {
	c.variant((*uint8)(&v.Kind), groupOps)
	has := groupOpFields[v.Kind]
	if c.holds(has, opContext, "context_id", v.ContextID.IsZero()) {
		id(c, "context_id", &v.ContextID)
	}
	if c.holds(has, opMember, "member", v.Member.IsZero()) {
		id(c, "member", &v.Member)
	}
	if c.holds(has, opRole, "role", v.Role == 0) {
		c.enum("role", "GroupMemberRole", (*uint8)(&v.Role), memberRoles)
	}
	if c.holds(has, opCapabilities, "capabilities", v.Capabilities == 0) {
		c.mask("capabilities", (*uint32)(&v.Capabilities), AllCapabilities)
	}
	if c.holds(has, opPolicy, "upgrade_policy", v.UpgradePolicy == 0) {
		c.enum("upgrade_policy", "UpgradePolicy", (*uint8)(&v.UpgradePolicy), upgradePolicies)
	}
	if c.holds(has, opAppKey, "app_key", v.AppKey.IsZero()) {
		id(c, "app_key", &v.AppKey)
	}
	if c.holds(has, opTarget, "target_application_id", v.TargetApplicationID.IsZero()) {
		id(c, "target_application_id", &v.TargetApplicationID)
	}
	if c.holds(has, opVersions, "from_version", v.FromVersion == 0 && v.ToVersion == 0) {
		c.u64("from_version", &v.FromVersion)
		c.u64("to_version", &v.ToVersion)
	}
	if c.holds(has, opTotal, "total", v.Total == 0) {
		c.u64("total", &v.Total)
	}
	if c.holds(has, opProgress, "completed", v.Completed == 0 && v.Failed == 0) {
		c.u64("completed", &v.Completed)
		c.u64("failed", &v.Failed)
	}
	v.layoutText(c, has)
}

// layoutText is the rest of layout.
func (v *GroupOp) layoutText(c *coder, has uint32) {
	if c.holds(has, opMigration, "migration", !v.Migration.Valid) {
		c.optionalString("migration", &v.Migration)
	}
	if c.holds(has, opMethod, "method", v.Method == "") {
		c.string("method", &v.Method)
	}
	if c.holds(has, opName, "name", !v.Name.Valid) {
		c.optionalAlias("name", &v.Name)
	}
	if c.holds(has, opIdentity, "identity", v.Identity.IsZero()) {
		id(c, "identity", &v.Identity)
	}
	if c.holds(has, opCapability, "capability", !v.Capability.Valid) {
		c.optionalMask("capability", &v.Capability)
	}
	if c.holds(has, opAt, "at", v.At == 0) {
		c.u64("at", &v.At)
	}
	if c.holds(has, opPlacement, "placement", v.Number == 0 && v.Placement == Signature{}) {
		c.u64("number", &v.Number)
		c.signature("placement", &v.Placement)
	}
	if c.holds(has, opMembers, "members", len(v.Members) == 0) {
		ids(c, "members", &v.Members)
	}
	c.end()
}

// SignedGroupOp is a group op with its signature: the values of prefix 0x30, and
// what a [NamespaceOp] of a group seals.
type SignedGroupOp struct {
	GroupID   GroupID
	Parents   []OpID // those of its carrier
	Signer    Identity
	Nonce     uint64
	Op        GroupOp
	Signature Signature // over "stoa.group.v1" and the bytes before
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v SignedGroupOp) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("SignedGroupOp", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (SignedGroupOp) Decode(src []byte) (v SignedGroupOp, err error) {
	c := decoder("SignedGroupOp", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v SignedGroupOp) run(c coder) (SignedGroupOp, coder) { v.layout(&c); return v, c }

func (v *SignedGroupOp) layout(c *coder) {
	c.version("version", 1)
	id(c, "group_id", &v.GroupID)
	ids(c, "parents", &v.Parents)
	id(c, "signer", &v.Signer)
	c.u64("nonce", &v.Nonce)
	c.begin("op", "GroupOp")
	v.Op.layout(c)
	c.end()
	c.signature("signature", &v.Signature)
}
