package govwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromNamespace describes a namespace as it goes over the wire.
func FromNamespace(i *namespace.Info) *stoav1.NamespaceInfo {
	return &stoav1.NamespaceInfo{
		NamespaceId: op.Bytes(i.ID), Name: string(i.Name), Identity: op.OptionalBytes(i.Identity),
		Ops: uint64(i.Ops), Pending: uint64(i.Pending), Groups: uint32(i.Groups), Heads: op.FromIDs(i.Heads),
		Standing: stoav1.NamespaceStanding(i.Standing),
	}
}

// Namespace returns the description that came over the wire.
func Namespace(m *stoav1.NamespaceInfo) (i namespace.Info, err error) {
	i = namespace.Info{Name: codec.AliasName(m.GetName()), Ops: int(m.GetOps()), Pending: int(m.GetPending()), Groups: int(m.GetGroups()),
		Standing: namespace.Standing(m.GetStanding())}
	if i.ID, err = op.ParseID[codec.GroupID]("namespace_id", m.GetNamespaceId()); err != nil {
		return i, err
	}
	if i.Identity, err = op.ParseOptional[codec.Identity]("identity", m.GetIdentity()); err != nil {
		return i, err
	}
	i.Heads, err = op.ParseIDs[codec.OpID]("heads", m.GetHeads())
	return i, err
}

// FromTreeGroup returns a group of a tree as it goes over the wire.
func FromTreeGroup(g *namespace.TreeGroup) *stoav1.NamespaceTreeGroup {
	return &stoav1.NamespaceTreeGroup{GroupId: op.Bytes(g.ID), ParentId: op.OptionalBytes(g.Parent),
		Depth: uint32(g.Depth), Name: string(g.Name), Members: uint32(g.Members)}
}

// TreeGroup returns the group of a tree that came over the wire.
func TreeGroup(m *stoav1.NamespaceTreeGroup) (g namespace.TreeGroup, err error) {
	g = namespace.TreeGroup{Depth: int(m.GetDepth()), Name: codec.AliasName(m.GetName()), Members: int(m.GetMembers())}
	if g.ID, err = op.ParseID[codec.GroupID]("group_id", m.GetGroupId()); err != nil {
		return g, err
	}
	g.Parent, err = op.ParseOptional[codec.GroupID]("parent_id", m.GetParentId())
	return g, err
}

// FromPendingOp returns an op that waits as it goes over the wire.
func FromPendingOp(p *namespace.PendingOp) *stoav1.NamespacePendingOp {
	return &stoav1.NamespacePendingOp{OpId: op.Bytes(p.ID), Bytes: uint64(p.Bytes), Missing: op.FromIDs(p.Missing)}
}

// PendingOp returns the op that waits, as it came over the wire.
func PendingOp(m *stoav1.NamespacePendingOp) (p namespace.PendingOp, err error) {
	p.Bytes = int(m.GetBytes())
	if p.ID, err = op.ParseID[codec.OpID]("op_id", m.GetOpId()); err != nil {
		return p, err
	}
	p.Missing, err = op.ParseIDs[codec.OpID]("missing", m.GetMissing())
	return p, err
}

// FromGroup describes a group as it goes over the wire.
func FromGroup(g *namespace.GroupInfo) *stoav1.GroupInfo {
	m := &stoav1.GroupInfo{
		GroupId: op.Bytes(g.ID), NamespaceId: op.Bytes(g.Namespace), ParentId: op.OptionalBytes(g.Parent),
		Children: op.FromIDs(g.Children), Name: string(g.Name), AdminIdentity: op.Bytes(g.Meta.AdminIdentity),
		AppKey: op.Bytes(g.Meta.AppKey), TargetApplicationId: op.Bytes(g.Meta.TargetApplicationID),
		UpgradePolicy: FromPolicy(g.Meta.UpgradePolicy), CreatedAt: g.Meta.CreatedAt, DefaultCapabilities: uint32(g.Defaults),
		Members: uint32(g.Members), Contexts: uint32(g.Contexts), Sequence: g.Sequence, Heads: op.FromIDs(g.Heads),
	}
	if g.Meta.Migration.Valid {
		m.Migration = &g.Meta.Migration.V
	}
	if g.Upgrade.Valid {
		m.Upgrade = fromUpgrade(&g.Upgrade.V)
	}
	return m
}

func fromUpgrade(u *codec.GroupUpgradeValue) *stoav1.GroupUpgrade {
	m := &stoav1.GroupUpgrade{
		FromVersion: u.FromVersion, ToVersion: u.ToVersion, InitiatedAt: u.InitiatedAt, InitiatedBy: op.Bytes(u.InitiatedBy),
		Done: u.Status.Phase == codec.UpgradeCompleted, Total: u.Status.Total, Completed: u.Status.Completed, Failed: u.Status.Failed,
		CompletedAt: u.Status.CompletedAt,
	}
	if u.Migration.Valid {
		m.Migration = &u.Migration.V
	}
	return m
}

// Group returns the description that came over the wire.
func Group(m *stoav1.GroupInfo) (g namespace.GroupInfo, err error) {
	g = namespace.GroupInfo{Name: codec.AliasName(m.GetName()), Defaults: codec.Capabilities(m.GetDefaultCapabilities()),
		Members: int(m.GetMembers()), Contexts: int(m.GetContexts()), Sequence: m.GetSequence()}
	g.Meta.CreatedAt = m.GetCreatedAt()
	if m.Migration != nil {
		g.Meta.Migration = codec.Some(m.GetMigration())
	}
	if g.Meta.UpgradePolicy, err = Policy("upgrade_policy", m.GetUpgradePolicy()); err != nil {
		return g, err
	}
	if u := m.GetUpgrade(); u != nil {
		if g.Upgrade.V, err = upgrade(u); err != nil {
			return g, err
		}
		g.Upgrade.Valid = true
	}
	return g, groupIDs(m, &g)
}

// groupIDs is Group for the ids.
func groupIDs(m *stoav1.GroupInfo, g *namespace.GroupInfo) (err error) {
	if g.ID, err = op.ParseID[codec.GroupID]("group_id", m.GetGroupId()); err != nil {
		return err
	}
	if g.Namespace, err = op.ParseID[codec.GroupID]("namespace_id", m.GetNamespaceId()); err != nil {
		return err
	}
	if g.Parent, err = op.ParseOptional[codec.GroupID]("parent_id", m.GetParentId()); err != nil {
		return err
	}
	if g.Children, err = op.ParseIDs[codec.GroupID]("children", m.GetChildren()); err != nil {
		return err
	}
	if g.Meta.AdminIdentity, err = op.ParseHash[codec.Identity]("admin_identity", m.GetAdminIdentity()); err != nil {
		return err
	}
	if g.Meta.AppKey, err = op.ParseHash[codec.Hash]("app_key", m.GetAppKey()); err != nil {
		return err
	}
	if g.Meta.TargetApplicationID, err = op.ParseHash[codec.ApplicationID]("target_application_id", m.GetTargetApplicationId()); err != nil {
		return err
	}
	g.Heads, err = op.ParseIDs[codec.OpID]("heads", m.GetHeads())
	return err
}

func upgrade(m *stoav1.GroupUpgrade) (u codec.GroupUpgradeValue, err error) {
	u = codec.GroupUpgradeValue{FromVersion: m.GetFromVersion(), ToVersion: m.GetToVersion(), InitiatedAt: m.GetInitiatedAt()}
	u.Status = codec.GroupUpgradeStatus{Total: m.GetTotal(), Completed: m.GetCompleted(), Failed: m.GetFailed(), CompletedAt: m.GetCompletedAt()}
	if m.GetDone() {
		u.Status.Phase = codec.UpgradeCompleted
	}
	if m.Migration != nil {
		u.Migration = codec.Some(m.GetMigration())
	}
	u.InitiatedBy, err = op.ParseHash[codec.Identity]("upgrade.initiated_by", m.GetInitiatedBy())
	return u, err
}

// FromName returns a name as it goes over the wire.
func FromName(n *namespace.Name) *stoav1.GroupName {
	return &stoav1.GroupName{Of: stoav1.GroupNamed(n.Of), Id: op.Bytes(n.ID), Name: string(n.Name), GroupId: op.Bytes(n.In), Former: n.Former}
}

// Name returns the name that came over the wire.
func Name(m *stoav1.GroupName) (n namespace.Name, err error) {
	n = namespace.Name{Of: namespace.Named(m.GetOf()), Name: codec.AliasName(m.GetName()), Former: m.GetFormer()}
	if n.ID, err = op.ParseHash[[32]byte]("id", m.GetId()); err != nil {
		return n, err
	}
	n.In, err = op.ParseOptional[codec.GroupID]("group_id", m.GetGroupId())
	return n, err
}
