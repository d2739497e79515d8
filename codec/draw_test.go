package codec

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// draw returns a random value that has a stored form, as decoding would return
// it: empty slices are nil, fields that do not count are zero.
func draw[V any](t *rapid.T) V {
	var v V
	drawInto(t, reflect.ValueOf(&v).Elem())
	return v
}

func drawInto(t *rapid.T, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *NodeID:
		*p = NodeID{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64Min(1).Draw(t, "lo")}
	case *AliasName:
		*p = AliasName(rapid.StringOfN(rapid.RuneFrom([]rune("az é€😀")), 1, 12, MaxAlias).Draw(t, "name"))
	case *Capabilities:
		*p = Capabilities(rapid.Uint32Max(uint32(AllCapabilities)).Draw(t, "caps"))
	case *ContextCapability:
		*p = ContextCapability(rapid.Uint8Max(uint8(AllCapabilities)).Draw(t, "cap"))
	case *GroupMemberRole:
		*p = GroupMemberRole(rapid.Uint8Max(uint8(ReadOnly)).Draw(t, "role"))
	case *UpgradePolicy:
		*p = UpgradePolicy(rapid.Uint8Max(uint8(UpgradeFrozen)).Draw(t, "policy"))
	case *Action:
		*p = Delete(drawBytes(t))
		if rapid.Bool().Draw(t, "put") {
			*p = Put(drawBytes(t), drawBytes(t))
		}
	case *GroupUpgradeStatus:
		n := rapid.Uint64()
		*p = GroupUpgradeStatus{Phase: UpgradeCompleted, CompletedAt: n.Draw(t, "at")}
		if rapid.Bool().Draw(t, "in progress") {
			*p = GroupUpgradeStatus{Total: n.Draw(t, "total"), Completed: n.Draw(t, "completed"), Failed: n.Draw(t, "failed")}
		}
	case *GroupOp:
		drawKind(t, v)
		p.Kind %= GroupOpKind(len(groupOps))
		fitGroupOp(p)
	case *RootOp:
		drawKind(t, v)
		p.Kind %= RootOpKind(len(rootOps))
		fitRootOp(p)
	case *NamespaceOp:
		drawKind(t, v)
		p.Kind %= NamespaceOpKind(len(namespaceOps))
		fitNamespaceOp(p)
	case *OpVersion:
		*p = OpVersion(rapid.Uint8Max(uint8(OpVersion2)).Draw(t, "version"))
	case *StoredNamespaceOp:
		drawKind(t, v)
		all := *p
		switch all.Kind %= StoredOpKind(len(storedOps)); all.Kind {
		case StoredSigned:
			*p = StoredNamespaceOp{Kind: all.Kind, Signed: all.Signed}
		case StoredOpaque:
			*p = StoredNamespaceOp{Kind: all.Kind, Opaque: all.Opaque}
		default:
			*p = StoredNamespaceOp{Kind: all.Kind, Forgotten: all.Forgotten}
		}
	case *Option[PreviousKey]:
		drawOption(t, p)
	case *Option[KeyID]:
		drawOption(t, p)
	case *Option[Identity]:
		drawOption(t, p)
	case *Option[AliasName]:
		drawOption(t, p)
	case *Option[ContextCapability]:
		drawOption(t, p)
	case *Option[Secret]:
		drawOption(t, p)
	case *Option[string]:
		if p.Valid = rapid.Bool().Draw(t, "valid"); p.Valid {
			p.V = rapid.String().Draw(t, "string")
		}
	default:
		drawKind(t, v)
	}
}

func drawOption[V any](t *rapid.T, p *Option[V]) {
	if p.Valid = rapid.Bool().Draw(t, "valid"); p.Valid {
		drawInto(t, reflect.ValueOf(&p.V).Elem())
	}
}

// fitGroupOp zeroes what the kind of the op does not have.
func fitGroupOp(p *GroupOp) {
	all := *p
	*p = GroupOp{Kind: all.Kind}
	for f, keep := range map[uint32]func(){
		opContext:      func() { p.ContextID = all.ContextID },
		opMember:       func() { p.Member = all.Member },
		opRole:         func() { p.Role = all.Role },
		opCapabilities: func() { p.Capabilities = all.Capabilities },
		opPolicy:       func() { p.UpgradePolicy = all.UpgradePolicy },
		opAppKey:       func() { p.AppKey = all.AppKey },
		opTarget:       func() { p.TargetApplicationID = all.TargetApplicationID },
		opVersions:     func() { p.FromVersion, p.ToVersion = all.FromVersion, all.ToVersion },
		opTotal:        func() { p.Total = all.Total },
		opProgress:     func() { p.Completed, p.Failed = all.Completed, all.Failed },
		opMigration:    func() { p.Migration = all.Migration },
		opMethod:       func() { p.Method = all.Method },
		opName:         func() { p.Name = all.Name },
		opIdentity:     func() { p.Identity = all.Identity },
		opCapability:   func() { p.Capability = all.Capability },
		opAt:           func() { p.At = all.At },
		opPlacement:    func() { p.Number, p.Placement = all.Number, all.Placement },
		opMembers:      func() { p.Members = all.Members },
	} {
		if groupOpFields[p.Kind]&f != 0 {
			keep()
		}
	}
}

// fitRootOp zeroes what the kind of the op does not have.
func fitRootOp(p *RootOp) {
	all := *p
	*p = RootOp{Kind: all.Kind}
	for f, keep := range map[uint32]func(){
		rootGroup:  func() { p.GroupID = all.GroupID },
		rootParent: func() { p.ParentID = all.ParentID },
		rootBeginning: func() {
			p.Creator, p.Salt, p.AppKey = all.Creator, all.Salt, all.AppKey
			p.TargetApplicationID, p.UpgradePolicy, p.CreatedAt = all.TargetApplicationID, all.UpgradePolicy, all.CreatedAt
		},
		rootJoin:       func() { p.Invitation, p.Member, p.JoinerSignature = all.Invitation, all.Member, all.JoinerSignature },
		rootInvitation: func() { p.InvitationID = all.InvitationID },
		rootKey:        func() { p.KeyID = all.KeyID },
		rootKeyOp:      func() { p.KeyOp = all.KeyOp },
		rootEnvelopes:  func() { p.Envelopes = all.Envelopes },
		rootStatement:  func() { p.AdminIdentity, p.Members, p.Defaults = all.AdminIdentity, all.Members, all.Defaults },
	} {
		if rootOpFields[p.Kind]&f != 0 {
			keep()
		}
	}
}

// fitNamespaceOp zeroes what the kind of the op does not have.
func fitNamespaceOp(p *NamespaceOp) {
	all := *p
	*p = NamespaceOp{Kind: all.Kind}
	for f, keep := range map[uint32]func(){
		carriedRoot:      func() { p.Root = all.Root },
		carriedGroup:     func() { p.GroupID = all.GroupID },
		carriedKeyID:     func() { p.KeyID = all.KeyID },
		carriedKeyOp:     func() { p.KeyOp = all.KeyOp },
		carriedSealed:    func() { p.Sealed = all.Sealed },
		carriedRotations: func() { p.Rotations = all.Rotations },
		carriedOp:        func() { p.Op, p.OpSignature = all.Op, all.OpSignature },
		carriedKeys:      func() { p.Keys = all.Keys },
	} {
		if namespaceOpFields[p.Kind]&f != 0 {
			keep()
		}
	}
}

func drawKind(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			drawInto(t, v.Field(i))
		}
	case reflect.Array:
		b := rapid.SliceOfN(rapid.Byte(), v.Len(), v.Len()).Draw(t, "id")
		reflect.Copy(v, reflect.ValueOf(b))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(drawBytes(t))
			return
		}
		if n := rapid.IntRange(0, 4).Draw(t, "count"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				drawInto(t, v.Index(i))
			}
		}
	case reflect.Uint64, reflect.Uint32, reflect.Uint8:
		v.SetUint(rapid.Uint64Max(1<<v.Type().Bits()-1).Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	default:
		panic("no way to draw " + v.Type().String())
	}
}

func drawBytes(t *rapid.T) []byte {
	if b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "bytes"); len(b) > 0 {
		return b
	}
	return nil
}

// properties runs one property over every Go type behind the registry.
func properties(t *testing.T, property func(t *testing.T, k kind)) {
	seen := map[string]bool{}
	for _, k := range kinds {
		seen[k.typ.Go] = true
		t.Run(k.typ.Name, func(t *testing.T) { property(t, k) })
	}
	for typ := range Types() {
		if !seen[typ.Go] {
			t.Errorf("%s is not tested", typ.Go)
		}
	}
}

// kind is a Go type, with its operations free of the type parameter.
type kind struct {
	typ    Type
	zero   any
	draw   func(t *rapid.T) any
	encode func(v any, dst []byte) ([]byte, error)
	decode func(src []byte) (any, error)
}

func kindOf[V Value[V]]() kind {
	var k kind
	for typ := range Types() {
		if typ.Go == reflect.TypeFor[V]().String() {
			k.typ = typ
		}
	}
	k.zero = *new(V)
	k.draw = func(t *rapid.T) any { return draw[V](t) }
	k.encode = func(v any, dst []byte) ([]byte, error) { return v.(V).AppendBinary(dst) }
	k.decode = func(src []byte) (any, error) {
		var v V
		return v.Decode(src)
	}
	return k
}

var kinds = []kind{
	kindOf[ContextMetaValue](), kindOf[ContextConfigValue](), kindOf[ContextIdentityValue](), kindOf[Raw](),
	kindOf[ContextDagDeltaValue](), kindOf[Action](), kindOf[Event](), kindOf[HybridTimestamp](), kindOf[BlobMeta](),
	kindOf[BlobChunk](), kindOf[ApplicationMeta](), kindOf[ServiceMeta](), kindOf[AliasValue](), kindOf[GroupMetaValue](),
	kindOf[UpgradePolicy](), kindOf[GroupMemberRole](), kindOf[Present](), kindOf[GroupRefValue](), kindOf[GroupUpgradeValue](),
	kindOf[GroupUpgradeStatus](), kindOf[GroupSigningKeyValue](), kindOf[GroupMemberCapabilityValue](),
	kindOf[GroupDefaultCapsValue](), kindOf[GroupContextLastMigrationValue](), kindOf[Nonce](), kindOf[AliasName](),
	kindOf[OpLogValue](), kindOf[GroupOpHeadValue](), kindOf[MemberContextValue](), kindOf[ContextCapability](),
	kindOf[ParentRefValue](), kindOf[NamespaceIdentityValue](), kindOf[NamespaceGovOpValue](), kindOf[NamespaceGovHeadValue](),
	kindOf[GroupKeyValue](), kindOf[GroupOp](), kindOf[SignedGroupOp](), kindOf[RootOp](), kindOf[NamespaceOp](),
	kindOf[SignedNamespaceOp](), kindOf[StoredNamespaceOp](), kindOf[OpaqueSkeleton](), kindOf[RotationSkeleton](),
	kindOf[Invitation](), kindOf[KeyEnvelope](), kindOf[PreviousKey](), kindOf[KeyRotation](),
	kindOf[CarriedKey](), kindOf[NewKey](), kindOf[SealedSkeleton](),
	kindOf[StatedMember](), kindOf[DeltaEnvelope](),
}
