package keys

// Tags of the Group column. A tag is never used again for something else: 0x27,
// 0x28, 0x2A and 0x34 are reserved.
const (
	tagGroupMeta                 = 0x20
	tagGroupMember               = 0x21
	tagGroupContextIndex         = 0x22
	tagContextGroupRef           = 0x23
	tagGroupUpgradeKey           = 0x24
	tagGroupSigningKey           = 0x25
	tagGroupMemberCapability     = 0x26
	tagGroupDefaultCaps          = 0x29
	tagGroupContextLastMigration = 0x2B
	tagGroupLocalGovNonce        = 0x2C
	tagGroupMemberAlias          = 0x2D
	tagGroupAlias                = 0x2E
	tagGroupContextAlias         = 0x2F
	tagGroupOpLog                = 0x30
	tagGroupOpHead               = 0x31
	tagGroupMemberContext        = 0x32
	tagGroupContextMemberCap     = 0x33
	tagGroupChildIndex           = 0x35
	tagGroupParentRef            = 0x36
	tagNamespaceIdentity         = 0x37
	tagNamespaceGovOp            = 0x38
	tagNamespaceGovHead          = 0x39
	tagGroupKeyEntry             = 0x3A
)
