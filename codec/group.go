package codec

// GroupMetaValue describes a group: prefix 0x20.
type GroupMetaValue struct {
	AppKey              Hash
	TargetApplicationID ApplicationID
	UpgradePolicy       UpgradePolicy
	CreatedAt           uint64 // unix seconds, by its creator's clock
	AdminIdentity       Identity
	Migration           Option[string] // the method to run on upgrade
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupMetaValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupMetaValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupMetaValue) Decode(src []byte) (v GroupMetaValue, err error) {
	c := decoder("GroupMetaValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupMetaValue) run(c coder) (GroupMetaValue, coder) { v.layout(&c); return v, c }

func (v *GroupMetaValue) layout(c *coder) {
	id(c, "app_key", &v.AppKey)
	id(c, "target_application_id", &v.TargetApplicationID)
	c.enum("upgrade_policy", "UpgradePolicy", (*uint8)(&v.UpgradePolicy), upgradePolicies)
	c.u64("created_at", &v.CreatedAt)
	id(c, "admin_identity", &v.AdminIdentity)
	c.optionalString("migration", &v.Migration)
}

// GroupRefValue is the group of a context: prefix 0x23.
type GroupRefValue struct {
	GroupID GroupID
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupRefValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupRefValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupRefValue) Decode(src []byte) (v GroupRefValue, err error) {
	c := decoder("GroupRefValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupRefValue) run(c coder) (GroupRefValue, coder) { v.layout(&c); return v, c }

func (v *GroupRefValue) layout(c *coder) {
	id(c, "group_id", &v.GroupID)
}

// ParentRefValue is the parent of a group: prefix 0x36.
type ParentRefValue struct {
	ParentID GroupID
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ParentRefValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ParentRefValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ParentRefValue) Decode(src []byte) (v ParentRefValue, err error) {
	c := decoder("ParentRefValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ParentRefValue) run(c coder) (ParentRefValue, coder) { v.layout(&c); return v, c }

func (v *ParentRefValue) layout(c *coder) {
	id(c, "parent_id", &v.ParentID)
}

// GroupContextLastMigrationValue is the method that migrated a context last:
// prefix 0x2B.
type GroupContextLastMigrationValue struct {
	Method string
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v GroupContextLastMigrationValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("GroupContextLastMigrationValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (GroupContextLastMigrationValue) Decode(src []byte) (v GroupContextLastMigrationValue, err error) {
	c := decoder("GroupContextLastMigrationValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v GroupContextLastMigrationValue) run(c coder) (GroupContextLastMigrationValue, coder) {
	v.layout(&c)
	return v, c
}

func (v *GroupContextLastMigrationValue) layout(c *coder) {
	c.string("method", &v.Method)
}
