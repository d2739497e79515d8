package codec

// UpgradePolicy says how a group moves to a new version of its application.
type UpgradePolicy uint8

// The policies.
const (
	UpgradeAuto UpgradePolicy = iota
	UpgradeManual
	UpgradeFrozen
)

var upgradePolicies = []string{"auto", "manual", "frozen"}

// String returns "auto", "manual", "frozen", or "UpgradePolicy(n)".
func (v UpgradePolicy) String() string {
	return enumName("UpgradePolicy", uint8(v), upgradePolicies)
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v UpgradePolicy) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("UpgradePolicy", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (UpgradePolicy) Decode(src []byte) (v UpgradePolicy, err error) {
	c := decoder("UpgradePolicy", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v UpgradePolicy) run(c coder) (UpgradePolicy, coder) { v.layout(&c); return v, c }

func (v *UpgradePolicy) layout(c *coder) {
	c.enum("upgrade_policy", "UpgradePolicy", (*uint8)(v), upgradePolicies)
}

// GroupUpgradeValue is the latest upgrade of a group: prefix 0x24.
type GroupUpgradeValue struct {
	FromVersion uint64
	ToVersion   uint64
	Migration   Option[string]
	InitiatedAt uint64 // unix seconds, by its initiator's clock
	InitiatedBy Identity
	Status      GroupUpgradeStatus
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupUpgradeValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupUpgradeValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupUpgradeValue) Decode(src []byte) (v GroupUpgradeValue, err error) {
	c := decoder("GroupUpgradeValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupUpgradeValue) run(c coder) (GroupUpgradeValue, coder) { v.layout(&c); return v, c }

func (v *GroupUpgradeValue) layout(c *coder) {
	c.u64("from_version", &v.FromVersion)
	c.u64("to_version", &v.ToVersion)
	c.optionalString("migration", &v.Migration)
	c.u64("initiated_at", &v.InitiatedAt)
	id(c, "initiated_by", &v.InitiatedBy)
	c.begin("status", "GroupUpgradeStatus")
	v.Status.layout(c)
	c.end()
}

// UpgradePhase says which fields of a [GroupUpgradeStatus] count.
type UpgradePhase uint8

// The phases.
const (
	UpgradeInProgress UpgradePhase = iota
	UpgradeCompleted
)

var upgradePhases = []string{"in_progress", "completed"}

// String returns "in_progress", "completed", or "UpgradePhase(n)".
func (p UpgradePhase) String() string { return enumName("UpgradePhase", uint8(p), upgradePhases) }

// GroupUpgradeStatus says how far an upgrade is.
type GroupUpgradeStatus struct {
	Phase       UpgradePhase
	Total       uint64 // UpgradeInProgress: contexts to upgrade
	Completed   uint64 // UpgradeInProgress: of them done
	Failed      uint64 // UpgradeInProgress: of them failed
	CompletedAt uint64 // UpgradeCompleted: unix seconds
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupUpgradeStatus) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupUpgradeStatus", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupUpgradeStatus) Decode(src []byte) (v GroupUpgradeStatus, err error) {
	c := decoder("GroupUpgradeStatus", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupUpgradeStatus) run(c coder) (GroupUpgradeStatus, coder) { v.layout(&c); return v, c }

func (v *GroupUpgradeStatus) layout(c *coder) {
	c.variant((*uint8)(&v.Phase), upgradePhases)
	if v.Phase == UpgradeInProgress {
		c.u64("total", &v.Total)
		c.u64("completed", &v.Completed)
		c.u64("failed", &v.Failed)
		c.absent("completed_at", v.CompletedAt == 0)
	} else {
		c.absent("total", v.Total == 0)
		c.absent("completed", v.Completed == 0)
		c.absent("failed", v.Failed == 0)
		c.u64("completed_at", &v.CompletedAt)
	}
	c.end()
}
